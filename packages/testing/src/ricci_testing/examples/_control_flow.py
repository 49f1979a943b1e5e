"""Examples of control flow: branches and loops."""

from typing import Any

import numpy as np

import ricci_lax as lax
from ricci_ir import Array, ArrayLike

from ._example import Example, captured

X = np.array([0.3, -0.7, 1.2], np.float32)
Y = np.array([1.1, 0.4, -1.6], np.float32)
ROWS = np.array(
    [[0.5, -0.3, 1.0], [1.5, 0.2, -0.6], [-0.9, 0.8, 0.7], [0.1, -1.1, 0.4]], np.float32
)
INDEX = np.int32(1)


def _branches(index: Array | np.integer, x: ArrayLike, y: ArrayLike) -> tuple[Array, Array]:
    return lax.switch(
        index,
        [
            lambda x, y: (lax.mul(lax.sin(x), y), x),
            lambda x, y: (lax.exp(x), lax.mul(x, lax.cos(y))),
            lambda x, y: (y, lax.full_like(x, 2.0)),
        ],
        x,
        y,
    )


def _cell(carry: tuple[Any, Any], row: ArrayLike) -> Any:
    """A recurrence on a carry of floats and one of an integer, which has no derivative."""
    i, h = carry
    new = lax.tanh(lax.add(lax.mul(h, row), lax.convert_element_type(i, h.dtype)))
    return (lax.add(i, np.int32(1)), new), (lax.mul(new, row), i)


def _scanned(weight: ArrayLike, h: ArrayLike, rows: ArrayLike, **options: Any) -> Any:
    def body(carry: tuple[Any, Any], row: ArrayLike) -> Any:
        carry, out = _cell(carry, row)
        return (carry[0], lax.mul(carry[1], lax.cos(weight))), out

    return lax.scan(body, (np.int32(0), h), rows, **options)[1]


def _repeated(x: ArrayLike, limit: ArrayLike) -> tuple[Any, Any]:
    start: tuple[Any, Any] = (np.int32(0), x)
    return lax.while_loop(
        lambda c: lax.lt(c[0], limit),
        lambda c: (lax.add(c[0], np.int32(1)), lax.mul(c[1], lax.sin(x))),
        start,
    )


def _until_small(x: Array) -> Array:
    """A loop whose length depends on the values."""
    return lax.while_loop(
        lambda c: lax.gt(lax.reduce_max(lax.abs(c), (0,)), 0.2),
        lambda c: lax.mul(c, np.asarray(0.6, c.dtype)[()]),
        x,
    )


def _running_sums(x: Array) -> Any:
    start: Any = np.zeros(3, x.dtype)
    return lax.scan(lambda c, a: (lax.add(c, a), c), start, x)[0]


def control_flow_examples() -> dict[str, list[Example]]:
    """Examples of ``cond``, ``while`` and ``scan``."""
    options: list[dict[str, Any]] = [
        {},
        {"reverse": True},
        {"unroll": 3},
        {"unroll": True, "reverse": True},
    ]
    return {
        "platform_index": [Example((), {"platforms": (("tpu",), ("cpu",), None)})],
        "name": [captured("name", lambda x: lax.checkpoint_name(x, "a"), X)],
        # The operands are equal in programs: the derivative by the second alone is not its slope.
        "substitute": [Example((X, X), fixed=(1,)), Example((X[0], X[0]), fixed=(1,))],
        "remat2": [
            captured("remat2", lax.checkpoint(lambda x, y: lax.mul(lax.sin(lax.sin(x)), y)), X, Y)
        ],
        "cond": [
            captured("cond", lambda x, y, k=k: _branches(np.int32(k), x, y), X, Y) for k in range(3)
        ],
        "while": [
            captured("while", _repeated, X, np.int32(3), modes=("fwd",)),
            captured("while", _until_small, X, modes=("fwd",)),
        ],
        "scan": [
            *(
                captured("scan", lambda w, h, r, o=o: _scanned(w, h, r, **o), X, Y, ROWS)
                for o in options
            ),
            captured("scan", lambda w, h, r: _scanned(w, h, r), X, Y, ROWS[:0]),
            captured("scan", _running_sums, np.arange(12, dtype=np.int32).reshape(4, 3)),
        ],
    }
