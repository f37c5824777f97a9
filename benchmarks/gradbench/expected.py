"""Write down what GradBench's own tool, derivatives by hand in C++, gives for the small inputs.

    python -m gradbench.expected GRADBENCH

GRADBENCH is a checkout of https://github.com/gradbench/gradbench in which ``make -C cpp`` and ``make -C tools/manual``
have been run. For `particle` and `saddle`, which that tool does not have, its evals hold the figures.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from gradbench import inputs
from gradbench.manual import asked

FILE = Path(__file__).parent / "data" / "expected.json"
SOURCE = "https://github.com/gradbench/gradbench at f26651a7: tools/manual; particle, saddle: evals/*/run.py"
FUNCTIONS = {
    "hello": ("square", "double"),
    "kmeans": ("cost", "dir"),
    **dict.fromkeys(("gmm", "ba", "ht", "lstm"), ("objective", "jacobian")),
    **dict.fromkeys(("lse", "llsq", "det", "ode"), ("primal", "gradient")),
}
VARIANTS = ("ff", "fr", "rf", "rr")


def main(checkout: Path) -> None:
    found: dict[str, Any] = {name: [] for name in inputs.SMALL}
    for name, functions in FUNCTIONS.items():
        for sizes in inputs.SMALL[name]:
            given = inputs.made(name, sizes)
            found[name].append({f: rounded(asked(checkout, name, f, given)[0]) for f in functions})
    found["particle"] = [dict.fromkeys(VARIANTS, 0.2071918746486116)]
    found["saddle"] = [dict.fromkeys(VARIANTS, [8.246324826140356e-06] * 4)]
    rows = [f"{json.dumps(name)}: {json.dumps(cases)}" for name, cases in found.items()]
    FILE.write_text("{\n" + ",\n".join([f'"source": {json.dumps(SOURCE)}', *rows]) + "\n}\n")


def rounded(x: Any) -> Any:
    """To 12 digits."""
    if isinstance(x, dict):
        return {k: rounded(v) for k, v in x.items()}
    if isinstance(x, list):
        return [rounded(v) for v in x]
    return float(f"{x:.12g}") if isinstance(x, float) else x


if __name__ == "__main__":
    main(Path(sys.argv[1]))
