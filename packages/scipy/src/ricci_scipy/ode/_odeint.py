"""Solutions of ordinary differential equations, with derivatives by the adjoint equation."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate
from math import inf, isinf, prod
from typing import Any, NamedTuple

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
import ricci_numpy as jnp
import ricci_pytree as pytree
from ricci_autodiff import vjp
from ricci_ir import Array, ArrayLike, PyTree

from . import _dormand_prince as dormand_prince

__all__ = ["odeint", "ravel_first_arg"]


class _Layout(NamedTuple):
    """Layout of a pytree's leaves in a vector."""

    tree: pytree.PyTreeDef
    shapes: tuple[tuple[int, ...], ...]
    dtypes: tuple[Any, ...]

    @staticmethod
    def of(tree: PyTree) -> "_Layout":
        leaves, treedef = pytree.tree_flatten(tree)
        avals: list[Any] = list(map(ir.get_aval, leaves))
        return _Layout(treedef, tuple(a.shape for a in avals), tuple(a.dtype for a in avals))

    def ravel(self, tree: PyTree) -> Array:
        """The vector, of the dtype that all leaves' dtypes promote to."""
        leaves = pytree.tree_flatten(tree)[0]
        if not leaves:
            return jnp.zeros(0)
        dtype = jnp.result_type(*self.dtypes)
        return jnp.concatenate([jnp.ravel(jnp.asarray(x)).astype(dtype) for x in leaves])

    def unravel(self, flat: Array) -> PyTree:
        ends = list(accumulate(map(prod, self.shapes)))
        leaves = [
            _of_dtype(flat[end - prod(shape) : end].reshape(shape), dtype)
            for end, shape, dtype in zip(ends, self.shapes, self.dtypes, strict=True)
        ]
        return pytree.tree_unflatten(self.tree, leaves)


def _of_dtype(x: Array, dtype: Any) -> Array:
    if ir.issubdtype(x.dtype, np.complexfloating) and not ir.issubdtype(dtype, np.complexfloating):
        x = x.real
    return x.astype(dtype)


class _Field(NamedTuple):
    """The slope as a function of vectors: ``field(y, t, *leaves)``.

    Fields of one function, on states and arguments of one structure, are equal, so that they
    share a compiled solver.
    """

    func: Callable[..., PyTree]
    state: _Layout
    args: pytree.PyTreeDef
    consts: int

    def __call__(self, y: Array, t: ArrayLike, *leaves: Array) -> Array:
        count = len(leaves) - self.consts
        args = pytree.tree_unflatten(self.args, leaves[:count])
        slope = self.func(self.state.unravel(y), t, *args, *leaves[count:])
        return self.state.ravel(_checked_slope(slope, self.state)).astype(y.dtype)


def _checked_slope(slope: PyTree, state: _Layout) -> PyTree:
    leaves, tree = pytree.tree_flatten(slope)
    if len(leaves) != len(state.shapes):
        raise ValueError(
            "odeint: func must return the slope as a pytree of the structure of the state: "
            f"expected {state.tree}, got {tree}."
        )
    for leaf, shape in zip(leaves, state.shapes, strict=True):
        aval: Any = ir.get_aval(leaf)
        if aval.shape != shape:
            raise ValueError(
                "odeint: func must return a slope of the shape of the state: expected "
                f"{shape}, got {aval.shape}."
            )
    return pytree.tree_unflatten(state.tree, leaves)


class _AdjointField(NamedTuple):
    """The slope of the state, of its cotangent and of those of the arguments, in one vector.

    L. S. Pontryagin et al.: The mathematical theory of optimal processes (1962); R. T. Q. Chen et
    al.: Neural ordinary differential equations (2018).
    """

    field: Any
    layout: _Layout

    def __call__(self, z: Array, t: ArrayLike, *leaves: Array) -> Array:
        y, ct, _ = self.layout.unravel(z)
        smooth = _differentiable_flags(leaves)

        def slope(y: Array, *chosen: Array) -> Array:
            remaining = iter(chosen)
            arguments = [next(remaining) if s else x for x, s in zip(leaves, smooth, strict=True)]
            return self.field(y, t, *arguments)

        # The adjoint equations (Chen et al., 2018): the cotangent's slope is -ctᵀ ∂f/∂y, and that
        # of an argument's cotangent is -ctᵀ ∂f/∂argument.
        dy, pull = vjp(slope, y, *_selected(leaves, smooth))
        y_ct, *cts = pull(ct)
        return self.layout.ravel((dy, -y_ct, [-c for c in cts]))


def _differentiable_flags(leaves: Sequence[Any]) -> list[bool]:
    """Whether each argument is differentiable: of a float or complex dtype."""
    avals: list[Any] = list(map(ir.get_aval, leaves))
    return [ir.issubdtype(aval.dtype, np.inexact) for aval in avals]


def _selected(leaves: Sequence[Any], flags: Sequence[bool]) -> list[Any]:
    return [x for x, flag in zip(leaves, flags, strict=True) if flag]


class _Options(NamedTuple):
    rtol: float
    atol: float
    mxstep: float
    hmax: float


class _Progress(NamedTuple):
    """State of an integration after a step, with the step's size and interpolating polynomial.

    The polynomial gives states in between, from ``before`` to ``time``.
    """

    y: Array
    slope: Array
    time: Array
    step: Array
    before: Array
    polynomial: Array


def _integrate(field: Any, options: _Options, y0: Array, ts: Array, *leaves: Array) -> Array:
    """The states at all times, of which the first is that of ``y0``."""
    # Where times decrease, the variable of the integration is the negative of the time.
    sign = jnp.where(ts[-1] < ts[0], -1, 1).astype(ts.dtype)
    slope = lambda y, s: _signed(sign, y) * field(y, sign * s, *leaves)
    rtol, atol, mxstep, hmax = options
    limited = lambda step: (step if isinf(hmax) else jnp.minimum(step, hmax)).astype(ts.dtype)
    start = sign * ts[0]
    f0 = slope(y0, start)
    first = limited(dormand_prince.initial_step_size(slope, start, y0, 4, rtol, atol, f0))
    constant = jnp.stack([*[jnp.zeros_like(y0)] * 4, y0])
    progress = _Progress(y0, f0, start, first, start, constant)

    def advance(progress: _Progress, target: Array) -> tuple[_Progress, Array]:
        def going(state: tuple[Any, _Progress]) -> Array:
            count, now = state
            more = (now.time < target) & (now.step > 0)
            return more if isinf(mxstep) else more & (count < mxstep)

        def step(state: tuple[Any, _Progress]) -> tuple[Any, _Progress]:
            count, now = state
            y, f, error, slopes = dormand_prince.runge_kutta_step(
                slope, now.y, now.slope, now.time, now.step
            )
            ratio = dormand_prince.mean_error_ratio(error, rtol, atol, now.y, y)
            size = limited(dormand_prince.optimal_step_size(now.step, ratio))
            # Next to a singularity no step is short enough, and none of size 0 is tried.
            is_stuck = jnp.isnan(ratio) & (now.time + size == now.time)
            size = jnp.where(is_stuck, 0, size).astype(ts.dtype)
            polynomial = dormand_prince.interp_fit_dopri(now.y, y, slopes, now.step)
            after = _Progress(y, f, now.time + now.step, size, now.time, polynomial)
            accepted = ratio <= 1
            choose = lambda new, old: jnp.where(accepted, new, old)
            return count + 1, pytree.tree_map(choose, after, now._replace(step=size))

        _, progress = lax.while_loop(going, step, (np.int32(0), progress))
        length = progress.time - progress.before
        part = (target - progress.before) / jnp.where(length > 0, length, 1)
        # The slope was not finite at the state, or after each step from it.
        is_lost = ~(progress.step > 0) & (progress.time < target)
        part = jnp.where(is_lost, jnp.nan, part)
        return progress, jnp.polyval(progress.polynomial, part.astype(ts.dtype)).astype(y0.dtype)

    _, ys = lax.scan(advance, progress, sign * ts[1:])
    return jnp.concatenate([y0[None], ys])


def _signed(sign: Array, y: Array) -> Array:
    return sign.astype(y.dtype)


@partial(lax.custom_vjp, nondiff_argnums=(0, 1))
def _odeint(field: Any, options: _Options, y0: Array, ts: Array, *leaves: Array) -> Array:
    return _run_step(_integrate_step, field, options, y0, ts, *leaves)


def _odeint_fwd(field: Any, options: _Options, y0: Array, ts: Array, *leaves: Array) -> Any:
    ys = _odeint(field, options, y0, ts, *leaves)  # differentiable, for higher derivatives
    return ys, (ys, ts, leaves)


def _odeint_bwd(field: Any, options: _Options, residuals: Any, cts: Array) -> tuple[Any, ...]:
    ys, ts, leaves = residuals
    y_ct, t_ct, *smooth_cts = _run_step(_pull_back_step, field, options, ys, ts, cts, *leaves)
    remaining = iter(smooth_cts)
    return (
        y_ct,
        t_ct,
        *(
            next(remaining) if smooth else ir.float0_zeros(np.shape(x))
            for x, smooth in zip(leaves, _differentiable_flags(leaves), strict=True)
        ),
    )


_odeint.defvjp(_odeint_fwd, _odeint_bwd)


def _pull_back(
    field: Any, options: _Options, ys: Array, ts: Array, cts: Array, *leaves: Array
) -> tuple[Array, ...]:
    """The cotangents of the first state, of the times and of the arguments.

    From each time back to the one before, the state is integrated together with the cotangents. A
    result moves with its own time; the state that follows from the first time moves against it.
    """
    chosen = _selected(leaves, _differentiable_flags(leaves))
    zeros = [jnp.zeros_like(x) for x in chosen]
    layout = _Layout.of((ys[0], ys[0], zeros))
    backward = _AdjointField(field, layout)
    along = lambda ct, y, t: jnp.sum(ct * field(y, t, *leaves)).real.astype(ts.dtype)

    def back(carry: tuple[Array, Any], row: tuple[Array, ...]) -> tuple[Any, Array]:
        # The cotangent of the state at t is complete once its own output's is added. The state is
        # integrated back too, from the stored one: no steps of the forward run are saved.
        ct, sums = carry
        y, t, before, y_ct = row
        ct = ct + y_ct
        state = layout.ravel((y, ct, sums))
        end = _odeint(backward, options, state, jnp.stack([t, before]), *leaves)[-1]
        _, ct, sums = layout.unravel(end)
        return (ct, sums), along(y_ct, y, t)

    rows = (ys[1:], ts[1:], ts[:-1], cts[1:])
    start = (jnp.zeros_like(ys[0]), zeros)
    (ct, sums), t_cts = lax.scan(back, start, rows, reverse=True)
    first = -along(ct, ys[0], ts[0])
    return ct + cts[0], jnp.concatenate([first[None], t_cts]), *sums


# Outside of jit each of the two is one executable, cached by types and settings.
_integrate_step = ir.composite("odeint")(
    lambda *arrays, field, options: _integrate(field, options, *arrays)
)
_pull_back_step = ir.composite("odeint_adjoint")(
    lambda *arrays, field, options: _pull_back(field, options, *arrays)
)


def _run_step(step: Any, field: Any, options: _Options, *arrays: Array) -> Any:
    """Run an executable; while tracing, its operations, since ``field`` may close over tracers."""
    run = step.fun if ir.is_recording() else step
    return run(*arrays, field=field, options=options)


@ir.api_boundary
def odeint(
    func: Callable[..., PyTree],
    y0: PyTree,
    t: ArrayLike,
    *args: PyTree,
    rtol: float = 1.4e-8,
    atol: float = 1.4e-8,
    mxstep: float = inf,
    hmax: float = inf,
) -> PyTree:
    """Solve an initial value problem by the adaptive method of Dormand and Prince.

    ``jit``, ``vmap`` and reverse-mode differentiation apply. Gradients, with respect to ``y0``,
    ``t``, ``args`` and the arrays that ``func`` closes over, come from the adjoint equation, which
    is solved backward in time with the same tolerances; memory does not grow with the steps.

    Args:
      func: ``func(y, t, *args)`` gives the slope of ``y`` at time ``t``, a pytree like ``y``.
      y0: the state at ``t[0]``, a pytree of arrays of floats or complex numbers.
      t: a vector of times, of floats that increase or decrease. They are where results are wanted
        and do not determine the steps.
      args: pytrees of arrays, further arguments of ``func``.
      rtol, atol: an error of ``atol + rtol * |y|`` is allowed in a step, for each element; of all
        elements the root mean square counts.
      mxstep: the largest number of steps from one time to the next. What has not been reached by
        then is extrapolated.
      hmax: the largest size of a step.

    Returns:
      The states at the times ``t``: the pytree ``y0`` with a leading dimension on its leaves.

    Raises:
      TypeError: if ``t`` is not a vector of floats, or ``y0`` or ``args`` hold something else than
        the arrays described.
      ValueError: if ``func`` returns something that is not like ``y0``.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental import ode
      >>> times = jnp.linspace(0.0, 1.0, 3)
      >>> found = ode.odeint(lambda y, t, rate: -rate * y, 1.0, times, 2.0)
      >>> found.round(3).tolist()
      [1.0, 0.368..., 0.135...]
    """
    ts = _checked_times(t)
    state = pytree.tree_map(_checked_state, y0)
    leaves, args_tree = pytree.tree_flatten(args)
    for i, leaf in enumerate(leaves):
        _check_argument(leaf, i, args)
    layout = _Layout.of(state)
    leaves = list(map(jnp.asarray, leaves))
    converted, consts = lax.closure_convert(func, state, ts[0], *args)
    field = _Field(converted if consts else func, layout, args_tree, len(consts))
    options = _Options(float(rtol), float(atol), float(mxstep), float(hmax))
    ys = _odeint(field, options, layout.ravel(state), ts, *leaves, *consts)
    return _unraveled_rows(layout, ys)


def _unraveled_rows(layout: _Layout, rows: Array) -> PyTree:
    count = rows.shape[0]
    ends = list(accumulate(map(prod, layout.shapes)))
    leaves = [
        _of_dtype(rows[:, end - prod(shape) : end].reshape(count, *shape), dtype)
        for end, shape, dtype in zip(ends, layout.shapes, layout.dtypes, strict=True)
    ]
    return pytree.tree_unflatten(layout.tree, leaves)


def _checked_times(t: ArrayLike) -> Array:
    ts = jnp.asarray(t)
    if not ir.issubdtype(ts.dtype, np.floating) or ts.ndim != 1:
        raise TypeError(
            "odeint: t must be a vector of floats, the times of the solution, got "
            f"{ir.get_aval(ts).str_short()}."
        )
    if ts.shape[0] == 0:
        raise IndexError("odeint: t is empty; its first element is the time of y0.")
    return ts


def _checked_state(leaf: ArrayLike) -> Array:
    state = jnp.asarray(leaf)
    if not ir.issubdtype(state.dtype, np.inexact):
        raise TypeError(
            "odeint: y0 must hold floats or complex numbers, got "
            f"{ir.get_aval(state).str_short()}. Convert it with astype(float)."
        )
    return state


def _check_argument(leaf: object, i: int, args: tuple[PyTree, ...]) -> None:
    try:
        ir.get_aval(leaf)
    except TypeError:
        path = pytree.keystr(pytree.tree_flatten_with_path(args)[0][i][0])
        raise TypeError(
            f"odeint: args must hold arrays or scalars, but args{path} is a "
            f"{type(leaf).__name__}. Close over it in func instead."
        ) from None


def ravel_first_arg(
    f: Callable[..., PyTree], unravel: Callable[[Array], PyTree]
) -> Callable[..., Array]:
    """A function of a pytree as a function of a vector that returns a vector.

    Args:
      f: ``f(tree, *args)`` returns a pytree.
      unravel: from the vector to the first argument, as ``ravel_pytree`` gives it.

    Returns:
      A function of a vector.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental import ode
      >>> from ricci.flatten_util import ravel_pytree
      >>> flat, unravel = ravel_pytree({"a": jnp.ones(2), "b": 1.0})
      >>> slope = ode.ravel_first_arg(lambda y, t: {"a": -y["a"], "b": t}, unravel)
      >>> slope(flat, 3.0).tolist()
      [-1.0, -1.0, 3.0]
    """

    def raveled(y: Array, *args: PyTree) -> Array:
        result = f(unravel(y), *args)
        return _Layout.of(result).ravel(result)

    return raveled
