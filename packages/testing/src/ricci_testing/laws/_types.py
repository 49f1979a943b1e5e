"""Functions that all laws share, and the law of abstract types."""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import numpy as np
import numpy.typing as npt

import ricci_ir as ir
from ricci_testing._check_grads import assert_close
from ricci_testing.examples._example import Example

# A law raises ``AssertionError`` if an example breaks it. It returns the reason if there is
# nothing to check, else ``None``.
Law = Callable[[ir.Primitive, Example], str | None]

# By dtype, the relative difference allowed between results that are rounded in another order.
_ROUNDING = {
    "float64": 1e-12,
    "complex128": 1e-12,
    "float32": 2e-5,
    "complex64": 2e-5,
    "float16": 1e-2,
    "bfloat16": 6e-2,
}


def in_example_precision[R](
    law: Callable[[ir.Primitive, Example], R],
) -> Callable[[ir.Primitive, Example], R]:
    """Decorator that runs a law with 64-bit dtypes enabled for examples that need them."""

    @wraps(law)
    def run(primitive: ir.Primitive, example: Example) -> R:
        with example.precision():
            return law(primitive, example)

    return run


def assert_results_close(
    actual: np.ndarray, expected: np.ndarray, what: str, factor: float = 1.0
) -> None:
    """Assert that two results have one dtype and are equal up to rounding; discrete ones exactly.

    Args:
      actual, expected: NumPy arrays.
      what: the name of the result in the message.
      factor: multiplies the difference that is allowed for the dtype.

    Raises:
      AssertionError: if they differ by more, or in dtype.
    """
    name = np.asarray(expected).dtype.name
    tolerance = factor * _ROUNDING.get(name, 0.0)
    if actual.dtype != expected.dtype:
        raise AssertionError(f"{what}: dtype {actual.dtype}, expected {expected.dtype}")
    finite = np.abs(np.nan_to_num(_magnitudes(expected), posinf=0.0))
    scale = float(np.max(finite, initial=0.0))
    assert_close(actual, expected, tolerance * scale, tolerance, what)


def _magnitudes(x: npt.ArrayLike) -> np.ndarray:
    x = np.asarray(x)
    return np.abs(
        x.astype(np.complex128 if ir.issubdtype(x.dtype, np.complexfloating) else np.float64)
    )


def unsupported_reason(rule: Any, fun: Callable[[], Any], what: str) -> str | None:
    """The reason of an ``unsupported`` rule, or ``None`` for another rule.

    Raises:
      AssertionError: if the rule is ``unsupported`` but ``fun``, which uses it, does not raise its
        error with its reason.
    """
    if not isinstance(rule, ir.unsupported):
        return None
    try:
        fun()
    except rule.error as error:
        if rule.reason not in str(error):
            raise AssertionError(f"{what} must give {rule.reason!r}, not: {error}") from error
        return f"{what} is unsupported: {rule.reason}"
    raise AssertionError(f"{what} is unsupported ({rule.reason}), but using it raised nothing")


def function_of_operands(
    primitive: ir.Primitive, example: Example, places: Sequence[int]
) -> tuple[Callable[..., list[ir.Array]], list[Any]]:
    """The primitive as a function of the operands at ``places``, and their values."""

    def fun(*xs: ir.ArrayLike) -> list[ir.Array]:
        args = list(example.args)
        for i, x in zip(places, xs, strict=True):
            args[i] = x
        return example.bind(primitive, *args)

    return fun, [example.args[i] for i in places]


@in_example_precision
def check_abstract_type(primitive: ir.Primitive, example: Example) -> str | None:
    """Check that the abstract type equals the type of the computed result.

    Args:
      primitive: the primitive.
      example: operands and parameters of it.

    Returns:
      ``None``, or the reason why the law was not checked on the example.

    Raises:
      AssertionError: if it does not.

    Example:
      >>> import numpy as np
      >>> from ricci import lax
      >>> from ricci_testing import Example, check_abstract_type
      >>> check_abstract_type(lax.sin_p, Example((np.float32([0.5, 2.0]),)))
    """
    expected = example.result_avals(primitive)
    results = example.bind(primitive, *example.args)
    if len(results) != len(expected):
        raise AssertionError(f"{len(results)} results were computed, {len(expected)} expected")
    for i, (result, aval) in enumerate(zip(results, expected, strict=True)):
        value = np.asarray(result)
        if ir.get_aval(result) is not aval or (value.shape, value.dtype) != (
            aval.shape,
            aval.dtype,
        ):
            raise AssertionError(
                f"result {i} has type {ir.get_aval(result)} and values {value.dtype}"
                f"{list(value.shape)}, but the abstract type is {aval}"
            )
    return None
