"""Checks of jvp and vjp against finite differences and against each other."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ricci_autodiff import jvp, vjp
from ricci_ir import Array, ArrayLike, float0, get_aval, issubdtype
from ricci_pytree import PyTreeDef, tree_flatten, tree_unflatten

__all__ = ["check_grads", "check_jvp", "check_vjp"]

# By the bits of the real dtype: the step of central differences, which is about the cube root of
# the rounding error, and the error that is allowed.
_STEPS = {16: 1e-1, 32: 5e-3, 64: 3e-6}
_TOLERANCES = {16: 2e-1, 32: 1e-2, 64: 1e-6}
# A second step, tried if the first disagrees: it may have crossed a jump of the function.
_SHORT_STEPS = {32: 1e-4, 64: 3e-8}


def check_grads(
    f: Callable[..., Any],
    args: Sequence[Any],
    order: int,
    modes: Sequence[str] = ("fwd", "rev"),
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
) -> None:
    """Check a function's derivatives against finite differences, up to an order.

    Args:
      f: a function of pytrees of arrays.
      args: the arguments; derivatives are taken by the floating-point and complex leaves.
      order: the highest order of derivatives to check.
      modes: ``"fwd"`` for ``jvp``, ``"rev"`` for ``vjp``; with both, all their combinations.
      atol, rtol: the absolute and relative error allowed, by default as the dtypes suggest.
      eps: the step of the finite differences.

    Raises:
      AssertionError: if a derivative is wrong; the message names the mode, the order and the leaf.
      ValueError: if ``modes`` has another entry.

    Example:
      A correct function passes up to the second order; a wrong rule raises an error:

      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> from ricci.test_util import check_grads
      >>> check_grads(jnp.sin, (jnp.array([0.5, 2.0]),), order=2)
      >>> wrong = ricci.custom_jvp(lambda x: x**3)
      >>> wrong.defjvps(lambda t, out, x: 2 * x**2 * t)
      >>> try:
      ...     check_grads(wrong, (jnp.array(1.0),), order=1)
      ... except AssertionError as error:
      ...     print("a derivative is wrong")
      a derivative is wrong
    """
    modes = [modes] if isinstance(modes, str) else list(modes)
    if not set(modes) <= {"fwd", "rev"}:
        raise ValueError(f'check_grads: modes must be among "fwd" and "rev", got {modes}')
    leaves, tree = tree_flatten(tuple(args))
    flat = lambda *xs: tree_flatten(f(*tree_unflatten(tree, xs)))[0]
    # Integers and booleans have no derivatives and stay constant.
    differentiated = [i for i, x in enumerate(leaves) if is_inexact(x)]

    def of_differentiated(*xs: ArrayLike) -> list[Array]:
        full = list(leaves)
        for i, x in zip(differentiated, xs, strict=True):
            full[i] = x
        return flat(*full)

    primals = [leaves[i] for i in differentiated]
    _check(of_differentiated, primals, order, modes, (atol, rtol, eps), "")


def _check(
    fun: Callable[..., list],
    primals: Sequence[ArrayLike],
    order: int,
    modes: Sequence[str],
    tolerances: tuple[float | None, float | None, float | None],
    path: str,
) -> None:
    if order == 0:
        return
    if "fwd" in modes:
        check_flat_jvp(fun, primals, *tolerances, label=f"{path}jvp")
        tangents = directions(primals, 1)
        # The tangents are fixed, so that the derivative is a function of the primals alone, which
        # can be checked like any other.
        push = lambda *xs: jvp(fun, xs, tangents)[1]
        _check(_inexact_only(push), primals, order - 1, modes, tolerances, f"{path}jvp of ")
    if "rev" in modes:
        check_flat_vjp(fun, primals, *tolerances, label=f"{path}vjp")
        # Seeds differ between the directions, so that no two of them agree by chance.
        cotangents = _cotangents(fun(*primals), 2)
        pull = lambda *xs: list(vjp(fun, *xs)[1](cotangents))
        _check(_inexact_only(pull), primals, order - 1, modes, tolerances, f"{path}vjp of ")


def _inexact_only(fun: Callable[..., list]) -> Callable[..., list]:
    return lambda *xs: [y for y in fun(*xs) if is_inexact(y)]


def is_inexact(x: ArrayLike) -> bool:
    """Whether a value is floating-point or complex, so that it has tangents."""
    aval = get_aval(x)
    return aval.dtype != float0 and issubdtype(aval.dtype, np.inexact)


def directions(values: Sequence[Any], seed: int) -> list[np.ndarray]:
    """Random arrays of the types of ``values``, between -1 and 1, determined by the seed."""
    random = np.random.default_rng(seed)
    tangents = []
    for value in values:
        aval: Any = get_aval(value)
        direction = random.uniform(-1, 1, aval.shape)
        if issubdtype(aval.dtype, np.complexfloating):
            direction = direction + 1j * random.uniform(-1, 1, aval.shape)
        tangents.append(np.asarray(direction).astype(aval.dtype))
    return tangents


def _cotangents(results: Sequence[Any], seed: int) -> list[np.ndarray]:
    return [
        direction if is_inexact(result) else np.zeros(np.shape(result), float0)
        for result, direction in zip(results, _directions_or_none(results, seed), strict=True)
    ]


def _directions_or_none(results: Sequence[Any], seed: int) -> list[Any]:
    # Discrete results take no random numbers, so that adding one does not change the others.
    remaining = iter(directions([r for r in results if is_inexact(r)], seed))
    return [next(remaining) if is_inexact(r) else None for r in results]


def pairing(xs: Sequence[Any], ys: Sequence[Any]) -> float:
    """The pairing of cotangents and tangents: the real part of the sum of products.

    Complex numbers are not conjugated, as JAX defines the cotangents of complex values.
    """
    total = 0.0
    for x, y in zip(xs, ys, strict=True):
        if is_inexact(x) and is_inexact(y):
            total += float(np.sum(_wide(x) * _wide(y)).real)
    return total


def _wide(x: npt.ArrayLike) -> np.ndarray:
    x = np.asarray(x)
    return x.astype(np.complex128 if issubdtype(x.dtype, np.complexfloating) else np.float64)


def _bits(values: Sequence[Any]) -> int:
    """The bits of the narrowest real dtype among values."""
    dtypes: list[Any] = [get_aval(x).dtype for x in values if is_inexact(x)]  # pyright: ignore
    if not dtypes:
        return 64
    return max(16, min(8 * d.itemsize // (2 if d.kind == "c" else 1) for d in dtypes))


def _settings(
    values: Sequence[Any], atol: float | None, rtol: float | None, eps: float | None
) -> tuple[float, float, list[float]]:
    """The absolute and relative tolerances, and the steps to try."""
    bits = _bits(values)
    tolerance = _TOLERANCES[bits]
    steps = [table[bits] for table in (_STEPS, _SHORT_STEPS) if bits in table]
    return (
        tolerance if atol is None else atol,
        tolerance if rtol is None else rtol,
        steps if eps is None else [eps],
    )


def _passes_at_any_step(check: Callable[[float], None], steps: Sequence[float]) -> None:
    """Run a check with each step until one passes; else raise the error of the first."""
    first = None
    for step in steps:
        try:
            return check(step)
        except AssertionError as error:
            # The error of the long step is less disturbed by rounding, and so the better report.
            first = first or error
    if first is not None:
        raise first


def numerical_jvp(
    fun: Callable[..., Sequence[Any]], primals: Sequence[Any], tangents: Sequence[Any], eps: float
) -> list[np.ndarray]:
    """The derivative of a flat function along a direction, by central differences."""

    def moved(sign: int) -> list[Any]:
        points = [
            # Move in double precision and round once.
            (_wide(x) + sign * eps * _wide(t)).astype(np.asarray(x).dtype)
            for x, t in zip(primals, tangents, strict=True)
        ]
        return [_wide(y) for y in fun(*points)]

    # Subtracted in double precision as well: the results are nearly equal.
    return [(y - z) / (2 * eps) for y, z in zip(moved(1), moved(-1), strict=True)]


def check_jvp(
    f: Callable[..., Any],
    f_jvp: Callable[[tuple[Any, ...], tuple[Any, ...]], tuple[Any, Any]],
    args: Sequence[Any],
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
    err_msg: str = "",
) -> None:
    """Check a function's forward-mode derivative against finite differences.

    Args:
      f: a function of pytrees of floating-point or complex arrays.
      f_jvp: ``f_jvp(primals, tangents)`` gives the result and its tangent, as ``jvp`` does.
      args: the arguments.
      atol, rtol: the absolute and relative error allowed, by default as the dtypes suggest.
      eps: the step of the finite differences.
      err_msg: the prefix of error messages.

    Raises:
      AssertionError: if the results or the tangents differ.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci.test_util import check_jvp
      >>> def rule(primals, tangents):
      ...     (x,), (t,) = primals, tangents
      ...     return jnp.sin(x), jnp.cos(x) * t
      >>> check_jvp(jnp.sin, rule, (jnp.array([0.5, 2.0]),))
    """
    leaves, tree = tree_flatten(tuple(args))

    def push(primals: Any, tangents: Any) -> tuple[Any, Any]:
        pairs = f_jvp(tree_unflatten(tree, primals), tree_unflatten(tree, tangents))
        results, pushed = (tree_flatten(part)[0] for part in pairs)
        return results, pushed

    label = f"{err_msg}: jvp" if err_msg else "jvp"
    check_flat_jvp(_flat(f, tree), leaves, atol, rtol, eps, label=label, push=push)


def check_vjp(
    f: Callable[..., Any],
    f_vjp: Callable[..., tuple[Any, Callable[[Any], Any]]],
    args: Sequence[Any],
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
    err_msg: str = "",
) -> None:
    """Check a function's reverse-mode derivative against finite differences.

    Args:
      f: a function of pytrees of floating-point or complex arrays.
      f_vjp: ``f_vjp(*args)`` gives the result and the function of cotangents, as ``vjp`` does.
      args: the arguments.
      atol, rtol: the absolute and relative error allowed, by default as the dtypes suggest.
      eps: the step of the finite differences.
      err_msg: the prefix of error messages.

    Raises:
      AssertionError: if ⟨Jᵀw, v⟩ differs from ⟨w, Jv⟩, or the results from those of ``f``.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci.test_util import check_vjp
      >>> rule = lambda x: (jnp.sin(x), lambda ct: (jnp.cos(x) * ct,))
      >>> check_vjp(jnp.sin, rule, (jnp.array([0.5, 2.0]),))
    """
    leaves, tree = tree_flatten(tuple(args))

    def pull(*primals: Any) -> tuple[list[Any], Callable[[Any], Any]]:
        result, back = f_vjp(*tree_unflatten(tree, primals))
        values, out_tree = tree_flatten(result)
        return values, lambda cts: tree_flatten(tuple(back(tree_unflatten(out_tree, cts))))[0]

    label = f"{err_msg}: vjp" if err_msg else "vjp"
    check_flat_vjp(_flat(f, tree), leaves, atol, rtol, eps, label=label, pull=pull)


def _flat(f: Callable[..., Any], tree: PyTreeDef) -> Callable[..., list[Any]]:
    return lambda *xs: tree_flatten(f(*tree_unflatten(tree, xs)))[0]


def check_flat_jvp(
    fun: Callable[..., Sequence[Any]],
    primals: Sequence[Any],
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
    *,
    label: str = "jvp",
    push: Callable[..., tuple[Any, Any]] | None = None,
) -> None:
    """Check the jvp of a flat function, or ``push(primals, tangents)``, by finite differences.

    Raises:
      AssertionError: if the tangents differ from these, or the results from the function's own.
    """
    primals = [x if hasattr(x, "dtype") else np.asarray(x) for x in primals]
    tangents = directions(primals, 0)
    values = list(fun(*primals))
    primals, tangents = tuple(primals), tuple(tangents)
    results, pushed = jvp(fun, primals, tangents) if push is None else push(primals, tangents)
    absolute, relative, steps = _settings([*primals, *values], atol, rtol, eps)

    def check_tangents(step: float) -> None:
        expected = numerical_jvp(fun, primals, tangents, step)
        for i, value in enumerate(values):
            if is_inexact(value):
                what = f"{label}: tangent of result {i}"
                assert_close(pushed[i], expected[i], absolute, relative, what)

    for i, value in enumerate(values):
        what = f"{label}: result {i} of the jvp itself"
        assert_close(results[i], value, absolute, relative, what)
        if not is_inexact(value) and get_aval(pushed[i]).dtype != float0:  # pyright: ignore[reportAttributeAccessIssue]
            raise AssertionError(
                f"{label}: the tangent of result {i}, which is discrete, must have dtype float0, "
                f"got {get_aval(pushed[i])}"
            )
    _passes_at_any_step(check_tangents, steps)


def check_flat_vjp(
    fun: Callable[..., Sequence[Any]],
    primals: Sequence[Any],
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
    *,
    label: str = "vjp",
    pull: Callable[..., tuple[Any, Callable[[Any], Any]]] | None = None,
) -> None:
    """Check the vjp of a flat function, or ``pull(*primals)``, by finite differences.

    Raises:
      AssertionError: if they differ, or a cotangent does not have its argument's type.
    """
    primals = [x if hasattr(x, "dtype") else np.asarray(x) for x in primals]
    values, back = vjp(fun, *primals) if pull is None else pull(*primals)
    absolute, relative, steps = _settings([*primals, *values], atol, rtol, eps)
    # A rule given by the user may also compute a wrong result.
    if pull is not None:
        for i, (value, expected) in enumerate(zip(values, fun(*primals), strict=True)):
            what = f"{label}: result {i} of the vjp itself"
            assert_close(value, expected, absolute, relative, what)
    cotangents = _cotangents(values, 3)
    pulled = back(cotangents)
    for i, (primal, cotangent) in enumerate(zip(primals, pulled, strict=True)):
        actual, expected = get_aval(cotangent), get_aval(primal)
        if (actual.shape, actual.dtype) != (expected.shape, expected.dtype):  # pyright: ignore
            raise AssertionError(
                f"{label}: the cotangent of argument {i} has type {actual}, expected {expected}"
            )
    tangents = directions(primals, 0)
    # The adjoint is checked by one number: both pairings are equal for every pair of directions if
    # and only if the maps are each other's transposes.
    backward = pairing(pulled, tangents)
    # Errors of independent terms add up to about the square root of their number.
    size = max(1, sum(int(np.size(x)) for x in (*primals, *values))) ** 0.5

    def check_pairing(step: float) -> None:
        forward = pairing(cotangents, numerical_jvp(fun, primals, tangents, step))
        what = f"{label}: ⟨Jᵀw, v⟩ and ⟨w, Jv⟩"
        assert_close(backward, forward, absolute * size, relative * size, what)

    _passes_at_any_step(check_pairing, steps)


def assert_close(
    actual: npt.ArrayLike, expected: npt.ArrayLike, atol: float, rtol: float, what: str
) -> None:
    """Assert that two arrays are close; the error message names the worst element."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    if actual.shape != expected.shape:
        raise AssertionError(f"{what}: shape {actual.shape}, expected {expected.shape}")
    actual, expected = _comparable(actual), _comparable(expected)
    with np.errstate(invalid="ignore"):
        gap = np.abs(actual - expected)
        # Equal infinities fit, though their difference is NaN.
        fits = (gap <= atol + rtol * np.abs(expected)) | (actual == expected)
    wrong = ~(fits | (np.isnan(actual) & np.isnan(expected)))
    if np.any(wrong):
        # A NaN on one side only counts as the worst.
        worst = np.unravel_index(
            np.argmax(np.where(wrong, np.nan_to_num(gap, nan=np.inf), -1)), gap.shape
        )
        place = tuple(map(int, worst))
        raise AssertionError(
            f"{what}: {int(np.sum(wrong))} of {wrong.size} values differ, the most at {place}: "
            f"{actual[place]}, expected {expected[place]} (atol {atol:.1e}, rtol {rtol:.1e})"
        )


def _comparable(x: np.ndarray) -> np.ndarray:
    # The mantissa of a long double has 64 bits on x86, so that 64-bit integers stay exact.
    return x.astype(np.longdouble) if x.dtype.kind in "iub" else _wide(x)
