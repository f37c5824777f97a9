"""From a call to an entry on disk: found, or compiled and kept.

Two keys lead to it. The first is known before anything is compiled: the function's code, the options and the types of
the arguments. Under it there are entries for what the function reads from outside (`guards`); the one whose notes all
hold is the one.
"""

from __future__ import annotations

import linecache
import types
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from srcgraph.errors import ArgumentError
from srcgraph.infer.signature import Skeleton, passed_twice
from srcgraph.runtime.cache.coders import DamagedError
from srcgraph.runtime.cache.environment import EditedError, digest, environment
from srcgraph.runtime.cache.files import Entry
from srcgraph.runtime.cache.folder import Folder, folder, is_on
from srcgraph.runtime.cache.guards import ChangedError, plain, read_guards, write_guards
from srcgraph.runtime.cache.libraries import name_of
from srcgraph.runtime.cache.native import keep
from srcgraph.runtime.cache.places import Places
from srcgraph.runtime.cache.prints import NoPrintError, home_of, print_of, print_of_skeleton
from srcgraph.runtime.cache.sizes import make_room
from srcgraph.runtime.cache.statistics import LOG, STATISTICS
from srcgraph.runtime.cache.versions import FIRST, SECOND, Restored, read_both, write_text, write_version
from srcgraph.runtime.described import USUAL_WAY, Described, Way, describe_arguments, short_beside_long
from srcgraph.runtime.specialized import Specialization, types_of

Make = Callable[[Sequence[Any]], Specialization]
"""Compiles for the arguments of a call, or for `Described` ones."""


def key_of(function: types.FunctionType, source: str | None = None) -> str:
    """What the entries of a function are under."""
    return digest(environment(), print_of(function), home_of(function.__globals__.get("__name__")), source)


def stem_of(key: str) -> str:
    return f"sg_{key[:20]}_"


class Cached:
    """The entries of one function with its options.

    Parameters
    ----------
    function : function
    source : str or None
        Its source, where it was given.
    options : tuple
        Everything else that what is compiled depends on.
    wanted : bool
        Whether versions are to be kept.
    """

    def __init__(self, function: types.FunctionType, source: str | None, options: tuple[Any, ...], wanted: bool):
        self.function = function
        self.source = source
        self.options = options
        self.folder = folder() if wanted and is_on() else None
        self.key = ""
        self.how: Any = None
        if self.folder is not None:
            try:
                self.key = key_of(function, source)
                self.how = plain([print_of(o) for o in options])
            except (NoPrintError, EditedError, OSError) as error:
                self.give_up(str(error))

    def give_up(self, why: str) -> None:
        STATISTICS.uncached(why)
        self.folder = None

    def is_known(self) -> bool:
        """Whether something was compiled of the function before, so that its source was found to be right."""
        return self.folder is not None and bool(self.folder.names(self.key, self.stem))

    @property
    def stem(self) -> str:
        return stem_of(self.key)

    # -- a call --------------------------------------------------------------------------------------------

    def version(self, names: Sequence[str], args: Sequence[Any], distinct: bool, make: Make) -> Specialization:
        """The version for the arguments of a call."""
        if self.folder is None:
            return make(args)
        try:
            call = Call(self, self.folder, names, args, distinct, make)
        except NoPrintError as error:
            STATISTICS.uncached(str(error))
            return make(args)
        found = call.find()
        if found is None:
            with self.folder.alone(self.key, f"{self.stem}{call.first}"):
                found = call.find() or call.compiled()
        return found


class Call:
    """The arguments of a call, and the entries that are for such."""

    def __init__(
        self, owner: Cached, folder: Folder, names: Sequence[str], args: Sequence[Any], distinct: bool, make: Make
    ):
        self.owner = owner
        self.folder = folder
        self.names = names
        self.args = args
        self.distinct = distinct
        self.make = make
        self.first = digest(owner.how, print_of_call(self.described(USUAL_WAY)))[:16]

    def described(self, way: Way) -> dict[str, Skeleton]:
        return describe_arguments(self.names, self.args, way, self.distinct)[0]

    @property
    def stem(self) -> str:
        return f"{self.owner.stem}{self.first}_"

    def places(self, skeletons: dict[str, Skeleton]) -> Places:
        """Where what is read from outside begins."""
        found = Places()
        found.add(self.owner.function)
        for option in self.owner.options:
            found.add(option)
        found.add_skeletons(skeletons.values())
        return found

    # -- reading -------------------------------------------------------------------------------------------

    def find(self) -> Restored | None:
        """The version on disk, if there is one and all that it was compiled from is the same."""
        ending = ".entry.json"
        files = [f for f in self.folder.names(self.owner.key, self.stem) if f.endswith(ending)]
        entries = [Entry(self.folder, self.owner.key, f.removesuffix(ending)) for f in sorted(files)]
        notes = [(entry, note) for entry in entries if (note := entry.read("entry.json")) is not None]
        for entry, note in sorted(notes, key=lambda found: [not found[1].get(k) for k in ("small", "alike", "signs")]):
            found = self.read(entry, note)
            if found is not None:
                STATISTICS.hits += 1
                self.folder.used(entry.key, entry.file("hits"))
                return found
        return None

    def read(self, entry: Entry, note: dict[str, Any]) -> Restored | None:
        try:
            if note["few"] and short_beside_long(self.args):
                return None
            way = Way(frozenset(note["static"]), note["alike"], note["small"], note["signs"])
            skeletons = self.described(way)
            places = self.places(skeletons)
            if note["call"] != plain(print_of_call(skeletons)):
                return None
            guards, hidden = read_guards(note["guards"], places)
            if places.shape != note["shape"]:
                return None
            files = self.files(note, places)
            made = read_both(entry, note, places, files, partial(again, self.make, skeletons))
        except (ChangedError, DamagedError, NoPrintError, ArgumentError):
            return None
        except Exception as error:  # nothing on disk is a reason to fail
            LOG.warning("an entry of %s cannot be read: %r", self.owner.function.__name__, error)
            return None
        made.guards, made.hidden, made.way = guards, hidden, way
        made.between = describe_arguments(self.names, self.args, way, self.distinct)[1].between
        made.hidden_types, made.hidden_key = types_of(hidden), None
        made.shared, made.few = passed_twice(skeletons.values()), note["few"]
        return made

    def files(self, note: dict[str, Any], places: Places) -> list[str]:
        """The user's files, under the names that they have in this process."""
        out = []
        for name, number in note["files"]:
            now = name if number is None else places.objects[number].__code__.co_filename
            if now != name and name in note["named"]:
                raise ChangedError(name)
            out.append(now)
        if self.owner.source is not None:
            text = self.owner.source
            name = f"<source of {self.owner.function.__name__}>"
            linecache.cache.setdefault(name, (len(text), None, text.splitlines(keepends=True), name))
        return out

    # -- writing -------------------------------------------------------------------------------------------

    def compiled(self) -> Specialization:
        """Compiled, and kept if that is possible."""
        STATISTICS.misses += 1
        made = self.make(self.args)
        try:
            self.keep(made)
        except NoPrintError as error:
            STATISTICS.uncached(str(error))
        except Exception as error:  # what cannot be kept can still be run
            STATISTICS.uncached(f"a defect of srcgraph, please report it: {error!r}")
        return made

    def keep(self, made: Specialization) -> None:
        skeletons = self.described(made.way)
        places = self.places(skeletons)
        call = print_of_call(skeletons)
        guards = write_guards(made.guards, made.hidden, places)
        files: list[str] = []
        parts = {FIRST: made} | ({SECOND: made.second()} if made.second is not None else {})
        records = {part: write_version(one, places, files) for part, one in parts.items()}
        written = [one.generated.text.text for one in parts.values()]
        name = f"{self.stem}{digest(sorted(made.way.static), call, guards, places.shape, written)[:16]}"
        entry = Entry(self.folder, self.owner.key, name)
        note = {
            "function": made.name, "call": call,
            "static": sorted(made.way.static), "alike": made.way.alike, "small": made.way.small,
            "signs": made.way.signs, "few": made.few,
            "guards": guards, "shape": places.shape, "files": [[f, _file_of(f, places)] for f in files],
            "named": [f for f in files if any(f in text for text in written)], **records,
        }  # fmt: skip
        for part, one in parts.items():
            if not write_text(one, entry, part):
                return
            keep(one.entry, entry, part)
        if entry.write("entry.json", note):
            STATISTICS.stored += 1
            self.note_functions(places)
            make_room(self.folder)

    def note_functions(self, places: Places) -> None:
        """Note of the user's functions that were compiled in that their sources were found to be right."""
        for function in places.objects:
            if isinstance(function, types.FunctionType) and name_of(function) is None:
                try:
                    key = key_of(function)
                except NoPrintError:
                    continue
                if not self.folder.names(key, stem_of(key)):
                    self.folder.write(key, f"{stem_of(key)}.known", b"")


def again(make: Make, skeletons: dict[str, Skeleton]) -> Specialization:
    """Compiled anew, to be shown; the arguments of the call are long gone."""
    described = Described()
    described.skeletons = skeletons
    return make(described)


def print_of_call(skeletons: dict[str, Skeleton]) -> Any:
    return [[name, print_of_skeleton(s)] for name, s in skeletons.items()]


def _file_of(file: str, places: Places) -> int | None:
    """A function that stands in a file."""
    found = (k for k, v in enumerate(places.objects) if isinstance(v, types.FunctionType))
    return next((k for k in found if places.objects[k].__code__.co_filename == file), None)
