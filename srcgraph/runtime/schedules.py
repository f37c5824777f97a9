"""Schedules of checkpoints for generated code: the functions of `srcgraph.ir.ops.schedules`, compiled."""

from __future__ import annotations

from srcgraph.ir.ops import schedules
from srcgraph.runtime.helpers import helper

steps_ahead = helper(schedules.steps_ahead)
place_of_state = helper(schedules.place_of_state)
