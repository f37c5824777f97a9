"""Break, continue and early return in tail position only, so that control flow is nested blocks.

A `tail form` block has `return`, `break` and `continue` only as the last thing a path through the
function, or through the loop's body, does. What follows an `if` that may leave goes into the branch
that does not leave; only where both branches may fall through does a flag record what happened. A
`return` inside a loop leaves the loop first. The result is ordinary Python with the same meaning, but for
`try`, see `Guarded`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import gast

from srcgraph.frontend.returned import Common, exchanged, fields_set, rebound
from srcgraph.frontend.scope import assigned

Block = list[Any]
_EXITS = (gast.Return, gast.Break, gast.Continue)
_SCOPES = (gast.FunctionDef, gast.Lambda)


def to_tail_form(
    function: gast.FunctionDef, is_class: Callable[[str], bool] = lambda name: False
) -> tuple[gast.FunctionDef, frozenset[str]]:
    """Return the function in tail form, and the names of the variables this introduced.

    ``is_class`` says of a global name whether it is that of a class of the user's.
    """
    names = {n.id for n in gast.walk(function) if isinstance(n, gast.Name)}
    function = _WithoutBlocks().visit(function)
    exits = _Exits(names, is_class)
    exits.elsewhere = {name for n in gast.walk(function) if isinstance(n, gast.Nonlocal) for name in n.names}
    if any(isinstance(n, gast.ExceptHandler) for n in gast.walk(function)):
        function = copy.deepcopy(function)
        exits.name_exceptions(function)
    out = copy.copy(function)
    out.body = exits.block(function.body)
    return out, frozenset(exits.introduced)


def _of_handler(node: Any) -> Iterator[Any]:
    """What belongs to a handler: neither handlers nor functions inside."""
    yield node
    if not isinstance(node, gast.FunctionDef | gast.Lambda | gast.ExceptHandler):
        for inner in gast.iter_child_nodes(node):
            yield from _of_handler(inner)


def _stands_outside(function: Any, name: str, handlers: Sequence[Any]) -> bool:
    """Whether a name stands anywhere but in the handlers that bind it."""
    inside = {id(n) for h in handlers if h.name is not None and h.name.id == name for n in gast.walk(h)}
    return any(isinstance(n, gast.Name) and n.id == name and id(n) not in inside for n in gast.walk(function))


def _test_inside(node: Any, trying: bool) -> Any:
    """A `while` whose test assigns names, or may raise inside a `try`, tests inside its body."""
    inside = _MAY_RAISE if trying else gast.NamedExpr
    if not isinstance(node, gast.While) or not any(isinstance(n, inside) for n in gast.walk(node.test)):
        return node
    leave = [*node.orelse, gast.copy_location(gast.Break(), node.test)]
    test = gast.copy_location(gast.If(node.test, node.body, leave), node.test)
    out = gast.While(_constant(True, node), [test], [])
    return gast.copy_location(out, node)


_MAY_RAISE = (gast.NamedExpr, gast.Call, gast.Subscript, gast.Attribute, gast.Div, gast.FloorDiv, gast.Mod, gast.Pow)


class _WithoutBlocks(gast.NodeTransformer):
    """The block of a ``with`` follows it: what may stand there changes nothing at its end."""

    def visit_With(self, node: gast.With) -> Block:
        self.generic_visit(node)
        block, node.body = node.body, [_pass(node)]
        return [node, *block]


class Guarded(gast.Try):
    """What a `try` becomes: a body, and in ``finalbody`` all that follows it, which asks what happened.

    Attributes
    ----------
    raised, handler : str
        Variables: whether a handler's exception was raised, and the number of the handler. '' if there are none.
    final : int
        How many statements of ``finalbody`` run if an exception gets out of the body too; `LEAVES` if they end it.
    own : frozenset of str
        The names of exceptions that mean nothing outside of its handlers.
    """

    raised: str
    handler: str
    final: int
    own: frozenset[str]


LEAVES = -1
"""A `finally` that may leave, which drops the exception."""


class _Exits:
    def __init__(self, taken: set[str], is_class: Callable[[str], bool]):
        self.taken = set(taken)
        self.is_class = is_class
        self.elsewhere: set[str] = set()
        """The variables that nested functions bind."""
        self.introduced: set[str] = set()
        self.trying = 0
        """How many `try` bodies there are around."""

    def new_name(self, hint: str) -> str:
        """A name for a flag or value; the leading underscore says that it is not the user's."""
        hint = f"_{hint}"
        while hint in self.taken:
            hint += "_"
        self.taken.add(hint)
        self.introduced.add(hint)
        return hint

    def name_exceptions(self, function: Any) -> None:
        """Give what a handler catches a name of its own, and raise that where it is raised again.

        A name that stands outside of its handlers too stays: there it is deleted when the handler is done.
        """
        handlers = [n for n in gast.walk(function) if isinstance(n, gast.ExceptHandler)]
        for handler in handlers:
            again = [n for s in handler.body for n in _of_handler(s) if isinstance(n, gast.Raise) and n.exc is None]
            users = handler.name.id if handler.name is not None else ""
            if (users and _stands_outside(function, users, handlers)) or not (users or again):
                continue
            own = self.new_name(users or "exception")
            for node in gast.walk(handler):
                if isinstance(node, gast.Name) and node.id == users:
                    node.id = own
            handler.name = _name(own, handler, store=True)
            for node in again:
                node.exc = _name(own, node)

    def block(self, statements: Sequence[Any]) -> Block:
        """The statements in tail form."""
        out: Block = []
        todo = list(statements)
        while todo:
            node = todo.pop(0)
            if isinstance(node, (*_EXITS, gast.Raise)):
                return [*out, node]
            if isinstance(node, gast.For | gast.While):
                loop, after = self.loop(_test_inside(node, self.trying > 0))
                out += loop
                todo = after + todo
            elif isinstance(node, gast.If):
                done, more = self.if_(node, todo)
                out.append(done) if not isinstance(done, list) else out.extend(done)
                todo = more
            elif isinstance(node, gast.Try):
                done, todo = self.try_(node, todo)
                out += done
            else:
                out.append(node)
        return out

    def if_(self, node: gast.If, rest: Block) -> tuple[Any, Block]:
        """The statement an `if` becomes, and what is left to do after it."""
        leaves = may_leave(node.body) or may_leave(node.orelse)
        if not leaves or not rest:
            return _if(node, self.block(node.body), self.block(node.orelse)), rest if not leaves else []
        if not can_fall(node.body):
            orelse = [] if not can_fall(node.orelse) else rest
            return _if(node, self.block(node.body), self.block([*node.orelse, *orelse])), []
        if not can_fall(node.orelse):
            return _if(node, self.block([*node.body, *rest]), self.block(node.orelse)), []
        return self.flagged_if(node, rest)

    def flagged_if(self, node: gast.If, rest: Block) -> tuple[Block, Block]:
        """Both branches may fall through and one may leave: a flag says which happened."""
        first, then = self.marked([node], node)
        return first, then(rest)

    def kept(self, body: Block, after: Block, objects: bool = True) -> tuple[Any, dict[int, Block]]:
        """What the returns in a tail-form body give, and by the ``id`` of each what it has to assign before it leaves.

        The value is returned when ``after`` has run too; ``objects`` says whether they may be made, and read, there.
        """
        found: list[gast.Return] = []
        replace_exits(body, lambda leave: [found.append(leave), leave][1:])
        returns = [leave for leave in found if isinstance(leave, gast.Return)]
        if not returns:
            return None, {}
        changed = (rebound(body) | assigned(after) | self.elsewhere) - self.introduced
        is_class = self.is_class if objects else lambda name: False
        fields = fields_set(body)

        def stays(value: Any) -> bool:
            if isinstance(value, gast.Attribute):
                return objects and value.attr not in fields and stays(value.value)
            return isinstance(value, gast.Name) and value.id not in changed

        common = Common(lambda: self.new_name("result"), stays, exchanged(body), is_class)
        given = common.of([leave.value or _constant(None, leave) for leave in returns])
        pairs = zip(returns, given.assigns, strict=True)
        return given.value, {id(leave): [_assign(n, v, leave) for n, v in own] for leave, own in pairs}

    def marked(self, block: Block, at: Any, last: Sequence[Any] = ()) -> tuple[Block, Callable[[Block], Block]]:
        """A block that records its exits instead of taking them, and what takes them after ``last``, or goes on."""
        kinds = leaving_kinds(block)
        if not kinds:
            return self.block(block), lambda rest: rest
        certain = len(kinds) == 1 and not can_fall(block)
        flag = "" if certain else self.new_name("left")
        numbers = {kind: k + 1 for k, kind in enumerate(kinds)}
        body = self.block(block)
        value, assigns = self.kept(body, [*last], not last)

        def mark(leave: Any) -> Block:
            marks = [_assign(flag, _constant(numbers[type(leave)], leave), leave)] if flag else []
            return [*assigns.get(id(leave), []), *marks] or [_pass(leave)]

        def then(rest: Block) -> Block:
            if certain:
                return [_exit(kinds[0], value, at)]
            for kind, number in numbers.items():
                leave = _exit(kind, value, at)
                test = gast.Compare(_name(flag, at), [gast.Eq()], [_constant(number, at)])
                rest = [gast.copy_location(gast.If(gast.copy_location(test, at), [leave], list(rest)), at)]
            return rest

        first = [_assign(flag, _constant(0, at), at)] if flag else []
        return first + replace_exits(body, mark), then

    def try_(self, node: gast.Try, rest: Block) -> tuple[Block, Block]:
        """The statements a `try` becomes, and what is left to do after it."""
        if node.finalbody:
            return self.finally_(node, rest)
        raised = self.new_name("raised")
        handler = self.new_name("handler") if len(node.handlers) > 1 else ""
        self.trying += 1
        body, then = self.marked(node.body, node)
        self.trying -= 1
        if not can_fall(node.body) and not leaving_kinds(node.body):
            body.append(_assign(raised, _constant(True, node), node))  # there is no other way out
        handled = list(node.handlers[-1].body)
        for k in range(len(node.handlers) - 2, -1, -1):
            test = gast.copy_location(gast.Compare(_name(handler, node), [gast.Eq()], [_constant(k, node)]), node)
            handled = [gast.copy_location(gast.If(test, list(node.handlers[k].body), handled), node.handlers[k])]
        asked = gast.copy_location(gast.If(_name(raised, node), handled, then(list(node.orelse))), node)
        start = [_assign(raised, _constant(False, node), node)]
        if handler:
            start.append(_assign(handler, _constant(0, node), node))
        guarded, rest = self.guarded(node, body, (raised, handler), [asked], rest)
        return [*start, *guarded], rest

    def finally_(self, node: gast.Try, rest: Block) -> tuple[Block, Block]:
        """What is in ``finally`` runs before an exit is taken."""
        inside: Block = [*node.body, *node.orelse]
        if node.handlers:
            inside = [gast.copy_location(gast.Try(node.body, node.handlers, node.orelse, []), node)]
        body, then = self.marked(inside, node, node.finalbody)
        if may_leave(node.finalbody):
            guarded, rest = self.guarded(node, body, ("", ""), [*node.finalbody, *then([])], rest)
            guarded[0].final = LEAVES
            return guarded, rest
        final = self.block(node.finalbody)
        guarded, rest = self.guarded(node, body, ("", ""), then([]), rest)
        guarded[0].final = len(final)
        guarded[0].finalbody = [*final, *guarded[0].finalbody]
        return guarded, rest

    def guarded(
        self, node: gast.Try, body: Block, flags: tuple[str, str], after: Block, rest: Block
    ) -> tuple[Block, Block]:
        """A `Guarded`; the rest is part of what follows if that may leave."""
        caught = [gast.copy_location(gast.ExceptHandler(h.type, h.name, []), h) for h in node.handlers if flags[0]]
        out = gast.copy_location(Guarded(body, caught, [], []), node)
        out.raised, out.handler = flags
        out.final = 0
        out.own = frozenset(h.name.id for h in caught if h.name is not None) & self.introduced
        if may_leave(after):
            after, rest = [*after, *rest], []
        out.finalbody = self.block(after)
        return [out], rest

    def loop(self, node: gast.For | gast.While) -> tuple[Block, Block]:
        """A loop whose body is in tail form and never returns, and what must run after it."""
        before: Block = []
        after: Block = []
        out = copy.copy(node)
        out.orelse = []
        returns = gast.Return in leaving_kinds(node.body, through_loops=True)
        breaks = gast.Break in leaving_kinds(node.body)
        body = self.block(node.body)
        never_ends = isinstance(node, gast.While) and _is_true(node.test) and not breaks
        broke = self.new_name("broke") if node.orelse and (breaks or returns) else ""
        returned = self.new_name("returned") if returns and not never_ends else ""
        value, assigns = self.kept(body, [])

        def leave(exit_: Any) -> Block:
            if isinstance(exit_, gast.Continue):
                return [exit_]
            marks = [_assign(broke, _constant(True, exit_), exit_)] if broke else []
            marks += assigns.get(id(exit_), [])
            if isinstance(exit_, gast.Return) and returned:
                marks.append(_assign(returned, _constant(True, exit_), exit_))
            return [*marks, gast.copy_location(gast.Break(), exit_)]

        out.body = replace_exits(body, leave)
        for flag in (broke, returned):
            if flag:
                before.append(_assign(flag, _constant(False, node), node))
        if node.orelse:
            after += [_if_not(broke, node.orelse, node)] if broke else node.orelse
        if returned:
            test = _name(returned, node)
            after.append(gast.copy_location(gast.If(test, [_exit(gast.Return, value, node)], []), node))
        elif returns:
            after.append(_exit(gast.Return, value, node))
        return [*before, out], after


def may_leave(block: Sequence[Any]) -> bool:
    """Whether a path through ``block`` may end in return, break or continue."""
    return bool(leaving_kinds(block, through_loops=False)) or gast.Return in leaving_kinds(block, True)


def leaving_kinds(block: Sequence[Any], through_loops: bool = False) -> list[type]:
    """Which exits ``block`` may take: those of its own level, or all returns at any depth."""
    found: dict[type, None] = {}
    for node in block:
        if isinstance(node, _EXITS):
            found[type(node)] = None
        elif isinstance(node, gast.If):
            found.update(dict.fromkeys(leaving_kinds([*node.body, *node.orelse], through_loops)))
        elif isinstance(node, gast.For | gast.While):
            inner = leaving_kinds([*node.body, *node.orelse], through_loops=True)
            if gast.Return in inner:
                found[gast.Return] = None
            outer = leaving_kinds(node.orelse, through_loops)
            found.update(dict.fromkeys(outer))
        elif isinstance(node, gast.Try):
            for part in (node.body, *(h.body for h in node.handlers), node.orelse, node.finalbody):
                found.update(dict.fromkeys(leaving_kinds(part, through_loops)))
    return list(found)


def can_fall(block: Sequence[Any]) -> bool:
    """Whether a path through ``block`` may reach its end."""
    for node in block:
        if isinstance(node, (*_EXITS, gast.Raise)):
            return False
        if isinstance(node, gast.If) and node.orelse and not can_fall(node.body) and not can_fall(node.orelse):
            return False
        if isinstance(node, gast.While) and _is_true(node.test) and gast.Break not in leaving_kinds(node.body):
            return False
        if isinstance(node, gast.Try):
            ends = can_fall([*node.body, *node.orelse]) or any(can_fall(h.body) for h in node.handlers)
            if not ends or not can_fall(node.finalbody):
                return False
    return True


def replace_exits(block: Block, make: Any) -> Block:
    """Replace each exit of a tail-form block by the statements ``make`` gives."""
    out: Block = []
    for node in block:
        if isinstance(node, _EXITS):
            out += make(node)
        elif isinstance(node, gast.If):
            out.append(_if(node, replace_exits(node.body, make), replace_exits(node.orelse, make)))
        elif isinstance(node, Guarded):
            node.finalbody = replace_exits(node.finalbody, make)
            out.append(node)
        else:
            out.append(node)
    return out


def _is_true(test: Any) -> bool:
    return isinstance(test, gast.Constant) and bool(test.value)


def _if(node: gast.If, body: Block, orelse: Block) -> gast.If:
    return gast.copy_location(gast.If(node.test, body or [_pass(node)], orelse), node)


def _if_not(flag: str, block: Block, at: Any) -> gast.If:
    test = gast.copy_location(gast.UnaryOp(gast.Not(), _name(flag, at)), at)
    return gast.copy_location(gast.If(test, block, []), at)


def _pass(at: Any) -> Any:
    return gast.copy_location(gast.Pass(), at)


def _name(name: str, at: Any, store: bool = False) -> Any:
    return gast.copy_location(gast.Name(name, gast.Store() if store else gast.Load(), None, None), at)


def _constant(value: Any, at: Any) -> Any:
    return gast.copy_location(gast.Constant(value, None), at)


def _assign(name: str, value: Any, at: Any) -> Any:
    return gast.copy_location(gast.Assign([_name(name, at, store=True)], value, None), at)


def _exit(kind: type, value: Any, at: Any) -> Any:
    node = gast.Return(value) if kind is gast.Return else kind()
    return gast.copy_location(node, at)
