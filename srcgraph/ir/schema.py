"""The grammar of documents, as a JSON schema (``docs/graph.schema.json``), and what breaks it.

References
----------
JSON Schema, draft 2020-12; of its words only those that are used here are checked.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from srcgraph.ir.document import VERSION
from srcgraph.ir.plain import DTYPES

Schema: TypeAlias = dict[str, Any]


def _ref(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


def _list(items: Schema, count: int | None = None) -> Schema:
    return {"type": "array", "items": items, **({} if count is None else {"minItems": count, "maxItems": count})}


def _record(required: Schema, optional: Schema | None = None) -> Schema:
    properties = {**required, **(optional or {})}
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


def _node(op: str, required: Schema, optional: Schema | None = None) -> Schema:
    return _record({"op": {"const": op}, **required}, {**(optional or {}), "hints": _ref("hints")})


TEXT: Schema = {"type": "string"}
INTEGER: Schema = {"type": "integer"}
FLAG: Schema = {"type": "boolean"}
IDS = _list(TEXT)
OUTPUTS = _list(_ref("value"))
DTYPE: Schema = {"enum": list(DTYPES)}
CHANGES = _list(_list(INTEGER, 2))
SIZE: Schema = {"anyOf": [INTEGER, TEXT]}
GRAPH: Schema = {"params": _list(_ref("value")), "nodes": _list(_ref("node")), "results": IDS}
HINTS: Schema = {"hints": _ref("hints")}
KINDS: dict[str, Schema] = {
    "if": _node("if", {"inputs": _list(TEXT, 1), "captures": IDS, "then": _ref("graph"), "else": _ref("graph"),
                       "outputs": OUTPUTS}),
    "while": _node("while", {"carry": IDS, "captures": IDS, "cond": _ref("graph"), "body": _ref("graph"),
                             "outputs": OUTPUTS}, {"stops": FLAG}),
    "for": _node("for", {"inputs": _list(TEXT, 3), "carry": IDS, "captures": IDS, "body": _ref("graph"),
                         "outputs": OUTPUTS}, {"stops": FLAG, "lanes": FLAG}),
    "call": _node("call", {"callee": TEXT, "inputs": IDS, "outputs": OUTPUTS},
                  {"changes": CHANGES, "rule": _ref("rule")}),
    "define": _node("define", {"name": TEXT, "graph": _ref("graph")}, {"changes": CHANGES}),
}  # fmt: skip
"""The nodes that are no ops, by the word that says so."""
DEFINITIONS: dict[str, Schema] = {
    "graph": _record(GRAPH, HINTS),
    "named": _record({"name": TEXT, **GRAPH}, HINTS),
    "value": _record({"id": TEXT}, {"type": _ref("type"), **HINTS}),
    "type": {
        "type": "object",
        "properties": {"ndim": INTEGER, "dtype": DTYPE, "shape": _list(SIZE), "weak": FLAG, "value": SIZE,
                       "list": _ref("type")},
        "additionalProperties": False,
    },
    "hints": {"type": "object"},
    "literal": {
        "anyOf": [
            {"type": ["null", "boolean", "integer", "number", "string"]},
            _list(_ref("literal")),
            _record({"dtype": DTYPE}, {"number": _ref("literal")}),
            _record({"int": TEXT}),
            _record({"float": {"type": ["string", "number"]}}),
            _record({"complex": _list(_ref("literal"), 2)}),
            _record({"view": TEXT}),
            _record({"type": _ref("type")}),
        ]
    },
    "rule": _record({"function": TEXT, "forward": TEXT, "backward": TEXT, "moving": _list(INTEGER),
                     "frozen": _list(INTEGER)}),
    "op": _record({"op": {"type": "string", "not": {"enum": list(KINDS)}}, "inputs": IDS, "outputs": OUTPUTS},
                  {"attrs": {"type": "object", "additionalProperties": _ref("literal")}, **HINTS}),
    "node": {"anyOf": [*(_ref(k) for k in KINDS), _ref("op")]},
    **KINDS,
}  # fmt: skip
SCHEMA: Schema = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "A graph, or a program of several graphs, of srcgraph",
    "anyOf": [
        _record({"version": {"const": VERSION}, "graph": _ref("graph")}, {"name": TEXT}),
        _record({"version": {"const": VERSION}, "entry": TEXT, "graphs": _list(_ref("named"))}),
    ],
    "$defs": DEFINITIONS,
}

_TYPES = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "number": int | float,
    "boolean": bool,
    "null": type(None),
}


def find_breach(value: Any, schema: Schema = SCHEMA, path: str = "document") -> str:
    """Where a value breaks the schema, and how; '' if it does not."""
    if "$ref" in schema:
        name = schema["$ref"].removeprefix("#/$defs/")
        if name == "node" and isinstance(value, dict):  # of the nodes, the one it says it is
            if not isinstance(value.get("op", ""), str):
                return f"{path}.op is {value['op']!r}, not string"
            name = value["op"] if value.get("op") in KINDS else "op"
        return find_breach(value, DEFINITIONS[name], path)
    if "anyOf" in schema:
        breaches = [find_breach(value, s, path) for s in schema["anyOf"]]
        return "" if "" in breaches else max(breaches, key=len)
    if "const" in schema and (value != schema["const"] or type(value) is not type(schema["const"])):
        return f"{path} is {value!r}, not {schema['const']!r}"
    if "enum" in schema and value not in schema["enum"]:
        return f"{path} is {value!r}, none of {', '.join(map(repr, schema['enum']))}"
    wanted = schema.get("type", [])
    wanted = [wanted] if isinstance(wanted, str) else wanted
    if wanted and not any(_is(value, name) for name in wanted):
        return f"{path} is {value!r}, not {' or '.join(wanted)}"
    return _parts(value, schema, path)


def _is(value: Any, name: str) -> bool:
    return isinstance(value, _TYPES[name]) and (name == "boolean" or not isinstance(value, bool))


def _parts(value: Any, schema: Schema, path: str) -> str:
    """The first breach in what a value is made of."""
    if isinstance(value, list):
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
            return f"{path} has {len(value)} items, not {schema['minItems']}"
        found = (find_breach(v, schema.get("items", {}), f"{path}[{k}]") for k, v in enumerate(value))
        return next(filter(None, found), "")
    if isinstance(value, dict):
        missing = [k for k in schema.get("required", ()) if k not in value]
        if missing:
            return f"{path} has no {missing[0]!r}"
        return next(filter(None, (_property(k, v, schema, path) for k, v in value.items())), "")
    return ""


def _property(key: Any, value: Any, schema: Schema, path: str) -> str:
    more = schema.get("additionalProperties", {})
    if key in schema.get("properties", {}):
        return find_breach(value, schema["properties"][key], f"{path}.{key}")
    if more is False:
        return f"{path} has {key!r}, which means nothing there"
    return find_breach(value, more, f"{path}.{key}")
