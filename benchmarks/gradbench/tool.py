"""Speak GradBench's protocol: one JSON message a line on stdin, one response a line on stdout.

    python -m gradbench.tool

The protocol is described in CONTRIBUTING.md of https://github.com/gradbench/gradbench. The first call, which compiles,
is timed apart as "compile".
"""

from __future__ import annotations

import importlib
import json
import sys
import time
import traceback
from typing import Any

from gradbench.inputs import MAKERS
from gradbench.protocol import Function


def main() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        print(json.dumps({"id": message["id"], **response(message)}), flush=True)


def response(message: dict[str, Any]) -> dict[str, Any]:
    match message["kind"]:
        case "start":
            return {"tool": "srcgraph"}
        case "define":
            return {"success": message["module"] in MAKERS}
        case "evaluate":
            try:
                module = importlib.import_module(f"gradbench.{message['module']}")
                return {"success": True, **evaluated(module.FUNCTIONS[message["function"]], message["input"])}
            except Exception:
                return {"success": False, "error": traceback.format_exc()}
    return {}


def evaluated(function: Function, given: Any) -> dict[str, Any]:
    """The output, and how long it took each time."""
    runs, seconds = (given.get("min_runs", 1), given.get("min_seconds", 0)) if isinstance(given, dict) else (1, 0)
    arguments = function.read(given)
    result, took = timed(function, arguments)
    timings, total = [{"name": "compile", "nanoseconds": took}], 0
    while len(timings) <= runs or total < 1e9 * seconds:
        result, took = timed(function, arguments)
        timings.append({"name": "evaluate", "nanoseconds": took})
        total += took
    return {"output": function.write(result), "timings": timings}


def timed(function: Function, arguments: tuple[Any, ...]) -> tuple[Any, int]:
    start = time.perf_counter_ns()
    result = function.call(*arguments)
    return result, time.perf_counter_ns() - start


if __name__ == "__main__":
    main()
