"""Bars of how long srcgraph takes over the best of the others."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from runner import Row


def draw(rows: Iterable[Row], folder: Path) -> None:
    """Write one plot per suite; nothing where matplotlib is not installed."""
    try:
        import matplotlib
    except ImportError:
        return
    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "srcgraph"  # the same file for the same numbers
    rows = list(rows)
    for suite in ("own", "npbench"):
        bars = [(ratio(row), label(row), row.what) for row in rows if row.suite == suite]
        found = sorted((r, text, what) for r, text, what in bars if r is not None)
        if found:
            plot(found, folder / f"benchmarks_{suite}.svg")


def label(row: Row) -> str:
    return row.case + (", gradient" if row.what == "gradient" else "")


def ratio(row: Row) -> float | None:
    """Over the best of the others, the one that uses more threads and plain Python apart."""
    return row.ratio([p for p in row.outcomes if p not in ("srcgraph", "exact", "numba parallel")])


def plot(bars: list[tuple[float, str, str]], place: Path) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(8, 0.19 * len(bars) + 1))
    colours = ["tab:orange" if what == "gradient" else "tab:blue" for _, _, what in bars]
    axes.barh(range(len(bars)), [r - 1 for r, _, _ in bars], left=1, color=colours, height=0.7)
    axes.set_yticks(range(len(bars)), [text for _, text, _ in bars], fontsize=7)
    axes.set_xscale("log")
    axes.axvline(1.0, color="black", linewidth=0.8)
    axes.set_xlabel("time of srcgraph over the best other (left of 1: srcgraph is quicker); orange: gradients")
    axes.margins(y=0.01)
    figure.tight_layout()
    figure.savefig(place, metadata=dict.fromkeys(("Creator", "Date", "Format", "Type")))
    plt.close(figure)
