"""From a typed graph to a better one, or to its gradient.

In and out: closed graphs. A pass returns the same object when nothing changed.

passes    what a pass is, how passes run, are timed, printed and verified
pipeline  the order of the passes, and nowhere else
inline    called graphs in place of their calls
dce       drop nodes, branch outputs and loop carries that nothing needs
settle    carries that never change, and branches that agree, become plain values
simplify  replay: literals fold, equal nodes merge, decided branches and loops go
thread    branches on one condition that follow each other become one
lanes     matrix products of all lanes of a loop at once
marks     what programs say to derivatives goes, once these are taken
licm      move what is the same on every trip out of its loop
ad        reverse-mode derivatives
"""
