"""Making shared variables: a constructor for every type of value."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any

from srcgraph.ir.shared import SharedVariable


class Constructors:
    """The functions that make shared variables, by the type of value; the one registered last is asked first."""

    def __init__(self) -> None:
        self.known: list[tuple[type, Callable[..., SharedVariable]]] = []

    def register(self, cls: type) -> Callable[[Callable[..., SharedVariable]], Callable[..., SharedVariable]]:
        """A decorator: let ``constructor(value, name=, strict=, borrow=, ...)`` make variables for values of a class.

        A keyword that a constructor does not have makes `shared` ask the next one.

        Examples
        --------
        >>> class Names(SharedVariable):
        ...     pass
        >>> @shared_constructor.register(frozenset)
        ... def names(value, name=None, strict=False, borrow=False):
        ...     return Names(name, value, strict, borrow)
        >>> shared(frozenset({"a"})).value
        frozenset({'a'})
        """

        def registered(constructor: Callable[..., SharedVariable]) -> Callable[..., SharedVariable]:
            self.known.insert(0, (cls, constructor))
            return constructor

        return registered

    def make(self, value: Any, options: dict[str, Any]) -> SharedVariable:
        """A variable made by the first constructor for the value's type that has these options."""
        fitting = [f for cls, f in self.known if isinstance(value, cls)] + [of_number_or_array]
        for constructor in fitting:
            try:
                signature(constructor).bind(value, **options)
            except TypeError:
                continue
            return constructor(value, **options)
        candidates = ", ".join(f"{f.__name__}{signature(f)}" for f in fitting)
        given = ", ".join(options)
        raise TypeError(f"no constructor of shared variables takes a {type(value).__name__} with {given}: {candidates}")


shared_constructor = Constructors()
"""Where constructors for values of other types are registered."""


def of_number_or_array(
    value: Any, name: str | None = None, strict: bool = False, borrow: bool = False, frozen: bool = False
) -> SharedVariable:
    """The constructor for numbers and arrays."""
    return SharedVariable(name, value, strict, borrow, frozen=frozen)


def shared(value: Any, name: str | None = None, strict: bool = False, borrow: bool = False, **options: Any) -> Any:
    """Make a shared variable: a named container whose value compiled functions share.

    Parameters
    ----------
    value : number or array
        What it holds at first, a copy of it if it is an array; its type is the type of all values that come later.
    name : str, optional
        For messages.
    strict : bool
        Whether a value of another type is refused. Else it is cast where NumPy's same-kind rules allow it: an integer
        put into a variable for floats is a float there, a float put into one for integers a TypeError.
    borrow : bool
        Whether an array is taken as it is, not copied: what is stored into it is seen by all.
    **options
        ``frozen=True``: compiled functions keep the value that it had when they were compiled. Constructors for other
        types (`shared_constructor`) may have more.

    Returns
    -------
    SharedVariable
        Read and assigned as ``variable.value``, in compiled functions and outside.

    Examples
    --------
    >>> b = shared(1, name="b")
    >>> b.value += 1
    >>> b.value
    2
    >>> b
    <shared b: int, 2>
    """
    return shared_constructor.make(value, {"name": name, "strict": strict, "borrow": borrow, **options})
