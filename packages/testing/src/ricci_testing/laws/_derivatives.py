"""The laws of derivatives: jvp, vjp, linearize, transpose, checkpoint, and second derivatives."""

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np

import ricci_autodiff as ad
import ricci_ir as ir
from ricci_autodiff import vjp
from ricci_ir import Primitive
from ricci_lax import checkpoint
from ricci_testing._check_grads import (
    assert_close,
    check_flat_jvp,
    check_flat_vjp,
    directions,
    is_inexact,
    pairing,
)
from ricci_testing.examples._example import Example

from ._types import (
    assert_results_close,
    function_of_operands,
    in_example_precision,
    unsupported_reason,
)

_NO_DIFFERENTIABLE = "no differentiable operand"
_NOT_SMOOTH = "not differentiable here"


def _is_single_precision(example: Example) -> bool:
    dtypes: list[Any] = [ir.get_aval(x).dtype for x in example.args if is_inexact(x)]  # pyright: ignore
    return bool(dtypes) and all(d.name in ("float32", "complex64") for d in dtypes)


def _differentiated(example: Example) -> Iterator[tuple[int, ...]]:
    """The sets of operands to differentiate by: all operands together, and each alone."""
    places = tuple(example.differentiable())
    yield places
    if len(places) > 1:
        yield from ((i,) for i in places)


def without_derivatives(primitive: ir.Primitive, example: Example) -> str | None:
    """The reason why an example has no derivative to check, or ``None`` if it has one."""
    places = example.differentiable()
    if not places:
        return _NO_DIFFERENTIABLE
    fun, primals = function_of_operands(primitive, example, places)
    push = lambda: ad.jvp(fun, tuple(primals), tuple(directions(primals, 0)))
    reason = unsupported_reason(ad.jvp_rules[primitive], push, "the jvp")
    if reason is None and not example.smooth:
        return _NOT_SMOOTH
    return reason


def without_double_derivatives(primitive: ir.Primitive, example: Example) -> str | None:
    """The reason why finite differences do not apply to an example, or ``None`` if they do."""
    reason = without_derivatives(primitive, example)
    if reason is None and not _is_single_precision(example):
        return "covered by the examples in single precision, which are checked in double precision"
    return reason


def check_derivatives(primitive: ir.Primitive, example: Example) -> str | None:
    """The jvp equals finite differences, and the vjp is its transpose.

    Both are checked in double precision, by all operands together and by each alone.

    Args:
      primitive: the primitive.
      example: operands and parameters of it.

    Returns:
      ``None``, or the reason why the law was not checked on the example.

    Raises:
      AssertionError: if one does not.

    Example:
      >>> import numpy as np
      >>> from ricci import lax
      >>> from ricci_testing import Example, check_derivatives
      >>> check_derivatives(lax.sin_p, Example((np.float32([0.5, 2.0]),)))
    """
    if reason := without_double_derivatives(primitive, example):
        return reason
    with ir.enable_x64(True):
        example = example.in_double()
        for places in _differentiated(example):
            fun, primals = function_of_operands(primitive, example, places)
            label = f"by operands {places}: "
            if "fwd" in example.modes:
                check_flat_jvp(fun, primals, label=f"{label}jvp")
            if "rev" in example.modes:
                check_flat_vjp(fun, primals, label=f"{label}vjp")
    return None


def check_second_order(primitive: ir.Primitive, example: Example) -> str | None:
    """Second derivatives equal finite differences, for each combination of the two modes.

    The jvp is differentiated by primals and tangents, the vjp by primals and cotangents.

    Args:
      primitive: the primitive.
      example: operands and parameters of it.

    Returns:
      ``None``, or the reason why the law was not checked on the example.

    Raises:
      AssertionError: if one does not.

    Example:
      >>> import numpy as np
      >>> from ricci import lax
      >>> from ricci_testing import Example, check_second_order
      >>> check_second_order(lax.sin_p, Example((np.float32([0.5, 2.0]),)))
    """
    if reason := without_double_derivatives(primitive, example):
        return reason
    if example.order < 2:
        return "the derivative has no derivative of closed form"
    with ir.enable_x64(True):
        example = example.in_double()
        fun, primals = function_of_operands(primitive, example, example.differentiable())
        if "fwd" in example.modes:
            pushed, at = pushed_forward(fun, primals)
            check_flat_jvp(pushed, at, label="jvp of jvp")
            if "rev" in example.modes:
                check_flat_vjp(pushed, at, label="vjp of jvp")
        if "rev" in example.modes:
            pulled, at = pulled_back(fun, primals, list(map(ir.get_aval, fun(*primals))))
            if "fwd" in example.modes:
                check_flat_jvp(pulled, at, label="jvp of vjp")
            check_flat_vjp(pulled, at, label="vjp of vjp")
    return None


def pushed_forward(
    fun: Callable[..., list[ir.Array]], primals: Sequence[Any]
) -> tuple[Callable[..., list[ir.Array]], list[Any]]:
    """The jvp as a flat function of primals and tangents, and arguments for it."""
    count = len(primals)

    def push(*xs: ir.ArrayLike) -> list[ir.Array]:
        values, pushed = ad.jvp(fun, xs[:count], xs[count:])
        return [t for v, t in zip(values, pushed, strict=True) if is_inexact(v)]

    return push, [*primals, *directions(primals, 6)]


def cotangents_of(results: Sequence[Any], inexact_cotangents: Sequence[Any]) -> list[Any]:
    """Cotangents for all results: the given ones for inexact results, float0 zeros for others."""
    remaining = iter(inexact_cotangents)
    return [next(remaining) if is_inexact(r) else np.zeros(np.shape(r), ir.float0) for r in results]


def pulled_back(
    fun: Callable[..., list[ir.Array]], primals: Sequence[Any], results: Sequence[Any]
) -> tuple[Callable[..., list[ir.Array]], list[Any]]:
    """The vjp as a flat function of primals and cotangents, and arguments for it.

    Args:
      results: the types of the function's results.
    """
    count = len(primals)

    def pull(*xs: ir.ArrayLike) -> list[ir.Array]:
        values, back = ad.vjp(fun, *xs[:count])
        return list(back(cotangents_of(values, xs[count:])))

    zeros = [np.zeros(r.shape, r.dtype) for r in results if ir.issubdtype(r.dtype, np.inexact)]
    return pull, [*primals, *directions(zeros, 5)]


@in_example_precision
def check_linearize(primitive: ir.Primitive, example: Example) -> str | None:
    """``linearize`` gives the value, and a linear function that equals ``jvp``, traced as well.

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
      >>> from ricci_testing import Example, check_linearize
      >>> check_linearize(lax.sin_p, Example((np.float32([0.5, 2.0]),)))
    """
    if reason := without_derivatives(primitive, example):
        return reason
    if "fwd" not in example.modes:
        return "the primitive has no forward mode"
    for places in _differentiated(example):
        fun, primals = function_of_operands(primitive, example, places)
        tangents = directions(primals, 0)
        values, pushed = ad.jvp(fun, tuple(primals), tuple(tangents))
        results, push = ad.linearize(fun, *primals)
        for i, (actual, expected) in enumerate(
            zip([*results, *push(*tangents)], [*values, *pushed], strict=True)
        ):
            what = f"by operands {places}: {'result' if i < len(values) else 'tangent'}"
            if ir.get_aval(expected).dtype == ir.float0:
                assert ir.get_aval(actual).dtype == ir.float0, what
                continue
            assert_results_close(
                np.asarray(actual), np.asarray(expected), f"{what} {i % len(values)}"
            )
        _check_linearize_traced(fun, primals, tangents, pushed, places)
    return None


def _check_linearize_traced(
    fun: Callable[..., list[ir.Array]],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    pushed: Sequence[Any],
    places: Sequence[int],
) -> None:
    """Check that ``linearize`` under tracing computes the residuals in the traced jaxpr."""
    smooth = [t for t in pushed if ir.get_aval(t).dtype != ir.float0]  # pyright: ignore
    closed_jaxpr = ir.make_jaxpr(
        lambda *primals: [
            t
            for t in ad.linearize(fun, *primals)[1](*tangents)
            if ir.get_aval(t).dtype != ir.float0
        ]
    )(*primals)
    traced_tangents = ir.eval_jaxpr(closed_jaxpr.jaxpr, closed_jaxpr.consts, *primals)
    for i, (tangent, expected) in enumerate(zip(traced_tangents, smooth, strict=True)):
        assert_results_close(
            np.asarray(tangent), np.asarray(expected), f"traced, by operands {places}: tangent {i}"
        )


def _is_linear(fun: Callable[..., list[ir.Array]], primals: Sequence[Any]) -> bool:
    """Whether ``fun(x + y)`` equals ``fun(x) + fun(y)``, and is not always 0, by trial."""
    nonzero = False
    for seed in range(8):
        x, y = _of_all_sizes(primals, seed), _of_all_sizes(primals, seed + 10)
        both = fun(*(p + q for p, q in zip(x, y, strict=True)))
        for z, f, g in zip(both, fun(*x), fun(*y), strict=True):
            expected = np.asarray(f) + np.asarray(g)
            if not is_inexact(z) or not np.allclose(z, expected, 1e-9, 1e-9):
                return False
            nonzero = nonzero or bool(np.any(np.asarray(z)))
    return nonzero


def _of_all_sizes(like: Sequence[Any], seed: int) -> list[np.ndarray]:
    """Random arrays of these types, each scaled to another order of magnitude."""
    random = np.random.default_rng(seed)
    return [x * 10 ** random.uniform(-1, 1) for x in directions(like, seed)]


def linear_places(primitive: ir.Primitive, example: Example) -> list[tuple[int, ...]]:
    """The sets of operands in which the primitive is jointly linear, judged by its values."""
    places = tuple(example.differentiable())
    subsets = [s for n in range(1, len(places) + 1) for s in combinations(places, n)]
    if len(places) > 3:
        subsets = [places, *((i,) for i in places)]
    return [s for s in subsets if _is_linear(*function_of_operands(primitive, example, s))]


def check_linear_transpose(primitive: ir.Primitive, example: Example) -> str | None:
    """``linear_transpose`` obeys ⟨J v, w⟩ = ⟨v, Jᵀ w⟩ for all operands of linear dependence.

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
      >>> from ricci_testing import Example, check_linear_transpose
      >>> check_linear_transpose(lax.neg_p, Example((np.float32([0.5, 2.0]),)))
      >>> check_linear_transpose(lax.sin_p, Example((np.float32([0.5, 2.0]),)))
      'not linear'
    """
    if not example.differentiable():
        return _NO_DIFFERENTIABLE
    if not example.smooth:
        return _NOT_SMOOTH
    if not _is_single_precision(example):
        return "covered by the examples in single precision, which are checked in double precision"
    with ir.enable_x64(True):
        example = example.in_double()
        linear_sets = linear_places(primitive, example)
        if not linear_sets:
            return "not linear"
        refusals = []
        for places in linear_sets:
            fun, primals = function_of_operands(primitive, example, places)
            vectors = directions(primals, 0)
            results = fun(*vectors)
            weights = directions(results, 8)
            label = f"by operands {places}"
            pull = lambda f=fun, p=primals, w=weights: ad.linear_transpose(f, *p)(w)
            if reason := unsupported_reason(ad.transpose_rules[primitive], pull, "the transpose"):
                return reason
            try:
                pulled = pull()
            except NotImplementedError as error:
                # A function can be linear at one example only, such as max(x, -10); see
                # `is_always_linear`.
                refusals.append(f"linear in its values only: {error}")
                continue
            _assert_types(pulled, primals, label)
            size = max(1, sum(np.size(x) for x in (*primals, *results))) ** 0.5
            forward, backward = pairing(results, weights), pairing(vectors, pulled)
            assert_close(backward, forward, 1e-9 * size, 1e-9, f"{label}: ⟨v, Jᵀ w⟩ and ⟨J v, w⟩")
    return refusals[0] if len(refusals) == len(linear_sets) else None


def is_always_linear(primitive: ir.Primitive, examples: Sequence[Example]) -> bool:
    """Whether there is an operand in which a primitive is linear in all its smooth examples."""
    common: set[int] | None = None
    for example in examples:
        if example.smooth and _is_single_precision(example):
            with ir.enable_x64(True):
                alone = {s[0] for s in linear_places(primitive, example.in_double()) if len(s) == 1}
            common = alone if common is None else common & alone
    return bool(common)


def _assert_types(cotangents: Sequence[Any], like: Sequence[Any], label: str) -> None:
    for i, (x, y) in enumerate(zip(cotangents, like, strict=True)):
        ours, theirs = ir.get_aval(x), ir.get_aval(y)
        if (ours.shape, ours.dtype) != (theirs.shape, theirs.dtype):  # pyright: ignore
            raise AssertionError(f"{label}: cotangent {i} has type {ours}, expected {theirs}")


def has_transpose(primitive: ir.Primitive) -> bool:
    """Whether the primitive has a transpose rule that is not ``unsupported``."""
    return not isinstance(ad.transpose_rules[primitive], ir.unsupported)


@in_example_precision
def check_checkpoint(primitive: Primitive, example: Example) -> str | None:
    """Check that the vjp of a checkpointed operation equals that of the operation.

    Raises:
      AssertionError: if it does not.
    """
    if reason := without_derivatives(primitive, example):
        return reason
    if "rev" not in example.modes:
        return "the primitive has no reverse mode"
    fun, primals = function_of_operands(primitive, example, example.differentiable())
    results, back = vjp(fun, *primals)
    again, recompute = vjp(checkpoint(fun), *primals)
    cts = cotangents_of(results, directions([r for r in results if is_inexact(r)], 5))
    pairs = zip([*again, *recompute(cts)], [*results, *back(cts)], strict=True)
    for i, (actual, expected) in enumerate(pairs):
        what = f"result {i}" if i < len(results) else f"cotangent {i - len(results)}"
        assert_results_close(np.asarray(actual), np.asarray(expected), what)
    return None
