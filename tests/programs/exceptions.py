"""Exceptions that are caught: what is done where Python would have raised."""

import math

import numpy as np


def quotient_or_zero(a, c, flag):
    try:
        return a / (c + 0.4)
    except ZeroDivisionError:
        return -1.0


def nothing_raised(x, n):
    """No handler can be reached: the statement is gone."""
    done = 0
    try:
        y = np.exp(x) * n
    except Exception as error:
        print("this cannot be", error)
        raise
    else:
        done += 1
    finally:
        done += 10
    return y, done


def item_or_default(x, n):
    try:
        y = x[n]
    except IndexError:
        y = np.float64(-1.0)
    else:
        y *= 2.0
    return y


def which_of_two(a, c, n):
    total = 0.0
    try:
        total += math.log(n - 1.0)
        total += a / (n - 2)
    except ValueError:
        total -= 100.0
    except (ZeroDivisionError, IndexError):
        total -= 10.0 * c
    return total


def leave_a_loop(x, n):
    """The exception ends the loop; what was stored before it stays."""
    done = -1
    try:
        for k in range(n):
            done = k
            if x[k] > 1.3:
                raise ValueError("too big")
            x[k] = 1.0 / x[k] if k else math.sqrt(x[k])
    except (IndexError, ValueError):
        return -done
    return done


def skip_bad_ones(s, n):
    out = np.zeros(len(s))
    bad = 0
    for i in range(len(s)):
        try:
            out[i] = math.log(s[i]) * n
        except ValueError:
            bad += 1
            continue
        finally:
            bad += 10
    return out, bad


def newton_with_restart(a, n):
    x = 0.0
    steps = 0
    for _ in range(n):
        steps += 1
        try:
            step = (x * x - a) / (2 * x)
        except ZeroDivisionError:
            x = x + 0.5
            continue
        x -= step
        if abs(step) < 1e-10:
            break
    return x, steps


def inner_and_outer(a, c, n):
    r = 0.0
    try:
        r += 1.0
        try:
            r += a / (n - 1)
            r += math.sqrt(c + n)
        except ZeroDivisionError:
            r += 100.0
            r += a / (c + 0.4)
        else:
            r += 1000.0
        r += math.log(n - 1.5)
    except (ValueError, ZeroDivisionError):
        r = -r
    finally:
        r *= 2.0
    return r


def jitter_until_it_works(q, n):
    jitter = 0.0
    for _ in range(6):
        try:
            factor = np.linalg.cholesky(q @ q.T - 0.01 * n * np.eye(len(q)) + jitter * np.eye(len(q)))
            break
        except np.linalg.LinAlgError:
            jitter = 10.0 * jitter + 1e-2
    else:
        raise RuntimeError("not positive definite")
    return factor, jitter


def other_exception(a, n):
    try:
        return math.log(a * (n - 1))
    except ValueError as error:
        raise ArithmeticError(f"no logarithm for n = {n}") from error


def key_or_default(a, n):
    known = {"slow": 1.0, "fast": 2.0}
    try:
        rate = known["medium"]
    except KeyError:
        rate = 0.5 * n
    return a * rate


def stored_before(x, n):
    """What the body did before the exception is seen by the handler."""
    try:
        x[0] += 1.0
        x[n] += 1.0
        x[1] += 1.0
    except IndexError:
        x[-1] = 99.0
    return np.sum(x)


def unbound_after(a, n):
    try:
        y = a / (n - 1)
        z = y + 1.0
    except ZeroDivisionError:
        pass
    return z


def until_it_raises(x, a):
    i = 0
    try:
        while True:
            x[i] /= a
            i += 1
    except IndexError:
        return i


def raising_test(x, n):
    i = 0
    try:
        while x[i] < 0.5 + n:
            i += 1
    except IndexError:
        i = -i
    return i


class Unsuitable(ValueError):
    pass


def own_class(a, n):
    try:
        if n > 2:
            raise Unsuitable("big")
        if n > 1:
            raise KeyError(n)
        y = a
    except KeyError:
        y = 2.0 * a
    except ValueError:
        y = 3.0 * a
    return y


def finally_before_return(x, n):
    try:
        return 1.0 / (n - 1)
    except ZeroDivisionError:
        return 0.0
    finally:
        x[:1] = 5.0


def over_a_tuple(a, n):
    r = 0.0
    try:
        for d in (a, n - 1.0, 2.0):
            r += 1.0 / d
    except ZeroDivisionError:
        r -= 9.0
    return r, d


def different_lengths(x, m):
    try:
        return x + m[:2, 0]
    except ValueError:
        return np.zeros(1)


def list_until_zero(a, n):
    out = []
    try:
        for k in range(n):
            out.append(a / (2 - k))
    except ZeroDivisionError:
        out.append(-a)
    return np.array(out)


def asserted(c, n):
    try:
        assert c + n > 0.5, f"{c} is too small"
        return math.sqrt(c + n)
    except AssertionError:
        return c * c


def _risky(x, i, a):
    x[0] = 0.5 * a
    if i > 4:
        raise KeyError("i")
    for k in range(2):
        if k > 0 and i > 1:
            x[1] = x[i + k]
    return 1.0 / (a - 0.7)


def raised_in_a_function(x, n, a):
    """What the function did to the array before it raised is seen."""
    try:
        y = _risky(x, n, a + (n % 2))
        y += 1.0
    except ZeroDivisionError:
        return -1.0, np.sum(x)
    except (IndexError, KeyError):
        return -2.0, np.sum(x)
    return y, np.sum(x)


def function_between_two(x, n, a):
    r = 0.0
    try:
        try:
            y = _risky(x, n, a + (n % 2))
            y += 1.0
        except IndexError:
            y = -3.0
            r += 1.0
        r += 10.0
    except ZeroDivisionError:
        r += 100.0
        y = 0.0
    except KeyError:
        y = 1.0
        r += 1000.0
    return y, r


def comprehension_raises(a, n):
    try:
        return sum([a / (k - 2.0) for k in range(n)], 0.0)
    except ZeroDivisionError:
        return -1.0


def factorial_or_zero(n, k):
    try:
        return math.factorial(n - 1) + math.comb(k, n)
    except ValueError:
        return 0


def lambda_raises(a, n):
    root = lambda v: math.sqrt(v)  # noqa: E731
    try:
        return root(a) + root(a - n)
    except ValueError:
        return 0.5 * a


class _Model:
    def __init__(self, least):
        self.least = least
        self.bad = 0

    def log(self, v):
        if v < self.least:
            self.bad += 1
            raise ValueError(f"{v} is too small")
        return math.log(v)


def method_raises(a, b, c):
    """The object that the method changed before it raised stays changed."""
    model = _Model(0.5)
    total = 0.0
    for v in (a, c, 2.0 * b, -1.0):
        try:
            total += model.log(v)
        except ValueError:
            total -= 1.0
    return total, model.bad


def part_of_an_expression(a, n):
    try:
        r = 1.0 / (n - 1) if n < 5 else math.sqrt(-a)
        large = a > 0.0 and 1.0 / n > 0.4
    except ArithmeticError:
        return 7.0, False
    except ValueError:
        return 8.0, True
    return r, large


def solve_or_least_squares(q, x):
    try:
        return np.linalg.solve(q - q[0], x)
    except np.linalg.LinAlgError:
        return np.linalg.lstsq(q - q[0], x, rcond=None)[0]


def _down(n):
    try:
        if n == 0:
            return 1 // n
        return _down(n - 1) + 1
    except ZeroDivisionError:
        return 5


def recursion_that_catches(n):
    """Each level has a handler of its own; the innermost one catches."""
    return _down(n)


def finally_before_outer_handler(x, n):
    """What is in finally runs before the handler around it."""
    a = 0
    try:
        try:
            a = 1
            x[n] = 3.0
            a = 2
        finally:
            a += 10
            x[:1] = a
    except IndexError:
        a += 100
    return a


def finally_in_every_iteration(x, n):
    a = 0.0
    left = 0
    for k in range(3):
        try:
            try:
                left += 1
                a += x[k + n] + 1.0 / (n - 1)
            finally:
                left -= 1
                if n > 0:
                    x *= 0.5
        except IndexError:
            a += 100.0
        except ZeroDivisionError:
            a -= 5.0
    return a, left


def finally_raises_another(x, n):
    """An exception in finally takes the place of the first; the last finally runs after both."""
    a = 0
    try:
        try:
            try:
                x[n] = 1.0
            finally:
                a += 1
                x[:1] = 1.0 / (n - 2)
        finally:
            a += 10
    except IndexError:
        a += 100
    except ZeroDivisionError:
        a += 1000
    return a


def stored_then_raised(x, n, a):
    """What was stored before an exception is seen by the caller."""
    for k in range(len(x)):
        x[k] += a
        if k == n:
            x[0] = 7.0
            x[:] = x[::-1]
            raise ValueError(f"stopped at {k}")
    return x.sum()


def stored_in_either(x, y, n):
    u = x if n % 2 else y
    u[:1] = 3.0
    if n > 1:
        u[-1:] *= 2.0
        raise ValueError
    return u


def stored_then_read_past_the_end(x, n):
    x[0] = 5.0 * n
    return x[len(x)]


def bound_on_either_path(x, n):
    """A name bound by the handler, and by what runs without an exception."""
    try:
        x[n] = 1.0
    except IndexError:
        y = 3.0
    else:
        y = 2.0
    return y


def finally_binds(x, n):
    try:
        x[n] = 1.0
    finally:
        x[:1] = 5.0
        y = 2.0 / (n - 2)
    return y


def finally_before_it_leaves(x, n, a):
    """What two blocks store is seen after the exception, what they print is written."""
    for i in range(4):
        try:
            try:
                x[i] += a / (n - i)
            finally:
                x[:1] += 9.0
                print("at", i)
        finally:
            if i > 1:
                x[-1:] = x[:1] + 1.0
    return x


def finally_after_a_raise(x, n):
    try:
        if n > 1:
            raise ValueError(f"no {n}")
        x[:1] = n
    finally:
        x[-1:] = -1.0
        print(x[-1], n)
    return x


def _set(x, n):
    try:
        x[n] = 1.0
    finally:
        x[:1] += 2.0


def finally_in_a_called_function(x, n):
    a = 0
    try:
        _set(x, n)
    except IndexError:
        a = 1
    return a


def raised_again(a, n):
    try:
        if n > 1:
            raise ValueError("too many")
        return a * n
    except ValueError:
        if n > 2:
            raise
        return -a


def what_was_caught(n):
    total = 0
    for k in range(n):
        try:
            if k == 1:
                raise KeyError(k)
            if k == 2:
                raise ValueError(k + 5)
            total += 10 // (k - 3)
        except (KeyError, ValueError) as e:
            total += e.args[-1]
            print(type(e).__name__, e, repr(e), len(e.args))
        except ZeroDivisionError as e:
            print("zero:", e)
            raise
    return total


def raised_from_another(n):
    try:
        return [1, 2][n]
    except IndexError as err:
        raise ValueError(f"no item {n}: {err}") from err


def handlers_around_handlers(n):
    try:
        try:
            if n > 1:
                raise KeyError("k")
            if n == 1:
                raise ValueError(f"v {n}")
        except KeyError:
            print("inner")
            raise
        except ValueError:
            raise
    except (KeyError, ValueError) as e:
        print("outer", e)
        return -1
    return n


def tried_again(n):
    k = 0
    while True:
        try:
            k += 1
            if k < n:
                raise RuntimeError("again", k)
            break
        except RuntimeError as e:
            print(e)
            if k > 2:
                raise
    return k


class _Own(ValueError):
    def __str__(self):
        return "own"


def raised_again_as_it_is(n):
    try:
        if n == 1:
            raise _Own(n)
        return n
    except _Own as e:
        raise e


def texts_chosen(a, n):
    kind = "none"
    if n == 1:
        kind = "one"
    unit = "m" if n % 2 else "cm"
    label = "%s [%s]" % (kind, unit)  # noqa: UP031
    print(label, "/".join([kind, unit]), kind + unit, f"{kind:>6}{unit!r} {a:.2f}")
    print(len(kind), kind.upper(), kind * 2)
    if label == "one [m]":
        raise ValueError(f"bad {kind}: {n}")
    return a


def chosen_on_one_path(a, n):
    if n > 1:
        f = np.sin if a > 1 else np.cos
    elif n == 0:
        f = np.exp
    return f(a)


def swapped_until_it_leaves(x, b):
    y = x * -0.2
    try:
        x, y = y, x
        if b > y[0]:
            raise ValueError("no")
        x[0] *= 2.0
    except ValueError:
        b = 1.0
    finally:
        x, y = y, x
    return x[0] + y[-1] + b
