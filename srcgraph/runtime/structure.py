"""Lists, tuples and dicts, one in another: what functions of variables return, and what conditionals choose from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any


class UnlikeError(ValueError):
    """Structures that should be alike are not."""


def mapped(function: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """What a function gives of each leaf, and of the leaves there in other structures, in that structure.

    Raises
    ------
    UnlikeError
        The structures differ.
    """
    if any(not _alike(tree, other) for other in others):
        raise UnlikeError("the structures differ")
    match tree:
        case dict():
            return {k: mapped(function, v, *(o[k] for o in others)) for k, v in tree.items()}
        case list() | tuple():
            made = [mapped(function, *items) for items in zip(tree, *others, strict=True)]
            if isinstance(tree, list):
                return made
            return type(tree)(*made) if hasattr(tree, "_fields") else tuple(made)
        case None:
            return None
    return function(tree, *others)


def _alike(x: Any, y: Any) -> bool:
    if isinstance(x, dict) or isinstance(y, dict):
        return isinstance(x, dict) and isinstance(y, dict) and set(x) == set(y)
    if is_structure(x) or is_structure(y):
        return type(x) is type(y) and len(x) == len(y)
    return (x is None) == (y is None)


def is_structure(x: Any) -> bool:
    """Whether something has leaves, and is none."""
    return isinstance(x, list | tuple | dict)


def leaves(tree: Any) -> list[Any]:
    """All leaves, in order; None is none."""
    found: list[Any] = []
    mapped(found.append, tree)
    return found


def paths(tree: Any, before: str = "") -> Iterator[str]:
    """Where each leaf is: keys and positions, with dots between them."""
    if isinstance(tree, dict):
        items = [(str(k), v) for k, v in tree.items()]
    elif is_structure(tree):
        items = [(str(k), v) for k, v in enumerate(tree)]
    else:
        if tree is not None:
            yield before or "0"
        return
    for name, item in items:
        yield from paths(item, f"{before}.{name}" if before else name)
