"""Eight bytes of which a mask says which to store: LLVM 22 may store more than eight.

With AVX-512 there is an instruction for sixteen bytes and a mask of sixteen bits. LLVM makes the mask of the eight that
it has by a move which sets the other bits to zero; where it has no register left for that, it keeps what was there
before the move, and the bytes after the eight are overwritten where those bits happen to be set. So a loop that sets
flags in branches, ``if not done[i]: done[i] = x[i] > 1``, may give wrong flags or never end, in numba's own functions,
too.

Here such a mask takes its way through a number of which LLVM knows nothing, which it cannot shorten. The same goes for
what is read by such a mask.

References
----------
LLVM Language Reference, "llvm.masked.store", "llvm.masked.load", "Inline Assembler Expressions".
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

import llvmlite.binding as llvm

_NAME = re.compile(r"llvm\.masked\.(store|load)\.v8i8\.")
_CALL = re.compile(r"\s*(?:(%\S+) = )?(?:\w+ )?call .*?@llvm\.masked\.(?:store|load)\.v8i8\.p0(?=\()")
_LABEL = re.compile(r'[-\w.$"]+:')
_ALL, _FIRST = (", ".join(f"i32 {k}" for k in range(count)) for count in (16, 8))


def repaired(module: llvm.ModuleRef) -> llvm.ModuleRef:
    """An optimised module without such stores; the module itself if there are none, or the processor has no AVX-512."""
    if not _has_masks() or not any(_NAME.match(f.name) for f in module.functions):
        return module
    made = llvm.parse_assembly("\n".join(_repaired(str(module).splitlines())))
    made.name = module.name
    return made


@functools.cache
def _has_masks() -> bool:
    return bool(llvm.get_host_cpu_features().get("avx512bw"))


def _repaired(lines: list[str]) -> Iterator[str]:
    masks: dict[str, str] = {}
    """Masks of sixteen for masks of eight, in one block."""
    declared: dict[str, str] = {}
    for number, line in enumerate(lines):
        call = _CALL.match(line)
        if call is None:
            masks = {} if _LABEL.match(line) else masks
            yield line
            continue
        inside, rest = _parted(line[call.end() + 1 :])
        yield from _Wide(f"%bytes.{number}", masks, declared).call(call[1], inside, rest)
    there = {f.split("(")[0].split()[-1] for f in lines if f.startswith("declare ")}
    yield from (line for name, line in declared.items() if name not in there)


class _Wide:
    """A call for sixteen bytes in place of one for eight.

    Parameters
    ----------
    name : str
        How the names of what it needs begin.
    masks, declared : dict
        What there is already, and what it adds to.
    """

    def __init__(self, name: str, masks: dict[str, str], declared: dict[str, str]):
        self.name, self.masks, self.declared = name, masks, declared

    def call(self, result: str | None, arguments: list[str], rest: str) -> Iterator[str]:
        given, types = [], []
        for k, argument in enumerate(arguments):
            if argument.startswith("<8 x i1> "):
                yield from self.mask(argument)
                given.append(f"<16 x i1> {self.masks[argument]}")
            elif argument.startswith("<8 x i8> "):
                yield f"  {self.name}.{k} = shufflevector {argument}, <8 x i8> poison, <16 x i32> <{_ALL}>"
                given.append(f"<16 x i8> {self.name}.{k}")
            else:
                given.append(argument)
            types.append(given[-1].split(" %")[0] if given[-1].startswith("<") else argument.split()[0])
        kind, back = ("load", "<16 x i8>") if result else ("store", "void")
        called = f"@llvm.masked.{kind}.v16i8.p0"
        self.declared[called] = f"declare {back} {called}({', '.join(types)})"
        whole = f"{self.name}.all = " if result else ""
        yield f"  {whole}call {back} {called}({', '.join(given)}){rest}"
        if result:
            yield f"  {result} = shufflevector <16 x i8> {self.name}.all, <16 x i8> poison, <8 x i32> <{_FIRST}>"

    def mask(self, argument: str) -> Iterator[str]:
        if argument in self.masks:
            return
        self.masks[argument] = f"{self.name}.mask"
        yield f"  {self.name}.bits = bitcast {argument} to i8"
        yield f"  {self.name}.long = zext i8 {self.name}.bits to i32"
        yield f'  {self.name}.same = call i32 asm "", "=r,0"(i32 {self.name}.long)'
        yield f"  {self.name}.short = trunc i32 {self.name}.same to i16"
        yield f"  {self.name}.mask = bitcast i16 {self.name}.short to <16 x i1>"


def _parted(text: str) -> tuple[list[str], str]:
    """The arguments of a call, and what comes after them."""
    parts, depth, begun = list[str](), 0, 0
    for k, letter in enumerate(text):
        if letter in "(<[{":
            depth += 1
        elif letter == ")" and not depth:
            return [*parts, text[begun:k].strip()], text[k + 1 :]
        elif letter in ")>]}":
            depth -= 1
        elif letter == "," and not depth:
            parts.append(text[begun:k].strip())
            begun = k + 1
    raise ValueError(f"a call that does not end: {text}")
