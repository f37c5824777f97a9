"""The database of rewrites: names, tags, order; asked by queries.

Rewrites are registered under a name, with tags. A query says which tags to include, to require and to exclude; a
name is a tag of its own, so that ``query.excluding("log1p")`` leaves out just that one. A `SequenceDB` gives what
is selected in its order, an `EquilibriumDB` gives local rewrites that are applied until none applies.
"""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from srcgraph.errors import ArgumentError, Problem
from srcgraph.opt.rewriting.fgraph import FunctionGraph
from srcgraph.opt.rewriting.local import LocalRewrite, RewriteError
from srcgraph.opt.rewriting.walkers import Equilibrium, GraphPass, Rewriter


def _names(tags: Iterable[Any]) -> set[str]:
    """Tags, which are names."""
    wrong = next((t for t in tags if not isinstance(t, str)), None)
    if wrong is not None:
        raise ArgumentError(f"a rewrite, or a tag, is said by its name, such as 'inplace', not by {wrong!r}")
    return set(tags)


@dataclass(frozen=True, slots=True)
class Query:
    """Which rewrites: those with a tag of ``include``, with all of ``require`` and none of ``exclude``.

    Parameters
    ----------
    include, require, exclude : collection of str
        Tags; names are tags.
    subquery : mapping of str to Query
        Another query for databases inside, by name; they are asked this one otherwise.
    """

    include: frozenset[str] = frozenset()
    require: frozenset[str] = frozenset()
    exclude: frozenset[str] = frozenset()
    subquery: Mapping[str, Query] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("include", "require", "exclude"):
            given = getattr(self, name)
            if isinstance(given, str):
                raise ArgumentError(
                    Problem(f"{name} is a collection of tags, not a text", hint=f"write {name}=[{given!r}]")
                )
            object.__setattr__(self, name, frozenset(_names(given)))

    def including(self, *tags: str) -> Query:
        """Also those with one of these tags, excluded before or not."""
        return replace(self, include=self.include | _names(tags), exclude=self.exclude - set(tags))

    def excluding(self, *tags: str) -> Query:
        """None with any of these tags."""
        return replace(self, exclude=self.exclude | _names(tags))

    def requiring(self, *tags: str) -> Query:
        """Only those with all of these tags."""
        return replace(self, require=self.require | _names(tags))

    def selects(self, tags: frozenset[str]) -> bool:
        return bool(self.include & tags) and self.require <= tags and not self.exclude & tags

    def __hash__(self) -> int:
        return hash((self.include, self.require, self.exclude, frozenset(self.subquery.items())))

    @property
    def key(self) -> str:
        """What tells queries apart, the same in every process."""
        own = [",".join(sorted(tags)) for tags in (self.include, self.require, self.exclude)]
        return "|".join([*own, *(f"{n}:{q.key}" for n, q in sorted(self.subquery.items()))])


@dataclass(frozen=True, slots=True)
class Entry:
    """What is registered: a rewrite or a database, its name and its tags, the name among them."""

    name: str
    item: LocalRewrite | Rewriter | Database
    tags: frozenset[str]


class Database:
    """Rewrites by name, with tags.

    Parameters
    ----------
    name : str
    """

    def __init__(self, name: str):
        self.name = name
        self.entries: dict[str, Entry] = {}
        self.changes = 0
        self._digest: tuple[int, str] = (-1, "")

    def register(self, name: str, item: Any, *tags: str) -> Any:
        """Enter a rewrite, or a database, under a name.

        Raises
        ------
        RewriteError
            The name is taken.
        """
        if name in self.entries:
            raise RewriteError(f"{self.name!r} has a rewrite named {name!r} already")
        if isinstance(item, LocalRewrite):
            item = replace(item, name=name)
        self.entries[name] = Entry(name, item, frozenset((name, *tags)))
        self.changes += 1
        return item

    def remove(self, name: str) -> None:
        """Take a rewrite out. What has been compiled stays as it is."""
        self[name]
        del self.entries[name]
        self.changes += 1

    def tag(self, name: str, *tags: str) -> None:
        """Give a rewrite more tags."""
        entry = self[name]
        self.entries[name] = replace(entry, tags=entry.tags | set(tags))
        self.changes += 1

    def __getitem__(self, name: str) -> Entry:
        found = next((e for e in self.everything() if e.name == name), None)
        if found is None:
            raise RewriteError(Problem(f"there is no rewrite {name!r} in {self.name!r}", hint=near(name, self.names())))
        return found

    def __contains__(self, name: object) -> bool:
        return any(e.name == name for e in self.everything())

    def everything(self) -> Iterator[Entry]:
        """Every entry, and those of databases inside."""
        for entry in self.in_order():
            yield entry
            if isinstance(entry.item, Database):
                yield from entry.item.everything()

    def in_order(self) -> Iterable[Entry]:
        return self.entries.values()

    def names(self) -> set[str]:
        return {e.name for e in self.everything()}

    def known_tags(self) -> set[str]:
        """Every tag, names included."""
        return set[str]().union(*(e.tags for e in self.everything()))

    def selected(self, query: Query) -> list[Entry]:
        """The entries that a query asks for, in order; databases are always among them, unless they are excluded."""
        found = []
        for entry in self.in_order():
            inside = isinstance(entry.item, Database)
            if query.selects(entry.tags) or (inside and not query.exclude & entry.tags):
                found.append(entry)
        return found

    def check(self, query: Query) -> None:
        """See that there is something for every tag of a query.

        Raises
        ------
        RewriteError
            There is no such tag or name, or no such database for a query inside; those like it are named.
        """
        inside = {e.name: e.item for e in self.everything() if isinstance(e.item, Database)}
        for tag in sorted(query.include | query.require | query.exclude):
            if tag not in self.known_tags():
                why = f"there is no rewrite or tag {tag!r} in {self.name!r}"
                raise RewriteError(Problem(why, hint=near(tag, self.known_tags())))
        for name, inner in query.subquery.items():
            if name not in inside:
                why = f"there is no database {name!r} in {self.name!r}"
                raise RewriteError(Problem(why, hint=near(name, inside)))
            inside[name].check(inner)

    def query(self, query: Query, strict: bool = False) -> Rewriter:
        """The rewriter of what a query asks for; see `check` for what is refused."""
        self.check(query)
        return self.rewriter(query, strict)

    def rewriter(self, query: Query, strict: bool = False) -> Rewriter:
        """The rewriter of what a query asks for, which may ask for what is not here."""
        raise NotImplementedError

    def inner(self, entry: Entry, query: Query, strict: bool) -> Any:
        """What an entry is under a query."""
        if isinstance(entry.item, Database):
            return entry.item.rewriter(query.subquery.get(entry.name, query), strict)
        return entry.item

    @property
    def digest(self) -> str:
        """A hash of what is registered, the same in every process, which changes when a rewrite changes."""
        changes = self.changes + sum(e.item.changes for e in self.everything() if isinstance(e.item, Database))
        if self._digest[0] != changes:
            self._digest = changes, self._found_digest()
        return self._digest[1]

    def _found_digest(self) -> str:
        parts = [f"{e.name}:{','.join(sorted(e.tags))}:{_source(e.item)}" for e in self.everything()]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    def summary(self) -> str:
        """The entries as a table: name, tags, what they do."""
        return "\n".join(self._lines(0))

    def _lines(self, depth: int) -> Iterator[str]:
        for entry in self.in_order():
            tags = " ".join(sorted(entry.tags - {entry.name}))
            name = "  " * depth + entry.name
            yield f"{name:34} {_doc(entry.item):60} {tags}".rstrip()
            if isinstance(entry.item, Database):
                yield from entry.item._lines(depth + 1)


def _doc(item: Any) -> str:
    if isinstance(item, LocalRewrite):
        return item.doc
    return "" if isinstance(item, Database) else item.name


def _source(item: Any) -> str:
    """What a rewrite does, as far as its code says."""
    made_of = item.transform if isinstance(item, LocalRewrite) else getattr(item, "run", type(item))
    code = getattr(made_of, "__code__", None)
    return _doc(item) if code is None else f"{_doc(item)}:{code.co_code.hex()}"


def near(name: str, names: Iterable[str]) -> str:
    """A hint: the names most like one that is not there."""
    found = difflib.get_close_matches(name, sorted(names), 3, 0.4)
    return f"did you mean {', '.join(map(repr, found))}?" if found else ""


class EquilibriumDB(Database):
    """Local rewrites that are applied together until none applies."""

    def __init__(self, name: str, most: int = 8):
        super().__init__(name)
        self.most = most

    def rewriter(self, query: Query, strict: bool = False) -> Equilibrium:
        rules = [e.item for e in self.selected(query) if isinstance(e.item, LocalRewrite)]
        return Equilibrium(self.name, rules, self.most, strict)


class InSequence(Rewriter):
    """Rewriters one after the other."""

    def __init__(self, name: str, rewriters: Sequence[Rewriter]):
        self.name = name
        self.rewriters = tuple(rewriters)

    def steps(self) -> Iterator[Rewriter]:
        """Every rewriter, those of sequences inside one by one."""
        for rewriter in self.rewriters:
            if isinstance(rewriter, InSequence):
                yield from rewriter.steps()
            else:
                yield rewriter

    def apply(self, fgraph: FunctionGraph) -> bool:
        changed = [r.rewrite(fgraph) for r in self.steps()]
        return any(changed)


class SequenceDB(Database):
    """Rewrites in an order, relative to named stages; the name of a stage is a tag of what stands there.

    Parameters
    ----------
    name : str
    stages : sequence of str
        Names of places in the order; what is registered ``at`` one comes after what is there already.
    inplace : str
        The stage before which nothing tagged ``inplace`` may stand.
    others : sequence of str
        Tags of nothing here, which queries may name: what comes after the rewrites asks for them.
    usual : str
        The last stage for what is registered without one; by default the last one.
    """

    def __init__(
        self, name: str, stages: Sequence[str] = (), inplace: str = "", others: Sequence[str] = (), usual: str = ""
    ):
        super().__init__(name)
        self.stages = tuple(stages)
        self.usual = usual or next(iter(stages[-1:]), "")
        self.inplace = inplace
        self.others = tuple(others)
        self.order: list[str] = list(stages)

    def register(
        self, name: str, item: Any, *tags: str, at: str = "", before: str = "", after: str = ""
    ) -> Any:  # fmt: skip
        """Enter a rewriter at the end of a stage or next to another one, a local rewrite with those of a stage.

        Parameters
        ----------
        name : str
        item : LocalRewrite, Rewriter, Database, or function from graph to graph
        *tags : str
        at : str, optional
            A stage; the last one by default, the last one with local rewrites for those.
        before, after : str, optional
            The name of a rewrite, or of a stage.

        Raises
        ------
        RewriteError
            There is no such stage or name; or something tagged ``inplace`` would stand before the stage for it.
        """
        if isinstance(item, LocalRewrite):
            self._place(at, before, after)
            if before or after:
                why = f"{name!r} is a local rewrite: it is applied together with the others of its stage, in no order"
                raise RewriteError(Problem(why, hint="say at=, the stage, only"))
            stage, rules = self._local(at)
            return rules.register(name, item, *tags, stage)
        place = self._place(at, before, after)
        if "inplace" in tags and self.inplace and place <= self.order.index(self.inplace):
            raise RewriteError(f"{name!r} works in place: it cannot stand before the stage {self.inplace!r}")
        if not isinstance(item, Rewriter | Database):
            item = GraphPass(name, item)
        super().register(name, item, *tags, *self._stages_before(place)[-1:])
        self.order.insert(place, name)
        return item

    def remove(self, name: str) -> None:
        self[name]
        for entry in self.entries.values():
            if isinstance(entry.item, Database) and name in entry.item:
                entry.item.remove(name)
                return
        super().remove(name)
        self.order.remove(name)

    def _stages_before(self, place: int) -> list[str]:
        return [n for n in self.order[:place] if n in self.stages]

    def _local(self, stage: str) -> tuple[str, EquilibriumDB]:
        """A stage and its local rewrites."""
        at, found = "", None
        for name in self.order:
            if name in self.stages:
                if not stage and at == self.usual:
                    break
                at = name
            item = self.entries[name].item if name in self.entries else None
            if isinstance(item, EquilibriumDB) and stage in ("", at):
                found = at, item
        if found is None:
            why = f"the stage {stage!r} has no local rewrites"
            raise RewriteError(Problem(why, hint=near(stage, self.stages)))
        return found

    def _place(self, at: str, before: str, after: str) -> int:
        for given in filter(None, (at, before, after)):
            if given not in self.order:
                raise RewriteError(Problem(f"there is no stage or rewrite {given!r}", hint=near(given, self.order)))
        if before:
            return self.order.index(before)
        if after and after not in self.stages:
            return self.order.index(after) + 1
        start = self.order.index(at or after or self.usual) if self.stages else len(self.order) - 1
        following = (k for k in range(start + 1, len(self.order)) if self.order[k] in self.stages)
        return next(following, len(self.order))

    def in_order(self) -> Iterable[Entry]:
        return [self.entries[n] for n in self.order if n in self.entries]

    def known_tags(self) -> set[str]:
        return super().known_tags() | {*self.stages, *self.others}

    def rewriter(self, query: Query, strict: bool = False) -> InSequence:
        return InSequence(self.name, [self.inner(e, query, strict) for e in self.selected(query)])

    def _lines(self, depth: int) -> Iterator[str]:
        for name in self.order:
            if name in self.stages:
                yield f"{'  ' * depth}-- {name}"
                continue
            entry = self.entries[name]
            tags = " ".join(sorted(entry.tags - {name}))
            yield f"{'  ' * depth + name:34} {_doc(entry.item):60} {tags}".rstrip()
            if isinstance(entry.item, Database):
                yield from entry.item._lines(depth + 1)
