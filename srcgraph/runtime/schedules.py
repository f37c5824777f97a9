"""Schedules of checkpoints for generated code: the functions of `srcgraph.ir.ops.schedules`, compiled."""

from __future__ import annotations

from numba import njit

from srcgraph.ir.ops import schedules

steps_ahead = njit(error_model="numpy", cache=True)(schedules.steps_ahead)
place_of_state = njit(error_model="numpy", cache=True)(schedules.place_of_state)
