"""Errors whose class differs from JAX's on purpose, by their names."""

from typing import NamedTuple

# Errors that JAX raises from inside: Ricci then raises a TypeError or a ValueError.
ACCIDENTAL = {
    "AttributeError",
    "AssertionError",
    "IndexError",
    "KeyError",
    "UnboundLocalError",
    "ZeroDivisionError",
    "MLIRError",
    "JaxRuntimeError",
}


class Expected(NamedTuple):
    """A call, or the beginning of one, with the outcomes of both sides, and why they differ."""

    call: str
    ours: str | None
    theirs: str | None
    reason: str


_EARLY = "found before anything is lowered, as a TypeError"
_ORDER = "of two mistakes the other is found first"

EXPECTED: list[Expected] = [
    Expected("lax.conj(None)", "TypeError", "ValueError", "what is no array is a TypeError"),
    Expected("lax.random_gamma_grad(F, G)", "TypeError", "ValueError", "as for igamma"),
    Expected("lax.reshape(F, (4,))", "TypeError", "ValueError", _EARLY),
    Expected("lax.squeeze('a'", "TypeError", "ValueError", "what is no array is a TypeError"),
    Expected("lax.dot('a'", "TypeError", "ValueError", "what is no array is a TypeError"),
    Expected("lax.slice(F, (0,), (1,))", "TypeError", "ValueError", "as for other wrong ranks"),
    Expected("lax.index_take(F, (IDX, IDX)", "ValueError", "TypeError", "the numbers differ"),
    Expected("lax.conv_general_dilated(", "ValueError", "TypeError", "as for lhs_dilation"),
    Expected("lax.conv_shape_tuple((3, 2, 5)", None, "AssertionError", "batches need not divide"),
    Expected("lax.conv_transpose_shape_tuple(", "ValueError", None, "strides of another rank"),
    Expected("lax.conv_general_shape_tuple(", None, "TypeError", "strides beyond the rank"),
    Expected("lax.reduce_window(F, 0.0, lax.add, (2, 2)", "TypeError", "ValueError", _ORDER),
    Expected("lax.rng_uniform(1j", "TypeError", "ValueError", _EARLY),
]

# Functions that are written with others: the message may name the other.
_WRITTEN_WITH: dict[str, tuple[str, ...]] = {"round": ("RoundingMethod",)}


def difference(call: str, ours: str | None, theirs: str | None) -> str | None:
    """Return why the outcomes of a call differ, or None where they should not."""
    for row in EXPECTED:
        if call.startswith(row.call) and (ours, theirs) == (row.ours, row.theirs):
            return row.reason
    return None


def namesakes(function: str) -> tuple[str, ...]:
    """Return the names of which a message about a function must hold one."""
    name = function.rpartition(".")[2]
    return (name, *_WRITTEN_WITH.get(name, ()))
