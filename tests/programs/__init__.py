"""Small real programs. The names of their parameters choose their inputs, see `harness.INPUTS`."""
