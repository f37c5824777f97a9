"""What numba compiled of a function, called for the very types that it was compiled for, and never compiled anew."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from numba import _dispatcher


class Unmatched(Exception):
    """A call is of types for which nothing was compiled."""


class Exact(_dispatcher.Dispatcher):
    """Calls of a compiled function with arguments of known types: dtypes, numbers of axes, layouts.

    An instance of a subclass of ``numpy.ndarray`` is taken for an array.

    Parameters
    ----------
    entry : numba.core.dispatcher.Dispatcher
        The function, which other calls compile for their types.
    """

    def __init__(self, entry: Any):
        names = entry.py_func.__code__.co_varnames[: entry.py_func.__code__.co_argcount]
        super().__init__(entry._tm.get_pointer(), len(names), entry._fold_args, names, (), False, False, True)
        self.entry = entry
        self.__code__ = entry.__code__  # what profilers are told
        self.added: dict[tuple[Any, ...], Any] = {}
        self._can_compile = False

    def add(self, args: Sequence[Any]) -> bool:
        """Allow calls with arguments of the types of these; False if that changes nothing."""
        types = tuple(map(self.typeof_pyval, args))
        compiled = self.entry.overloads.get(types)
        if compiled is None or types in self.added:
            return False
        self.added[types] = compiled
        self._insert([t._code for t in types], compiled.entry_point, compiled.objectmode)  # type: ignore[attr-defined]
        return True

    # -- what numba asks

    def typeof_pyval(self, value: Any) -> Any:
        return self.entry.typeof_pyval(value)

    def _search_new_conversions(self, *args: Any, **kwargs: Any) -> bool:
        return False

    def _explain_matching_error(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise Unmatched

    _explain_ambiguous = _explain_matching_error
