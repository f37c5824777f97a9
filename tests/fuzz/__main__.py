"""``python -m fuzz [N] [--seed S] [--native K]``: check N programs, shrink and print those that go wrong."""

from __future__ import annotations

import argparse
import functools
import gc
import sys
import time
import warnings
from collections import Counter
from contextlib import nullcontext
from pathlib import Path

from fuzz.check import Fate, check
from fuzz.generator import program
from fuzz.nests import short_strips
from fuzz.shrink import shrink
from srcgraph.opt.passes import run_passes
from srcgraph.runtime import specialization

PATIENCE = 60
"""Seconds that a program may be shrunk for."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="fuzz")
    parser.add_argument("count", nargs="?", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0, help="of the first program")
    parser.add_argument("--native", type=int, default=0, help="every so many programs are compiled, not run as Python")
    parser.add_argument("--finds", type=Path, help="a folder for the programs that go wrong")
    parser.add_argument("--verify", action="store_true", help="verify the graph after every pass")
    parser.add_argument("--states", type=int, help="differentiate loops from so many stored states")
    parser.add_argument("--show", action="store_true", help="print the program and what becomes of it")
    options = parser.parse_args()
    warnings.simplefilter("ignore", SyntaxWarning)  # of what shrinking makes
    specialization.run_passes = functools.partial(run_passes, check=options.verify)
    gc.freeze()  # what is imported stays: not looked through again and again
    kinds: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    faults: Counter[str] = Counter()
    begin = time.time()
    for k in range(options.count):
        seed = options.seed + k
        text = program(seed)
        native = bool(options.native) and k % options.native == options.native - 1
        sizes = (5, 1) if k % 5 == 0 else (5, 2, 0)  # axes of length 1 are a version of their own
        with short_strips() if k % 2 else nullcontext():
            fate = checked(text, native, sizes, options.states)
        if options.show:
            print(f"{text}\n{fate}")
        if k % 500 == 499:
            print(f"# {k + 1} programs, {sum(faults.values())} faults, {time.time() - begin:.0f} s", flush=True)
        kinds[f"value {fate.forward.kind}"] += 1
        kinds[f"gradient {fate.gradient.kind}"] += 1
        if fate.forward.kind == "refused":
            reasons[general_refusal(fate)] += 1
        if fate.fault:
            faults[fate.fault] += 1
            if faults[fate.fault] <= 5:
                judged = functools.partial(check, plainly=not native, states=options.states)
                report(seed, text, fate, judged, options.finds)
    print(
        f"{options.count} programs from seed {options.seed} in {time.time() - begin:.0f} s",
        *sorted(kinds.items()),
        sep="\n",
    )
    for title, found in (("refused", reasons), ("faults", faults)):
        print(title)
        for reason, count in found.most_common(30):
            print(f"{count:6d}  {reason}")


def checked(text: str, native: bool, sizes: tuple[int, ...], states: int | None) -> Fate:
    try:
        return check(text, plainly=not native, sizes=sizes, states=states)
    except Exception:
        print(text, file=sys.stderr)
        raise


def general_refusal(fate: Fate) -> str:
    """The first problem, without names."""
    words = fate.forward.reason.split("; ")[0].split("'")
    return "".join(w if k % 2 == 0 else "_" for k, w in enumerate(words))[:110]


def report(seed: int, text: str, fate: Fate, judged: functools.partial[Fate], folder: Path | None) -> None:
    """Shrink a program and print it."""
    native = not judged.keywords["plainly"]
    begin, limit = time.time(), 60 if "seconds" in fate.fault else 5  # without a line of it, a loop may never end

    def keeps(smaller: str) -> bool:
        if time.time() - begin > PATIENCE:
            return False
        try:
            return judged(smaller, gradient=fate.fault.startswith("gradient"), limit=limit).fault == fate.fault
        except Exception:
            return False

    small = shrink(text, keeps, 40 if native else 600)
    final = judged(small)
    bad = final.forward if final.fault.startswith("value") else final.gradient
    out = f"# seed {seed}{' native' * native}: {fate.fault}\n# {bad.reason[:300]}\n{small}\n"
    print(out, flush=True)
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{seed}.py").write_text(out)


if __name__ == "__main__":
    main()
