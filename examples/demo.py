"""Fit a seasonal model to the weekly CO2 record of Mauna Loa, with a gradient made from its source.

`loss` is plain Python: exponential smoothing with a level, a trend and 52 seasonal values that it
changes in place. Weeks without a measurement are skipped, a new year stretches the whole seasonal
array, and a model that runs away is given up early. SciPy fits its 58 parameters to the years
before 1990, with the gradient srcgraph derives from that same function; what was measured later
shows what the fit is worth. Every number printed is measured while this runs.

    python examples/demo.py [--output FOLDER]
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # SciPy's steps are on 58 numbers: a second thread would only wait

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numba
import numpy as np
from matplotlib.figure import Figure
from scipy.optimize import OptimizeResult, approx_fprime, minimize
from statsmodels.datasets import co2 as mauna_loa

import srcgraph as sg

GIVE_UP = 50.0  # ppm: a forecast as wrong as this has run away
SPLIT = 1990  # the first year the fit does not see
START = {"alpha": 0.5, "beta": 0.5, "gamma": 0.05, "growth": 1.0, "level": 315.0, "trend": 1.0}
UNITS = {"beta": "1/year", "growth": "per year", "level": "ppm", "trend": "ppm/year"}
BOUNDS = [(0.0, 1.0), (0.0, 1.0), (0.0, 1.0), (0.9, 1.1)] + [(None, None)] * 54


def loss(x, co2, week, forecast):
    """Mean squared error of forecasts made a week ahead; they are stored in `forecast`."""
    alpha, beta, gamma, growth, level, trend = x[0], x[1], x[2], x[3], x[4], x[5]
    season = x[6:].copy()
    total = 0.0
    seen = 0
    for t in range(len(co2)):
        k = week[t]
        if k == 0:  # a new year: the seasons' mean belongs to the level, and their swing grows
            mean = np.mean(season)
            level += mean
            season -= mean
            season *= growth
        level += trend / 52.0
        expected = level + season[k]
        forecast[t] = expected
        if np.isnan(co2[t]):  # nothing was measured
            continue
        error = co2[t] - expected
        total += error * error
        seen += 1
        if abs(error) > GIVE_UP:
            total += GIVE_UP * GIVE_UP * (len(co2) - t)
            break
        level += alpha * error
        trend += beta * error
        season[k] += gamma * error
    return total / seen


def load() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Dates in years, CO2 in ppm (NaN where nothing was measured), weeks of the year from 0 to 51."""
    record = mauna_loa.load_pandas().data["co2"]
    day = record.index.day_of_year.to_numpy() - 1
    year = record.index.year.to_numpy() + day / 365.25
    return year, record.to_numpy(), np.minimum(day // 7, 51).astype(np.int64)


def rmse(forecast: np.ndarray, co2: np.ndarray, weeks: np.ndarray) -> float:
    """Root mean square error over those weeks that were measured."""
    return float(np.sqrt(np.nanmean((forecast - co2)[weeks] ** 2)))


def timed(call: Callable) -> tuple[Any, float]:
    """What a call returns, and its seconds."""
    begin = time.perf_counter()
    result = call()
    return result, time.perf_counter() - begin


def medians(calls: dict[str, Callable], rounds: int = 60) -> dict[str, float]:
    """Median seconds of each call; they take turns, so that all see the same machine."""
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            seconds[name].append(timed(call)[1])
    return {name: statistics.median(s) for name, s in seconds.items()}


def disagreement(gradient: np.ndarray, f: Callable, x: np.ndarray, h: float = 1e-4) -> float:
    """Largest relative error against central differences of fourth order.

    Components below a ten-thousandth of the largest are compared with that: rounding hides them.
    """
    steps = h * np.eye(len(x))
    slope = np.array([8.0 * (f(x + s) - f(x - s)) - (f(x + 2.0 * s) - f(x - 2.0 * s)) for s in steps]) / (12.0 * h)
    size = np.abs(slope)
    return float(np.max(np.abs(gradient - slope) / np.maximum(size, 1e-4 * size.max())))


def print_fit(points: Sequence[np.ndarray], errors: dict[str, list[float]]) -> None:
    """A table: errors, named parameters, and the size of the seasons, before and after."""
    print(f"  {'':34}{'before':>10}{'after':>10}")
    for name, found in errors.items():
        print(f"  {name:34}{found[0]:10.3f}{found[1]:10.3f}  ppm")
    for k, name in enumerate(START):
        print(f"  {name:34}{points[0][k]:10.4f}{points[1][k]:10.4f}  {UNITS.get(name, '')}".rstrip())
    swing = [np.ptp(x[6:]) for x in points]
    print(f"  {'seasons, highest - lowest of 52':34}{swing[0]:10.4f}{swing[1]:10.4f}  ppm\n")


def fit_model(model: Callable, gradient: Callable, x0: np.ndarray, args: tuple) -> OptimizeResult:
    """Fit with the gradient; once more with SciPy's own finite differences, to compare."""
    how = {"method": "L-BFGS-B", "bounds": BOUNDS, "options": {"maxfun": 100_000}}
    fit, seconds = timed(lambda: minimize(gradient, x0, args, jac=True, **how))
    other, longer = timed(lambda: minimize(model, x0, args, jac="2-point", **how))
    print("Fit by L-BFGS-B")
    for name, r, s in (("with the gradient", fit, seconds), ("2-point differences", other, longer)):
        print(f"  {name:20}{r.nfev:7} evaluations {s:6.2f} s   loss {r.fun:.6f} ppm^2 after {r.nit} steps")
    print()
    return fit


def compare_speed(model: Callable, gradient: Callable, x: np.ndarray, args: tuple) -> None:
    """Print median times, and as multiples of the compiled function's, which checks indices as Python does."""
    by_hand = numba.njit(loss)
    by_hand(x, *args)
    seconds = medians(
        {
            "compiled by srcgraph": lambda: model(x, *args),
            "same source, numba.njit (no index checks)": lambda: by_hand(x, *args),
            "plain Python": lambda: loss(x, *args),
            "value and gradient by srcgraph": lambda: gradient(x, *args),
            "2-point differences of the compiled one": lambda: approx_fprime(x, model, 1e-8, *args),
        }
    )
    print("One evaluation, median of 60")
    unit = seconds["compiled by srcgraph"]
    for name, s in seconds.items():
        print(f"  {name:42}{s * 1e6:10.1f} us{s / unit:9.2f} x")
    *_, slope, differences = seconds.values()
    print(f"  so differences, {len(x) + 1} evaluations, take {differences / slope:.0f} times as long as the gradient\n")


def check_gradient(model: Callable, gradient: Callable, points: dict[str, np.ndarray], args: tuple) -> None:
    """Print how far the gradient is from central differences, also where the loop is left early."""
    print("Gradient against central differences, largest relative error of 58 components")
    for name, x in points.items():
        forecast = np.zeros_like(args[0])
        model(x, *args[:2], forecast)
        found = disagreement(gradient(x, *args)[1], lambda p: model(p, *args), x)
        print(f"  {name:24}{found:9.1e}   after {np.count_nonzero(forecast)} of {len(forecast)} weeks")


def print_tape(rows: Sequence) -> None:
    """What the gradient saves on its way forward."""
    print("\nSaved for the reverse sweep; n parameters, m weeks")
    for row in rows:
        if row.total:
            print(f"  {row.variable:8}{row.place:13}{row.choice:7}{row.total} bytes: {row.reason}")


def draw(path: Path, year: np.ndarray, co2: np.ndarray, forecasts: dict[str, np.ndarray], x: np.ndarray) -> None:
    """The years the fit did not see, errors in years that it did, and the fitted seasons."""
    figure = Figure(figsize=(10.5, 7.5), layout="constrained")
    top, left, right = figure.subplot_mosaic([["top", "top"], ["left", "right"]]).values()
    late, some = year >= SPLIT - 4, (year >= SPLIT - 8) & (year < SPLIT)
    top.plot(year[late], co2[late], ".", color="0.3", ms=2.5, label="measured at Mauna Loa", zorder=3)
    top.axvspan(SPLIT, year[-1], color="0.94", lw=0, label="not known to model or fit")
    for color, (name, forecast) in zip(("tab:orange", "tab:blue"), forecasts.items(), strict=True):
        far, near = rmse(forecast, co2, year >= SPLIT), rmse(forecast, co2, year < SPLIT)
        top.plot(year[late], forecast[late], color=color, lw=1.2, label=f"model {name} the fit, RMSE {far:.1f} ppm")
        label = f"{name}: RMSE {near:.2f} ppm since 1958"
        left.plot(year[some], (forecast - co2)[some], ".-", color=color, lw=0.7, ms=2.0, label=label)
    for when, style in ((1958, "-"), (SPLIT, "--")):
        seasons = x[6:] * x[3] ** (when - 1958)
        right.plot(np.arange(52) + 0.5, seasons, style, color="tab:blue", label=f"after the fit, in {when}")
    right.axhline(0.0, color="tab:orange", label="before the fit")
    top.set(xlabel="year", ylabel="CO$_2$ (ppm)", title=f"{SPLIT} to 2001, forecast from what was measured before")
    left.set(xlabel="year", ylabel="forecast - measured (ppm)", title="One week ahead, in the last of the fitted years")
    right.set(xlabel="week of the year", ylabel="seasonal part (ppm)", title="The seasons: 52 of the 58 parameters")
    for panel in (top, left, right):
        panel.grid(color="0.9", lw=0.6)
        panel.legend(frameon=False, fontsize=9)
    left.set_ylim(top=1.35 * left.get_ylim()[1])
    figure.savefig(path, dpi=130)


def main() -> None:
    parser = argparse.ArgumentParser(description="Fit a model of CO2 at Mauna Loa with a srcgraph gradient.")
    parser.add_argument("--output", type=Path, default=Path("demo_output"), help="folder for the files written")
    output = parser.parse_args().output
    output.mkdir(parents=True, exist_ok=True)
    year, co2, week = load()
    fitted, later = year < SPLIT, year >= SPLIT
    args = (np.where(fitted, co2, np.nan), week, np.zeros_like(co2))
    print(f"CO2 at Mauna Loa: {len(co2)} weeks, {np.isnan(co2).sum()} without a measurement; fitted before {SPLIT}")

    model, gradient = sg.compile(loss), sg.value_and_grad(loss)
    x0 = np.concatenate([list(START.values()), np.zeros(52)])
    once = [timed(lambda f=f: f(x0, *args))[1] for f in (model, gradient)]
    print(f"Compiled in {once[0]:.1f} s, its gradient in {once[1]:.1f} s\n")
    fit = fit_model(model, gradient, x0, args)

    forecasts = {"before": np.zeros_like(co2), "after": np.zeros_like(co2)}
    for x, forecast in zip((x0, fit.x), forecasts.values(), strict=True):
        model(x, *args[:2], forecast)
    weeks = {"RMSE a week ahead, fitted years": fitted, f"RMSE of {SPLIT} to 2001, unseen": later}
    print_fit((x0, fit.x), {n: [rmse(f, co2, w) for f in forecasts.values()] for n, w in weeks.items()})
    compare_speed(model, gradient, x0, args)
    runaway = np.where(np.arange(len(x0)) == 0, 2.3, x0)
    check_gradient(model, gradient, {"before the fit": x0, "after the fit": fit.x, "alpha = 2.3": runaway}, args)

    inspection = sg.inspect(gradient, x0, *args)
    print_tape(inspection.tape)
    inspection.save_html(output / "gradient.html")
    draw(output / "fit.png", year, co2, forecasts, fit.x)
    print(f"\nWrote {output / 'fit.png'} and {output / 'gradient.html'}")


if __name__ == "__main__":
    main()
