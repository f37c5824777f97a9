"""Items to the statements of a CUDA driver, and its loop nests to kernels."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Sequence
from itertools import count

from srcgraph.codegen.alike import form, in_order
from srcgraph.codegen.blocks import OF_COMBINE, TEAM, block_function, team_function
from srcgraph.codegen.body import Body, combined, is_sum
from srcgraph.codegen.expr import call, dotted
from srcgraph.codegen.integers import is_numpy_integer
from srcgraph.codegen.items import (
    INDICES,
    Effect,
    InnerReduce,
    Item,
    Keep,
    Kernel,
    Let,
    LoopLet,
    LoopReduce,
    LoopStore,
    Part,
    Ref,
    part_exprs,
    refs,
)
from srcgraph.codegen.names import Names
from srcgraph.codegen.registers import as_written
from srcgraph.codegen.source import Places
from srcgraph.codegen.spelling import DEVICE, NoSpelling, in_kernel, kind_of, on_host
from srcgraph.codegen.statements import defined, names_in
from srcgraph.codegen.teams import has_teams, is_long, is_read, wait
from srcgraph.codegen.threads import loops_of, refused
from srcgraph.ir.graph import NOWHERE, Origin, Value
from srcgraph.ir.types import FLOAT, ArrayType, Type

_KNOWN = frozenset((*dir(builtins), *DEVICE, "np", "math", "cuda"))
"""What kernels read that is no argument."""
_GROWING = (ast.Add, ast.Sub, ast.Mult, ast.Pow, ast.LShift)
_PYTHON = {"f": "float", "i": "int", "u": "int", "b": "bool", "c": "complex"}


class Launching(Body):
    """Emits a driver's items; nests become kernels and launches."""

    def __init__(self, names: Names, places: Places):
        super().__init__(names, places)
        self.kernels_made: dict[str, ast.FunctionDef] = {}
        self.alike: dict[str, str] = {}
        """The kernel for each body, whatever its variables are called."""
        self.blocks: dict[str, ast.FunctionDef] = {}
        self.signatures: dict[str, tuple[str, ...]] = {}
        self.types: dict[str, Type] = {}
        self.lost: dict[Value, str] = {}
        """For sums that note what rounding takes: the variable for that."""
        self.team: str = ""
        """The argument that says how many threads share a point, while a kernel is written in which several do."""
        self.ours: dict[str, str] = {}
        """The variables of all such kernels."""
        self.taken = {*names.named, *names.reserved}
        self.origin: Origin | None = None
        """Of the part of a kernel that is written."""

    def functions(self) -> list[ast.FunctionDef]:
        return [*self.blocks.values(), *self.kernels_made.values()]

    def fresh(self, base: str) -> str:
        """A name that no variable has."""
        name = next(n for k in count(1) if (n := base if k == 1 else f"{base}_{k}") not in self.taken)
        self.taken.add(name)
        return name

    def own(self, base: str) -> str:
        """The same name in all kernels."""
        if base not in self.ours:
            self.ours[base] = self.fresh(base)
        return self.ours[base]

    # -- expressions ------------------------------------------------------------------------------

    def resolved(self, expr: ast.expr) -> ast.expr:
        if self.origin is None:
            return super().resolved(on_host(expr))
        return super().resolved(self.spelled(expr))

    def spelled(self, expr: ast.expr) -> ast.expr:
        try:
            return in_kernel(expr)
        except NoSpelling as error:
            why = f"kernels cannot use {error.args[0]}"
            raise refused(why, self.origin or NOWHERE, "use target='cpu'") from None

    # -- the driver -------------------------------------------------------------------------------

    def item(self, item: Item) -> list[ast.stmt]:
        match item:
            case Keep():
                change = ast.Attribute(self.plain(item.before), "copy_to_device", ast.Load())
                return [ast.Expr(ast.Call(change, [self.plain(item.after)], []))] if item.apart else []
            case Effect(call=ast.Call(func=func, args=args)):
                return [ast.Expr(ast.Call(func, [self.shown(a) for a in args], []))]
            case Let(expr=ast.Call(func=ast.Name(id="reshape"), args=[ast.Attribute(), _])):
                raise refused("a transposed array is reshaped, which is not there yet", item.origin, "copy it before")
            case Let(value=value) if is_numpy_integer(value.type):
                return self.assign(value, self.number(item.expr, value))
            case Let(value=value) if isinstance(value.type, ArrayType) and not value.type.ndim:
                raise refused("arrays without axes are not there yet", item.origin, "use a number")
        return super().item(item)

    def number(self, expr: ast.expr, value: Value) -> ast.expr:
        """What a variable is: one of NumPy's integers wraps, where Python's would be larger than 64 bits."""
        made = self.resolved(expr)
        grows = any(isinstance(n, ast.BinOp) and isinstance(n.op, _GROWING) for n in ast.walk(expr))
        return call("narrowed", made, dotted("np.int64")) if grows and is_numpy_integer(value.type) else made

    def shown(self, expr: ast.expr) -> ast.expr:
        """What a helper of Python's is given: a number of Python's, or an array of NumPy's."""
        if isinstance(expr, ast.Constant | ast.Tuple):
            return expr
        is_array = isinstance(expr, Ref) and isinstance(expr.value.type, ArrayType)
        return call("host_value" if is_array else _PYTHON[kind_of(expr)], self.resolved(expr))

    # -- kernels ----------------------------------------------------------------------------------

    def kernel(self, item: Kernel) -> list[ast.stmt]:
        depth = len(item.dims) + max((len(p.extents) for p in item.parts if isinstance(p, InnerReduce)), default=0)
        before = dict(self.index_names)
        out: list[ast.stmt] = []
        for value, alloc in item.fresh:
            out += self.assign(value, self.resolved(alloc))
        for part in item.parts:
            if isinstance(part, LoopStore) and part.base is not None:
                out += self.aliased(part.target, part.base)
        self.index_names.update(zip(INDICES, self.names.indices(item, depth), strict=False))
        out += self.launched(item)
        self.index_names = before
        return out

    def launched(self, item: Kernel) -> list[ast.stmt]:
        """The kernel of a nest is written; the statements that launch it and read what it comes to."""
        self.lost = {}
        sums = [p for p in item.parts if isinstance(p, LoopReduce)]
        sizes = [self.resolved(item.extents[k]) for k in loops_of(item)]
        self.origin = item.origin
        rooms = {p.acc: self.fresh(f"{self.names.of(p.acc)}_parts") for p in sums}
        long = frozenset(p for p in item.parts if isinstance(p, InnerReduce) and is_long(p))
        teams = has_teams(item, long)
        written = self.reducing(item, sums, rooms) if sums else self.teaming(item) if teams else self.mapping(item)
        body = as_written(written)
        self.origin = None
        self.placed(body, item.origin)
        self.note_types(item)
        out: list[ast.stmt] = []
        for part in sums:
            self.types[rooms[part.acc]] = ArrayType(part.acc.type.dtype, (1,))  # type: ignore[arg-type]
            out.append(_assign(rooms[part.acc], self.room(part, sizes)))
        if teams:
            lengths = [self.tupled(p.extents) for p in item.parts if p in long]
            distinct = {ast.unparse(n): n for n in lengths}.values()
            out.append(_assign(self.team, call("team_of", self.tupled(sizes), *distinct)))
            sizes.append(ast.Name(self.team, ast.Load()))
        name, args = self.as_kernel(self.called(item), body)
        self.team = ""
        grid: ast.expr = call("striding" if sums else "over", *sizes)
        if not sizes and not sums:
            grid = ast.Tuple([ast.Constant(1), ast.Constant(1)], ast.Load())
        launch = ast.Subscript(ast.Name(name, ast.Load()), grid, ast.Load())
        out.append(ast.Expr(ast.Call(launch, [ast.Name(a, ast.Load()) for a in args], [])))
        for part in sums:
            whole = call(OF_COMBINE[part.combine][1], ast.Name(rooms[part.acc], ast.Load()))
            out += self.placed(self.assign(part.acc, whole), part.origin)
        return out

    def room(self, part: LoopReduce, sizes: Sequence[ast.expr]) -> ast.expr:
        """``parts(n, m)``: float64 is not written out."""
        dtype = part.acc.type.dtype
        made = call("parts", *sizes)
        if dtype != FLOAT:
            name = "bool_" if dtype.kind == "b" else dtype.name
            made.keywords.append(ast.keyword("dtype", dotted(f"np.{name}")))
        return made

    def called(self, item: Kernel) -> str:
        """What a kernel is called: after the first thing that it makes."""
        made = [p.target if isinstance(p, LoopStore) else p.acc for p in item.parts if not isinstance(p, LoopLet)]
        outer = [v for v in made if not any(isinstance(p, InnerReduce) and p.acc is v for p in item.parts)]
        return f"{self.names.of(outer[0])}_kernel"

    def mapping(self, item: Kernel) -> list[ast.stmt]:
        """A thread for each point."""
        inner = self.points(item)
        loops = loops_of(item)
        if not loops:
            return inner
        point = self.index(item, loops, "point")
        sizes = [item.extents[k] for k in loops]
        test = ast.Compare(ast.Name(point, ast.Load()), [ast.Lt()], [self.product(sizes)])
        start = _assign(point, call("cuda.grid", ast.Constant(1)))
        return [start, ast.If(test, [*self.unfolded(item, loops, point), *inner], [])]

    def teaming(self, item: Kernel) -> list[ast.stmt]:
        """A team for each point; those beyond the last do what the last one does, and store nothing."""
        loops = loops_of(item)
        point = self.index(item, loops, "point")
        self.team, member, leads = self.own(TEAM), self.own("t"), self.own("leads")
        last = self.product([item.extents[k] for k in loops])
        start = _assign(f"{point}, {member}", call("divmod", call("cuda.grid", ast.Constant(1)), _name(self.team)))
        is_there = ast.Compare(_name(point), [ast.Lt()], [last])
        is_first = ast.Compare(_name(member), [ast.Eq()], [ast.Constant(0)])
        lead = _assign(leads, ast.BoolOp(ast.And(), [is_first, is_there]))
        clamp = _assign(point, call("minimum", _name(point), ast.BinOp(last, ast.Sub(), ast.Constant(1))))
        inner: list[ast.stmt] = []
        for part in item.parts:
            self.origin = part.origin if part.origin.loc is not None else item.origin
            made = self.placed(self.part(part), part.origin)
            if isinstance(part, LoopStore):
                made = list[ast.stmt]((ast.If(_name(leads), made, []),))
                made = [wait(), *made, wait()] if is_read(item, part, self.names) else made
            inner += self.placed(made, part.origin)
        self.origin = item.origin
        some = ast.Compare(last, [ast.Gt()], [ast.Constant(0)])
        return [start, ast.If(some, [lead, clamp, *self.unfolded(item, loops, point), *inner], [])]

    def shared(self, part: InnerReduce) -> list[ast.stmt]:
        """A reduction that the threads of a team share."""
        body = [s for let in part.parts for s in self.part(let)] + self.reduced(part)
        indices = [self.index_names[INDICES[part.first + k]] for k in range(len(part.extents))]
        at = indices[0] if len(indices) == 1 else self.own("at")
        run = call("range", _name(self.own("t")), self.product(part.extents), _name(self.team))
        flat = []
        for k in range(len(indices) - 1, 0, -1):
            both = f"{indices[0] if k == 1 else at}, {indices[k]}"
            flat.append(_assign(both, call("divmod", _name(at), self.resolved(part.extents[k]))))
        loop = ast.For(ast.Name(at, ast.Store()), run, [*flat, *body], [], lineno=0)
        function = team_function(part.combine, _dtype(part.acc.type))
        function.name = self.own(function.name)
        self.blocks.setdefault(function.name, function)
        value: ast.expr = self.plain(part.acc)
        if part.acc in self.lost:
            value = ast.BinOp(value, ast.Add(), _name(self.lost[part.acc]))
        return [*self.started(part), loop, *self.assign(part.acc, call(function.name, value, _name(self.team)))]

    def reducing(self, item: Kernel, sums: Sequence[LoopReduce], rooms: dict[Value, str]) -> list[ast.stmt]:
        """Threads that take several points each; the numbers that these come to are combined by blocks."""
        loops = loops_of(item)
        point = self.index(item, loops, "point")
        for part in sums:
            self.note_lost(part)
        out = [s for p in sums for s in self.started(p)]
        inner = self.points(item)
        first, step = call("cuda.grid", ast.Constant(1)), call("cuda.gridsize", ast.Constant(1))
        last = self.product([item.extents[k] for k in loops])
        run = call("range", first, last, step)
        inner = [*self.unfolded(item, loops, point), *inner]
        out.append(ast.For(ast.Name(point, ast.Store()), run, inner, [], lineno=0))
        for part in sums:
            function = OF_COMBINE[part.combine][0]
            self.blocks.setdefault(function, block_function(function))
            value: ast.expr = self.plain(part.acc)
            if part.acc in self.lost:
                value = ast.BinOp(value, ast.Add(), ast.Name(self.lost[part.acc], ast.Load()))
            out.append(ast.Expr(call(function, value, ast.Name(rooms[part.acc], ast.Load()))))
        return out

    def points(self, item: Kernel) -> list[ast.stmt]:
        """What is done at each point."""
        out: list[ast.stmt] = []
        for part in item.parts:
            self.origin = part.origin if part.origin.loc is not None else item.origin
            out += self.placed(self.part(part), part.origin)
        self.origin = item.origin
        return out

    def index(self, item: Kernel, loops: Sequence[int], flat: str) -> str:
        """The variable that counts a nest's points: its index, if it is one loop."""
        if len(loops) == 1:
            return self.index_names[INDICES[loops[0]]]
        exprs = [*item.extents, *(e for p in item.parts for e in part_exprs(p))]
        busy = {self.names.of(v) for e in exprs for v in refs(e) if v in self.names.groups}
        return next(n for k in count(1) if (n := flat if k == 1 else f"{flat}_{k}") not in busy)

    def unfolded(self, item: Kernel, loops: Sequence[int], point: str) -> list[ast.stmt]:
        """``i, j = divmod(point, m)``: the indices of a point, the last one first."""
        out: list[ast.stmt] = []
        for depth in range(len(loops) - 1, 0, -1):
            first = self.index_names[INDICES[loops[0]]] if depth == 1 else point
            last = self.index_names[INDICES[loops[depth]]]
            size = self.resolved(item.extents[loops[depth]])
            out.append(_assign(f"{first}, {last}", call("divmod", ast.Name(point, ast.Load()), size)))
        return out

    def tupled(self, sizes: Sequence[ast.expr]) -> ast.expr:
        """``n``, or ``(n, m)``, as a driver hands them on: functions of kernels are none that it can call."""
        made = [self.resolved(n) for n in sizes]
        return made[0] if len(made) == 1 else ast.Tuple(made, ast.Load())

    def product(self, sizes: Sequence[ast.expr]) -> ast.expr:
        """How many points there are: lengths may be negative where an array is too short, then there are none."""
        if len(sizes) == 1:
            return self.resolved(sizes[0])
        out: ast.expr = ast.Constant(1)
        for k, size in enumerate(sizes):
            safe = isinstance(size, Ref | ast.Constant) or (isinstance(size, ast.Call) and "max" in ast.dump(size.func))
            factor = self.resolved(size) if safe else call("maximum", self.resolved(size), ast.Constant(0))
            out = factor if k == 0 else ast.BinOp(out, ast.Mult(), factor)
        return out

    # -- reductions -------------------------------------------------------------------------------

    def part(self, part: Part) -> list[ast.stmt]:
        if isinstance(part, InnerReduce):
            self.note_lost(part)
            if self.team and is_long(part):
                return self.shared(part)
        out = super().part(part)
        if isinstance(part, InnerReduce) and part.acc in self.lost:
            out.append(ast.AugAssign(self.target(part.acc), ast.Add(), ast.Name(self.lost[part.acc], ast.Load())))
        return out

    def started(self, part: LoopReduce | InnerReduce) -> list[ast.stmt]:
        start = self.resolved(part.start)
        if part.acc not in self.lost:
            return self.assign(part.acc, start)
        targets: list[ast.expr] = [self.target(part.acc), ast.Name(self.lost[part.acc], ast.Store())]
        return [ast.Assign(targets, start, lineno=0)]

    def note_lost(self, part: LoopReduce | InnerReduce) -> None:
        """A sum of many rounded numbers notes what rounding takes from it."""
        if is_sum(part) and is_long(part):
            busy = {*self.names.names.values(), *self.lost.values()}
            self.lost[part.acc] = next(n for k in count(1) if (n := "lost" if k == 1 else f"lost_{k}") not in busy)

    def reduced(self, part: LoopReduce | InnerReduce) -> list[ast.stmt]:
        value = self.resolved(part.expr)
        if part.acc in self.lost:
            lost = self.lost[part.acc]
            total = self.names.of(part.acc)
            step = call("two_sum", ast.Name(total, ast.Load()), value, ast.Name(lost, ast.Load()))
            return [_assign(f"{total}, {lost}", step)]
        if part.combine in ("maximum", "minimum"):
            return self.assign(part.acc, call(part.combine, self.plain(part.acc), value))
        return self.assign(part.acc, combined(part.combine, self.plain(part.acc), value))

    def stored(
        self, target: Value, index: Sequence[ast.expr], expr: ast.expr, combine: str, free: bool = False
    ) -> ast.stmt:
        if combine not in ("maximum", "minimum"):
            return super().stored(target, index, expr, combine, free)
        at = [self.resolved(e) for e in index]
        where = at[0] if len(at) == 1 else ast.Tuple(at, ast.Load())
        now = ast.Subscript(self.plain(target), where, ast.Load())
        place = ast.Subscript(self.plain(target), where, ast.Store())
        return ast.Assign([place], call(combine, now, self.resolved(expr)), lineno=0)

    # -- functions --------------------------------------------------------------------------------

    def note_types(self, item: Kernel) -> None:
        """The types of the variables that a kernel is given."""
        values = [v for p in item.parts for e in part_exprs(p) for v in refs(e)]
        values += [v for e in item.extents for v in refs(e)]
        values += [p.target for p in item.parts if isinstance(p, LoopStore)]
        for value in values:
            if value in self.names.groups:
                self.types[self.names.of(value)] = value.type

    def as_kernel(self, name: str, body: list[ast.stmt]) -> tuple[str, list[str]]:
        """The kernel with that body, another one's if that does the same, and the arguments that it takes."""
        args = self.arguments(body)
        key = form(body, args, [_type_text(self.types.get(a)) for a in args])
        if key not in self.alike:
            name = self.alike[key] = self.fresh(name)
            self.kernels_made[name] = defined(name, args, body, [dotted("cuda.jit")])
            self.signatures[name] = tuple(_type_text(self.types.get(a)) for a in args)
        return self.alike[key], args

    def arguments(self, body: Sequence[ast.stmt]) -> list[str]:
        """What a kernel reads that is not made in it: arrays first, in the order in which they are met."""
        own = {n.id for n in names_in(*body) if isinstance(n.ctx, ast.Store)}
        found = dict.fromkeys(n for s in body for n in in_order(s) if n not in own)
        names = [n for n in found if n not in _KNOWN and n not in self.blocks]
        return sorted(names, key=lambda n: not isinstance(self.types.get(n), ArrayType))


def _name(name: str) -> ast.expr:
    return ast.Name(name, ast.Load())


def _dtype(type: Type) -> str:
    dtype = type.dtype  # type: ignore[union-attr]
    return "bool_" if dtype.kind == "b" else dtype.name


def _type_text(type: Type | None) -> str:
    """A type as numba writes it: ``float64[:, ::1]``."""
    if isinstance(type, ArrayType):
        name = "boolean" if type.dtype.kind == "b" else type.dtype.name
        return f"{name}[{', '.join([':'] * (type.ndim - 1) + ['::1'])}]"
    dtype = getattr(type, "dtype", None)
    if dtype is None:
        return "int64"
    return "boolean" if dtype.kind == "b" else dtype.name


def _assign(target: str, value: ast.expr) -> ast.Assign:
    made = ast.Assign([ast.parse(target, mode="eval").body], value, lineno=0)
    for node in ast.walk(made.targets[0]):
        if isinstance(node, ast.Name | ast.Tuple):
            node.ctx = ast.Store()
    return made
