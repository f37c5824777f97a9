"""Compiled versions as records of entries, and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import cache, partial
from typing import Any

from srcgraph.codegen.cpu import Generated
from srcgraph.codegen.source import Text
from srcgraph.ir.exceptions import exception, is_known, name_of, own_names
from srcgraph.ir.graph import Value
from srcgraph.runtime.cache.coders import (
    Coder,
    DamagedError,
    read_interface,
    read_lines,
    read_types,
    write_interface,
    write_lines,
    write_types,
)
from srcgraph.runtime.cache.files import Entry, sha256
from srcgraph.runtime.cache.native import keep
from srcgraph.runtime.cache.places import Places
from srcgraph.runtime.cache.prints import NoPrintError, print_of_kernel
from srcgraph.runtime.depth import WithDepth
from srcgraph.runtime.load import load
from srcgraph.runtime.natives import enter, made_of
from srcgraph.runtime.options import options_of
from srcgraph.runtime.pullbacks import pulling
from srcgraph.runtime.results import Make, is_nested, maker, updater
from srcgraph.runtime.specialized import Specialization

FIRST, SECOND = "first", "second"
"""The parts of an entry: a version, and the reverse sweep that the caller runs."""


class Restored(Specialization):
    """A version from disk. What is only shown, such as its graph, is made again when it is asked for."""

    __slots__ = ("again",)
    again: Callable[[], Specialization]

    def __getattr__(self, name: str) -> Any:
        if name not in {f.name for f in fields(Specialization)}:
            raise AttributeError(name)
        found = getattr(self.again(), name)
        setattr(self, name, found)
        return found


# -- writing -----------------------------------------------------------------------------------------------


def write_version(made: Specialization, places: Places, files: list[str]) -> dict[str, Any]:
    """What a version needs to run, but for its text.

    Raises
    ------
    NoPrintError
        There is something in it that cannot be written.
    """
    if made.places:
        raise NoPrintError("it reads shared variables, which live in one process")
    version, generated = made.version, made.generated
    assert version is not None
    coder, types = Coder(places.objects), [r.type for r in version.graph.results]
    record = {
        "name": made.name,
        "function": generated.name,
        "sha256": sha256(generated.text.text.encode()),
        "frame": generated.frame,
        "repeatable": generated.repeatable,
        "lines": write_lines(generated.text.lines, files),
        "interface": write_interface(made.interface),
        "types": write_types(types),
        "template": coder.write(version.template),
        "updates": [coder.write(r) for r in version.rebound],
        "lists": [[k, coder.write(t)] for k, t in version.lists],
        "private": list(made.private),
        "contiguous": list(made.contiguous),
        "params": list(made.params),
        "error_model": made.options.error_model,
        "parallel": made.options.parallel,
        "raises": _exceptions(generated.text.text, places),
        "kernels": _kernels(generated.kernels, places),
    }
    if version.reverse is not None:
        record["reverse"] = [coder.write(version.reverse.value), write_types(version.reverse.types)]
    return record


def _exceptions(text: str, places: Places) -> list[list[Any]]:
    """The user's own exceptions that generated text names, and their places."""
    found = []
    for name in own_names():
        if repr(name) in text:
            number = places.number(exception(name))
            if number is None:
                raise NoPrintError(f"{name}, which it raises, cannot be found again")
            found.append([name, number])
    return found


def _kernels(names: Sequence[str], places: Places) -> list[list[Any]]:
    """The user's kernels that generated text calls: their names, the functions around them, and their places."""
    found = []
    for name in names:
        kernel, text = made_of(name)
        print_of_kernel(kernel)
        number = places.number(kernel)
        if number is None:
            raise NoPrintError(f"{kernel.__name__}, which it calls, cannot be found again")
        found.append([name, text, number])
    return found


def write_text(made: Specialization, entry: Entry, part: str) -> bool:
    return entry.write_bytes(f"{part}.py", made.generated.text.text.encode())


# -- reading -----------------------------------------------------------------------------------------------


def read_version(
    entry: Entry, part: str, record: dict[str, Any], places: Places, files: list[str], again: Callable[[], Any]
) -> Restored:
    """A version, ready to run.

    Raises
    ------
    DamagedError
        The entry is not whole.
    """
    text = entry.read_bytes(f"{part}.py", record["sha256"])
    if text is None:
        raise DamagedError("its text")
    for name, number in record["raises"]:
        if name_of(places.objects[number]) != name or is_known(name):
            raise DamagedError(f"{name} is another exception")
    for name, around, number in record["kernels"]:
        if enter(places.objects[number], around) != name:
            raise DamagedError(f"{name} is another kernel")
    made = Restored.__new__(Restored)
    made.again = again
    function, frame = record["function"], record["frame"]
    made.generated = Generated(function, Text(text.decode(), read_lines(record["lines"], files)), (), frame)
    made.entry, made.file = load(text.decode(), function)
    keep(made.entry, entry, part)
    made.run = WithDepth(made.entry, frame, record["repeatable"]) if frame else made.entry
    _read_meaning(made, record, Coder(places.objects))
    made.name, made.params = record["name"], tuple(record["params"])
    made.options = options_of(error_model=record["error_model"], parallel=record["parallel"])
    made.private, made.contiguous = tuple(record["private"]), tuple(record["contiguous"])
    made.version, made.second, made.places = None, None, ()
    return made


def _read_meaning(made: Restored, record: dict[str, Any], coder: Coder) -> None:
    """What it returns and changes."""
    made.interface = read_interface(record["interface"])
    returned = made.interface.returned
    place = {k: at for at, k in enumerate(returned)}
    results: list[Any] = [Value("", t) for t in read_types(record["types"])]
    made.make = maker(coder.read(record["template"]), results, place)
    made.updates = tuple(updater(coder.read(r), results, place) for r in record["updates"])
    templates = [(k, coder.read(t)) for k, t in record["lists"]]
    made.lists = tuple((k, maker(t, results, place), is_nested(t)) for k, t in templates)
    made.single, made.changed = len(returned) == 1, tuple(made.interface.changed)


def with_second(make: Make, record: Sequence[Any], coder: Coder, second: Callable[[], Specialization]) -> Make:
    """What `vjp` returns, of a version whose reverse sweep is the second part of its entry."""
    return pulling(make, coder.read(record[0]), read_types(record[1]), second)


def read_both(
    entry: Entry, note: dict[str, Any], places: Places, files: list[str], again: Callable[[], Any]
) -> Restored:
    """A version and, where it has one, its reverse sweep, which is read when it is needed."""
    again = cache(again)
    made = read_version(entry, FIRST, note[FIRST], places, files, again)
    if SECOND in note:
        second = cache(partial(_second, entry, note[SECOND], places, files, again))
        made.make = with_second(made.make, note[FIRST]["reverse"], Coder(places.objects), second)
        made.second = second
    return made


def _second(entry: Entry, record: dict[str, Any], places: Places, files: list[str], again: Callable[[], Any]) -> Any:
    """The reverse sweep; compiled again if it is there no more."""

    def second() -> Specialization:
        found = again().second
        assert found is not None
        return found()

    try:
        return read_version(entry, SECOND, record, places, files, second)
    except DamagedError:
        return second()
