"""Interval arithmetic on integers, with infinite ends."""

from math import inf

__all__ = ["Interval", "interval_of_operation", "interval_product", "interval_sum"]

# The least and the greatest value: ints, or infinities.
type Interval = tuple[float, float]


def interval_sum(x: Interval, y: Interval) -> Interval:
    """The interval of sums."""
    return x[0] + y[0], x[1] + y[1]


def _end_product(x: float, y: float) -> float:
    return 0 if x == 0 or y == 0 else x * y  # a value is finite, so 0 times it is 0


def interval_product(x: Interval, y: Interval) -> Interval:
    """The interval of products."""
    ends = [_end_product(a, b) for a in x for b in y]
    return min(ends), max(ends)


def _end_quotient(x: float, y: float) -> float:
    if abs(y) == inf:
        return 0 if x == 0 else 0 if (x > 0) == (y > 0) else -1
    if abs(x) == inf:
        return x if y > 0 else -x
    return x // y


def _quotient(x: Interval, y: Interval) -> Interval:
    if y[0] <= 0 <= y[1]:  # the divisor may be 0, for which there is no bound
        return -inf, inf
    ends = []
    for a in x:
        for b in y:
            if abs(a) == inf and abs(b) == inf:
                # The quotient may be anything between 0 and the infinity of its sign.
                sign = 1 if (a > 0) == (b > 0) else -1
                ends += [0 if sign > 0 else -1, sign * inf]
            else:
                ends.append(_end_quotient(a, b))
    return min(ends), max(ends)


def _remainder(x: Interval, y: Interval) -> Interval:
    if y[0] > 0:
        high = y[1] - 1
        return 0, min(high, x[1]) if x[0] >= 0 else high
    if y[1] < 0:
        return y[0] + 1, 0
    return -inf, inf


_operations = {
    "floordiv": _quotient,
    "mod": _remainder,
    "max": lambda x, y: (max(x[0], y[0]), max(x[1], y[1])),
    "min": lambda x, y: (min(x[0], y[0]), min(x[1], y[1])),
}


def interval_of_operation(name: str, x: Interval, y: Interval) -> Interval:
    """The interval of ``floordiv``, ``mod``, ``max`` or ``min`` of values in two intervals."""
    return _operations[name](x, y)
