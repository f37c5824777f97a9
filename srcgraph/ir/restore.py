"""Documents back to graphs: the inverse of `srcgraph.ir.document`.

Types that are not written follow from what stands before (`srcgraph.ir.inferred`); those that are written are held
against it. What is wrong is a `TextError` that names the line, or the place in the document. A graph that was read is
verified.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

from srcgraph.errors import Loc, Problem, SrcgraphError, TextError
from srcgraph.ir.attributes import find_wrong_attribute, find_wrong_axis, find_wrong_count, find_wrong_view
from srcgraph.ir.dims import UNKNOWN, symbol
from srcgraph.ir.document import REGION_NAMES, REGIONS, USUAL_NAME, VERSION, Document
from srcgraph.ir.graph import Apply, Call, Define, For, Graph, If, Node, Origin, Program, Rule, Value, While
from srcgraph.ir.inferred import is_open, output_types, param_types, result_types
from srcgraph.ir.op import OPS
from srcgraph.ir.plain import (
    MOST_AXES,
    array_type,
    dim_of,
    dims_in,
    dtype_named,
    literal_of,
    place_of,
    scalar_type,
    shape_of,
    type_of,
)
from srcgraph.ir.types import INT, ArrayType, ListType, ScalarType, Type, same_kind, type_symbols
from srcgraph.ir.verify import allows, find_fault

SOURCE = "<instructions>"
"""The file that errors name."""
Fits = Callable[[Type, Type], bool]


def restore(document: Document, lines: Sequence[str] = ()) -> Graph | Program:
    """Return the graph, or the program, that a document says, verified.

    Parameters
    ----------
    lines : sequence of str
        The text it was read from, for errors.

    Raises
    ------
    TextError
        It is no graph.
    """
    reader = _Reader(document, lines)
    if document.get("version") != VERSION:
        raise TextError(f"version {VERSION} is read here, not {document.get('version')!r}")
    if "graphs" in document:
        names = [g["name"] for g in document["graphs"]]
        again = next((n for k, n in enumerate(names) if n in names[:k]), None)
        if again is not None:
            raise TextError(f"two graphs are named {again!r}")
        graphs = {g["name"]: reader.named(g, g["name"]) for g in document["graphs"]}
        if document["entry"] not in graphs:
            raise TextError(f"there is no graph named {document['entry']!r}")
        return reader.verified(Program(graphs, document["entry"]))
    if "name" in document:
        return reader.verified(reader.named(document["graph"], document["name"]))
    return reader.verified(reader.graph(document["graph"], USUAL_NAME))


class _Reader:
    """Reads graphs one after the other.

    Attributes
    ----------
    values : dict
        The values of the graph being read, by what they are called.
    seen : set of str
        The symbols that mean something there.
    known : dict
        The types of the results of graphs read before, by name.
    symbols : set of str
        All symbols that are taken.
    records : dict
        What each node was read from, and where that stands.
    """

    def __init__(self, document: Document, lines: Sequence[str]):
        self.lines = lines
        self.values: dict[str, Value] = {}
        self.seen: set[str] = set()
        self.known: dict[str, Sequence[Type]] = {}
        self.records: dict[Node | Graph, tuple[Document, str]] = {}
        self.path: list[str] = []
        self.symbols: set[str] = set()
        for size in dims_in(document):
            with suppress(TextError, TypeError, AttributeError):  # what is no size is refused where it is read
                self.symbols |= dim_of(size).symbols()

    # -- errors ---------------------------------------------------------------------------------

    @contextmanager
    def within(self, part: str, record: Document) -> Iterator[None]:
        """What goes wrong inside is wrong with this part of the document."""
        self.path.append(part)
        try:
            yield
        except Exception as error:  # type rules ask what they need of types that may be anything
            if isinstance(error, TextError) and error.problems[0].notes:  # it has its place
                raise
            if isinstance(error, RecursionError):  # the whole is nested too deeply, no part is wrong
                raise
            raise self.wrong(error, record, " / ".join(self.path)) from error
        finally:
            self.path.pop()

    def wrong(self, error: object, record: Document, path: str) -> TextError:
        """An error with its place: a line of the text, or a path in the document."""
        line: int | None = record.get("line")
        what = str(error) if str(error) and not isinstance(error, KeyError | IndexError) else repr(error)
        if line is None:
            return TextError(Problem(what, notes=(f"in {path}",)))
        return TextError(Problem(what, Loc(SOURCE, line), notes=(f"line {line} is: {self.lines[line - 1].strip()}",)))

    def verified(self, graph: Any) -> Any:
        """The graph, if it holds what graphs must."""
        fault = find_fault(graph)
        if fault is None:
            return graph
        record, path = self.records[fault.node if fault.node is not None else fault.graph]
        raise self.wrong(fault, record, path)

    # -- graphs and values ------------------------------------------------------------------------

    def named(self, record: Document, name: str) -> Graph:
        """A graph that calls refer to."""
        with self.within(f"graph {name!r}", record):
            out = self.graph(record, name)
        self.known[name] = result_types(out)
        return out

    def graph(self, record: Document, usual: str, given: Sequence[Type] | None = None, carried: int = 0) -> Graph:
        """A graph; ``given`` are the types of what its parameters are given, of which the first may change."""
        outer = self.values, self.seen
        self.values, self.seen = {}, set()
        params = record["params"]
        if given is not None and len(given) != len(params):
            raise TextError(f"{usual} is given {len(given)} values and takes {len(params)}")
        for k, param in enumerate(params):
            with self.within(f"parameter {param['id']}", param):
                follows = None if given is None else given[k]
                self.define(param, follows, same_kind if k < carried else _equal)
        nodes = tuple(self.node(n, k) for k, n in enumerate(record["nodes"]))
        with self.within("the results", record):
            results = self.read(record["results"])
        out = Graph(_hint(record, "name", usual), tuple(self.values[p["id"]] for p in params), nodes, results)
        self.values, self.seen = outer
        self.records[out] = record, " / ".join(self.path)
        return out

    def read(self, ids: Sequence[str]) -> tuple[Value, ...]:
        missing = [i for i in ids if i not in self.values]
        if missing:
            raise TextError(f"{missing[0]} is not defined here")
        return tuple(self.values[i] for i in ids)

    def define(self, record: Document, follows: Type | None, fits: Fits) -> Value:
        """A value that is defined here; what is written of its type must fit what follows."""
        id = record["id"]
        if id in self.values:
            raise TextError(f"{id} is defined twice")
        type = self.type(id, record.get("type", {}), follows)
        number = type.item if isinstance(type, ListType) else type
        if isinstance(number, ScalarType):
            scalar_type(number.dtype, number.weak, number.value)
        if follows is not None and not fits(follows, type):
            raise TextError(f"{id} is written as {type}, but what stands before makes it {follows}")
        default = "" if id[:1] == "x" and id[1:].isdecimal() else id
        self.values[id] = Value(_hint(record, "name", default), type)
        self.seen |= type_symbols(type)
        return self.values[id]

    # -- types ----------------------------------------------------------------------------------

    def type(self, id: str, written: Document, follows: Type | None) -> Type:
        """A type of which some is written and the rest follows."""
        if not written:
            if follows is None:
                raise TextError(f"the type of {id} does not follow from anything: write it")
            return self.closed(follows, id)
        if "list" in written:
            return type_of(written)
        tensor = follows if isinstance(follows, ScalarType | ArrayType) else None
        dtype = dtype_named(written["dtype"]) if "dtype" in written else tensor and tensor.dtype
        ndim = len(written["shape"]) if "shape" in written else written.get("ndim", tensor and tensor.ndim)
        if dtype is None or ndim is None:
            raise TextError(f"the type of {id} does not follow from anything: write dtype, and ndim or shape")
        if not 0 <= ndim <= MOST_AXES:
            raise TextError(f"{id} has ndim={ndim}; an array has 0 to {MOST_AXES} axes")
        if written.get("ndim", ndim) != ndim:
            raise TextError(f"{id} has ndim={written['ndim']} and a shape of {ndim}")
        if "shape" in written or ndim or isinstance(tensor, ArrayType):
            known = tensor.shape if isinstance(tensor, ArrayType) and tensor.ndim == ndim else (UNKNOWN,) * ndim
            shape = shape_of(written["shape"]) if "shape" in written else known
            made = array_type(dtype, shape)
            return made if "shape" in written else self.closed(made, id)
        weak = written.get("weak", "dtype" not in written and isinstance(tensor, ScalarType) and tensor.weak)
        value = dim_of(written["value"]) if "value" in written else getattr(tensor, "value", None)
        return scalar_type(dtype, weak, value)

    def closed(self, type: Type, id: str) -> Type:
        """A type with a symbol for each size, and each integer, that nothing is known of."""
        if not is_open(type):
            return type
        if isinstance(type, ScalarType):
            return ScalarType(INT, type.weak, symbol(self.unused(id)))
        assert isinstance(type, ArrayType)
        sizes = enumerate(type.shape)
        return ArrayType(type.dtype, tuple(symbol(self.unused(f"{id}_{k}")) if d == UNKNOWN else d for k, d in sizes))

    def unused(self, name: str) -> str:
        """A symbol that nothing else has."""
        found, count = name, 0
        while found in self.symbols:
            count += 1
            found = f"{name}_{count}"
        self.symbols.add(found)
        return found

    # -- nodes ----------------------------------------------------------------------------------

    def node(self, record: Document, number: int) -> Node:
        with self.within(f"node {number} ({record['op']})", record):
            origin = Origin(place_of(_hint(record, "at", None)), _hint(record, "by", ""))
            bare = _NODES.get(record["op"], _Reader.apply)(self, record, origin)
            outputs = record.get("outputs", [])
            types = self.follows(bare, len(outputs))
            fits = allows if isinstance(bare, Apply) else same_kind
            values = tuple(self.define(o, t, fits) for o, t in zip(outputs, types, strict=True))
            made = _with_outputs(bare, values)
            self.records[made] = record, " / ".join(self.path)
            return made

    def follows(self, node: Node, count: int) -> Sequence[Type | None]:
        """The types of the outputs that follow, None where nothing does."""
        try:
            found = output_types(node, self.seen, self.known)
        except (SrcgraphError, RecursionError):
            raise
        except Exception as error:  # a type rule goes wrong in any way when it is given what makes no sense
            raise TextError(f"this makes no sense to the type rule: {error}") from error
        if isinstance(node, Call) and node.callee not in self.known:
            return [None] * count
        if len(found) != count:
            raise TextError(f"it has {len(found)} outputs, and {count} are named")
        return found

    def apply(self, record: Document, origin: Origin) -> Node:
        if record["op"] not in OPS:
            raise TextError(f"there is no op named {record['op']!r}")
        op, inputs = OPS[record["op"]], self.read(record["inputs"])
        attrs = {k: literal_of(v) for k, v in record.get("attrs", {}).items()}
        if op.kind == "reduction" and "axes" not in attrs and inputs:
            attrs["axes"] = tuple(range(inputs[0].type.ndim))
        wrong = (
            find_wrong_count(op, len(inputs))
            or find_wrong_attribute(op, attrs)
            or find_wrong_axis(op, inputs, attrs)
            or find_wrong_view(op, inputs, attrs)
        )
        if wrong:
            raise TextError(wrong)
        return Apply(op, inputs, (), attrs, origin)

    def if_(self, record: Document, origin: Origin) -> Node:
        (cond,) = self.read(record["inputs"])
        captures, (then, orelse) = self.block(record, ())
        return If(cond, captures, then, orelse, (), origin)

    def while_(self, record: Document, origin: Origin) -> Node:
        carry = self.read(record["carry"])
        captures, (cond, body) = self.block(record, carry)
        return While(carry, captures, cond, body, (), record.get("stops", False), origin)

    def for_(self, record: Document, origin: Origin) -> Node:
        start, stop, step = self.read(record["inputs"])
        carry = self.read(record["carry"])
        captures, (body,) = self.block(record, carry)
        stops, lanes = record.get("stops", False), record.get("lanes", False)
        return For(start, stop, step, carry, captures, body, (), stops, origin, lanes)

    def block(self, record: Document, carry: Sequence[Value]) -> tuple[tuple[Value, ...], list[Graph]]:
        """The captures and the graphs of a block."""
        captures = self.read(record["captures"])
        given = param_types(record["op"], carry, captures)
        graphs = []
        for region in REGIONS[record["op"]]:
            with self.within(region, record):
                loose = len(given) - len(captures)
                graphs.append(self.graph(record[region], REGION_NAMES[region], given, loose))
        return captures, graphs

    def call(self, record: Document, origin: Origin) -> Node:
        rule = Rule(**{k: literal_of(v) for k, v in record["rule"].items()}) if "rule" in record else None
        return Call(record["callee"], self.read(record["inputs"]), (), _changes(record), rule, origin)

    def define_graph(self, record: Document, origin: Origin) -> Node:
        return Define(self.named(record["graph"], record["name"]), _changes(record), origin)


_NODES: dict[str, Callable[..., Node]] = {
    "if": _Reader.if_,
    "while": _Reader.while_,
    "for": _Reader.for_,
    "call": _Reader.call,
    "define": _Reader.define_graph,
}


def _equal(x: Type, y: Type) -> bool:
    return x == y


def _with_outputs(node: Node, outputs: tuple[Value, ...]) -> Node:
    return node if isinstance(node, Define) else replace(node, outputs=outputs)


def _changes(record: Document) -> tuple[tuple[int, int], ...]:
    return tuple((i, k) for i, k in record.get("changes", ()))


def _hint(record: Document, key: str, default: Any) -> Any:
    """What a hint says, if it says something of the kind that is expected."""
    found = record.get("hints", {}).get(key)
    return found if isinstance(found, str) else default
