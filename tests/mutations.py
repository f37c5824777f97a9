"""Texts and documents of graphs with something wrong in them, by a seed: what readers must refuse with a place."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from random import Random
from typing import Any

from srcgraph import ir
from srcgraph.errors import TextError

WORDS = re.compile(r'"(?:[^"\\]|\\.)*"|\w+|\n| +|.')
STRANGE = [
    *('"p17"', "99999", "-1", "0", "1", "inf", "nan", "true", "none", "weak", "ndim=64", "ndim=99999", "int8", "bool"),
    *("(", ")", "=", "@", ",", "-", "@name=-", "x1", "x2", "complex(1, 2)", 'view("i, i")', "type(ndim=0)", "axis=7"),
    *("dtype=bool", "float32(3)", "int8(300)", "value=x1 // 0", "axes=(0, 0)", "list=(", "- - ", "1e999", "é", "\t"),
    *(
        "complex128",
        "carry=()",
        "captures=(x1)",
        "shape=(n, -3)",
        "0.5",
        "(1, (2,))",
        '""',
        "int64(none)",
        "99999999999",
    ),
]
"""Words that stand in for others."""
VALUES: list[Any] = [
    *(None, True, False, 0, 1, -1, 64, 99999, 10**30, 0.5, "", "x1", "n", "n // 0", "float64", "add", "while", [], [0]),
    *([[]], ["x1"], [None], {}, {"op": {}}, {"id": "x9"}, {"float": "red"}, {"int": "red"}, {"view": "i, q -> 3"}),
    *(
        {"view": ""},
        {"complex": ["a", 1]},
        {"dtype": "int8", "number": 300},
        {"dtype": "int8"},
        {"float": []},
        "\ud800",
    ),
    *(
        {"type": {"ndim": 0, "dtype": "int8", "weak": True}},
        {"type": {}},
        {"int": "7"},
        {"ndim": 99999},
        "((((n",
        "x.y",
    ),
]
"""Values that stand in for others in JSON."""


def mutated_text(text: str, random: Random) -> str:
    """Words taken out, doubled, exchanged or replaced, lines moved, or the end cut off."""
    words = WORDS.findall(text)
    for _ in range(random.randint(1, 3)):
        k, j = random.randrange(len(words)), random.randrange(len(words))
        match random.randrange(7):
            case 0:
                del words[k]
            case 1:
                words.insert(k, words[j])
            case 2:
                words[k], words[j] = words[j], words[k]
            case 3 | 4:
                words[k] = random.choice(STRANGE)
            case 5:
                words.insert(k, f" {random.choice(STRANGE)} ")
            case 6 if random.random() < 0.1:
                words = words[: k + 1]
        words = words or [" "]
    return "".join(words)


def mutated_document(document: Any, random: Random) -> Any:
    """A copy of which parts are replaced, left out, or put into other places."""
    document = copy.deepcopy(document)
    for _ in range(random.randint(1, 2)):
        places = list(_places(document))
        holder, key = random.choice(places)
        other, at = random.choice(places)
        match random.randrange(5):
            case 0 | 1:
                holder[key] = copy.deepcopy(random.choice(VALUES))
            case 2:
                holder[key] = copy.deepcopy(other[at])
            case 3:
                del holder[key]
            case 4 if isinstance(holder, dict):
                holder[random.choice(["op", "weak", "value", "list", "axis", "dtype", "hints", "line"])] = holder[key]
            case _:
                holder.append(holder[key]) if isinstance(holder, list) else holder.pop(key)
        if not document:
            break
    return document


def _places(part: Any) -> Iterator[tuple[Any, Any]]:
    """Each place in a document: what holds it, and its key there."""
    for key in list(part) if isinstance(part, dict) else range(len(part)) if isinstance(part, list) else ():
        yield part, key
        yield from _places(part[key])


def mutated_json(document: Any, random: Random) -> Any:
    """A mutated document, now and then as text of which something is missing."""
    found = mutated_document(document, random)
    if random.random() < 0.1:
        text = json.dumps(found)
        k = random.randrange(len(text))
        return text[:k] + text[k + random.randint(1, 9) :] if random.random() < 0.5 else text[:k]
    return found


def taken_or_refused(read: Any, given: Any) -> bool:
    """Whether a reader takes it; if so it is a graph that is written and read again.

    Raises
    ------
    AssertionError
        What was read is no graph, or it was refused by another error than that of texts.
    """
    try:
        graph = read(given)
    except TextError as error:
        assert str(error).strip()
        return False
    except Exception as error:
        raise AssertionError(
            f"{type(error).__name__} for {given if isinstance(given, str) else json.dumps(given)}"
        ) from error
    again = ir.from_instructions(ir.instructions(graph))
    assert ir.structural_hash(again) == ir.structural_hash(graph)
    return True
