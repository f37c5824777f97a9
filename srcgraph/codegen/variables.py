"""What is known of the variables of a function once they have names."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass

from srcgraph.codegen.names import Names
from srcgraph.ir.op import OPS
from srcgraph.ir.types import INT, ArrayType, ListType, ScalarType, Type


@dataclass(frozen=True, slots=True)
class Variables:
    """The variables of a function, by name.

    Attributes
    ----------
    axes : mapping
        How many axes the arrays have.
    dtypes : mapping
        Of numbers and arrays, as NumPy calls them; "" where a name has several.
    lists, integers : set of str
        The integers are those whose sums raise where 64 bits are too few.
    ordered, views, fallible : set of str
        Functions whose calls stay in order, those that may return an argument's memory, and those that may raise.
    taken : set of str
        Names of functions.
    """

    axes: Mapping[str, int]
    dtypes: Mapping[str, str]
    lists: Set[str]
    integers: Set[str]
    ordered: Set[str]
    views: Set[str]
    fallible: Set[str]
    taken: Set[str]


def variables_of(names: Names, watched: bool, ordered: Set[str], taken: Set[str]) -> Variables:
    """Those of a function.

    Parameters
    ----------
    names : Names
    watched : bool
        Whether it has integers that may need more than 64 bits.
    ordered : set of str
        Functions of the user's that it calls.
    taken : set of str
    """
    axes: dict[str, int] = {}
    dtypes: dict[str, set[str]] = {}
    for value in names.groups:
        name, type = names.of(value), value.type
        if isinstance(type, ArrayType):
            axes[name] = max(axes.get(name, 0), type.ndim)
        if isinstance(type, ArrayType | ScalarType):
            dtypes.setdefault(name, set()).add(type.dtype.name)
    return Variables(
        axes,
        {name: next(iter(found)) if len(found) == 1 else "" for name, found in dtypes.items()},
        names.of_type(lambda t: not isinstance(t, ArrayType | ScalarType)),
        names.of_type(_is_python_integer) if watched else frozenset(),
        frozenset(ordered) | _texts("effect", "draw"),
        _texts(names=("reshape", "reshape_view")),
        _texts("library") - _texts(names=("matmul", "reshape", "reshape_view")),
        taken,
    )


def _is_python_integer(type: Type) -> bool:
    return isinstance(type, ScalarType) and type.dtype == INT and type.weak


def _texts(*kinds: str, names: tuple[str, ...] = ()) -> frozenset[str]:
    """What ops are called in generated text."""
    found = set()
    for op in OPS.values():
        if op.kind in kinds or op.name in names:
            for text in op.emit.values():
                found |= {text if isinstance(text, str) else str(text(INT, **op.samples[0].attrs))}
    return frozenset(found)


__all__ = ["ListType", "Variables", "variables_of"]
