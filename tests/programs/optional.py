"""None until something is found; results that may be None."""

from dataclasses import dataclass

import numpy as np


@dataclass
class Found:
    value: float
    at: int
    near: np.ndarray | None = None


def smallest(x):
    best = None
    for v in x:
        if best is None or v < best:
            best = v
    return best


def sum_of_steps(x):
    previous = None
    total = 0.0
    for v in x:
        if previous is not None:
            total += (v - previous) ** 2
        previous = v
    return total


def first_above(x, t):
    """A tuple, or None where the loop ends."""
    for i in range(len(x)):
        if x[i] > t:
            return i, x[i] * t
    return None


def falls_off_the_end(x, a):  # noqa: RET503
    if len(x) > 1:
        return a * x[1]


def largest_pair(x):
    best = None
    for i, v in enumerate(x):
        if best is None or best[1] < v:
            best = (i, v)
    return best


def until_it_settles(a):
    before = None
    steps = 0
    while before is None or abs(a - before) > 1e-6:
        before = a
        a = 0.5 * (a + 2.0 / a)
        steps += 1
    return a, steps


def last_iterate(x, n):
    """An array that is None at first, and another name's then."""
    previous = None
    for i in range(n):
        current = x * (i + 1.0)
        if previous is not None:
            current += 0.5 * previous
        previous = current
    return previous


def argument_or_none(x, n):
    chosen = None
    if n > 1:
        chosen = x
    if chosen is not None:
        chosen[:1] = 2.0
    return chosen


def used_where_it_may_be_none(x):
    best = None
    for v in x:
        if v > 0.9:
            best = v
    return best * 2.0


def attribute_of_none(x):
    best = None
    for v in x:
        if v > 0.9:
            best = v
    return best.real


def or_else(x, ad):
    best = None
    for v in x:
        if v > 0.9:
            best = v
    return (best or ad) + 1.0, not best


def compared(x, ad):
    best = None
    for v in x:
        if v > 0.9:
            best = v
    if best == 7.0 or ad in (best, 7.0) or best != best:
        ad += 1.0
    return best is None, ad


def _scaled(a, by=None):
    if by is None:
        return a
    return a * by


def passed_on(x, ad):
    by = None
    for v in x:
        if v > 0.9:
            by = v
    return _scaled(ad, by)


def _find(x, t):
    for v in x:
        if v > t:
            return v
    return None


def returned_by_a_call(x, t, ad):
    found = _find(x, t)
    again = _find(x, 10.0)
    if again is None and found is not None:
        return found * ad
    return ad


def depth(n):
    if n <= 0:
        return None
    inner = depth(n - 1)
    return 1 if inner is None else inner + 1


def in_fields(x):
    best = at = None
    for i, v in enumerate(x):
        if v > 0.9:
            best, at = v, i
    return {"best": best, "at": at}


def object_or_none(x):
    best = None
    for i, v in enumerate(x):
        if best is None or v > best.value:
            best = Found(v, i)
        if best.at > 1:
            best.near = x[best.at - 1 : best.at + 1]
    return best


def dict_made_by_the_first(x):
    seen = None
    for v in x:
        if seen is None:
            seen = {"n": 0, "most": v}
        else:
            seen["n"] += 1
            seen["most"] = max(seen["most"], v)
    return seen


def nonlocal_best(x):
    best = None

    def offer(v):
        nonlocal best
        if best is None or v > best:
            best = v

    for v in x:
        offer(v)
    return best


def unbound_none_or_number(x):
    if len(x) > 2:
        last = None
        for v in x:
            if last is not None and v < last:
                return last
            last = v
    return last


def sum_from_none(x):
    total = None
    for v in x:
        if total is None:
            total = v
        else:
            total += v
    return total


def appended(x):
    best = None
    for v in x:
        if v > 0.9:
            best = v
    out = [1.0]
    out.append(best)
    print(best, isinstance(best, float))
    return out


def asserted(x):
    best = None
    for v in x:
        if v > 0.9:
            best = v
    assert best is not None, "nothing found"
    return best * best


def inside_a_try(x, ad):
    best = None
    try:
        for v in x:
            if best is not None and v > best:
                raise ValueError
            best = v
    except ValueError:
        return best
    return None if best is None else best + ad


def told_by_a_lazy_test(x):
    """What the first operand of `and` says is known in the branch, whatever the second is."""
    best = None
    for v in x:
        if v > 0.9:
            best = v
    if best is not None and best > x[0]:
        raise ValueError(f"{best} is more")
    return best
