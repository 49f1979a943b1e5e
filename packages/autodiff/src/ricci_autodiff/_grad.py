"""``grad`` and ``value_and_grad``."""

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, Unpack, overload

import numpy as np

import ricci_ir as ir
from ricci_pytree import tree_flatten, tree_unflatten

from ._linearize import linearize_function
from ._tangent import Zero, as_value, instantiate, unit_cotangent
from ._transpose import pull_back_tape

__all__ = ["check_distinct", "grad", "value_and_grad"]

_traced: Any = object()


class Auxiliary:
    """Auxiliary data, a pytree with leaves of any type. Only its tracers pass through a trace.

    Attributes:
      count: the number of tracers.
    """

    __slots__ = ("_leaves", "_tree", "count")

    def __init__(self):
        self._leaves: list[Any] = []
        self._tree: Any = None
        self.count: int = 0

    def take(self, value: object) -> list[ir.Tracer]:
        """Store the data without its tracers, and return these."""
        leaves, self._tree = tree_flatten(value)
        tracers = [x for x in leaves if isinstance(x, ir.Tracer)]
        self._leaves = [_traced if isinstance(x, ir.Tracer) else x for x in leaves]
        self.count = len(tracers)
        return tracers

    def filled(self, values: list[Any]) -> Any:
        """Return the data with these values in place of the tracers."""
        remaining = iter(values)
        leaves = [next(remaining) if x is _traced else x for x in self._leaves]
        return tree_unflatten(self._tree, leaves)


if TYPE_CHECKING:
    from ._gradient_types import (
        First2,
        Gradient,
        GradientWithAux,
        GradOptions,
        Only0,
        Only1,
        ValueAndGradient,
        ValueAndGradientWithAux,
    )
    from ._gradient_types_by_argument import (
        GradientAt01,
        GradientAt1,
        GradientWithAuxAt01,
        GradientWithAuxAt1,
        ValueAndGradientAt01,
        ValueAndGradientAt1,
        ValueAndGradientWithAuxAt01,
        ValueAndGradientWithAuxAt1,
    )
    from ._gradient_types_of_tuples import (
        GradientAtLast,
        GradientsAt0,
        GradientsAt1,
        ValueAndGradientAtLast,
        ValueAndGradientsAt0,
        ValueAndGradientsAt1,
    )

    @overload
    def grad[F: Callable[..., ir.ArrayLike]](
        fun: F,
        argnums: Literal[0] = 0,
        has_aux: Literal[False] = False,
        holomorphic: bool = False,
        allow_int: bool = False,
        reduce_axes: Sequence[Any] = (),
    ) -> Gradient[F]: ...
    @overload
    def grad[F: Callable[..., tuple[ir.ArrayLike, Any]]](
        fun: F, argnums: Literal[0] = 0, *, has_aux: Literal[True], **options: Unpack[GradOptions]
    ) -> GradientWithAux[F]: ...
    @overload
    def grad[F: Callable[..., ir.ArrayLike]](
        fun: F,
        argnums: Literal[1],
        has_aux: Literal[False] = False,
        holomorphic: bool = False,
        allow_int: bool = False,
        reduce_axes: Sequence[Any] = (),
    ) -> GradientAt1[F]: ...
    @overload
    def grad[F: Callable[..., tuple[ir.ArrayLike, Any]]](
        fun: F, argnums: Literal[1], *, has_aux: Literal[True], **options: Unpack[GradOptions]
    ) -> GradientWithAuxAt1[F]: ...
    @overload
    def grad[F: Callable[..., ir.ArrayLike]](
        fun: F,
        argnums: First2,
        has_aux: Literal[False] = False,
        holomorphic: bool = False,
        allow_int: bool = False,
        reduce_axes: Sequence[Any] = (),
    ) -> GradientAt01[F]: ...
    @overload
    def grad[F: Callable[..., tuple[ir.ArrayLike, Any]]](
        fun: F, argnums: First2, *, has_aux: Literal[True], **options: Unpack[GradOptions]
    ) -> GradientWithAuxAt01[F]: ...
    @overload
    def grad[F: Callable[..., ir.ArrayLike]](
        fun: F, argnums: Only0, **options: Unpack[GradOptions]
    ) -> GradientsAt0[F]: ...
    @overload
    def grad[F: Callable[..., ir.ArrayLike]](
        fun: F, argnums: Only1, **options: Unpack[GradOptions]
    ) -> GradientsAt1[F]: ...
    @overload
    def grad[F: Callable[..., ir.ArrayLike]](
        fun: F, argnums: Literal[-1], **options: Unpack[GradOptions]
    ) -> GradientAtLast[F]: ...
    @overload
    def grad[**P](
        fun: Callable[P, ir.ArrayLike],
        argnums: int = 0,
        has_aux: Literal[False] = False,
        holomorphic: bool = False,
        allow_int: bool = False,
        reduce_axes: Sequence[Any] = (),
    ) -> Callable[P, Any]: ...
    @overload
    def grad[**P](
        fun: Callable[P, ir.ArrayLike],
        argnums: Sequence[int],
        has_aux: Literal[False] = False,
        holomorphic: bool = False,
        allow_int: bool = False,
        reduce_axes: Sequence[Any] = (),
    ) -> Callable[P, tuple[Any, ...]]: ...
    @overload
    def grad[**P, Aux](
        fun: Callable[P, tuple[ir.ArrayLike, Aux]],
        argnums: int | Sequence[int] = 0,
        *,
        has_aux: Literal[True],
        **options: Unpack[GradOptions],
    ) -> Callable[P, tuple[Any, Aux]]: ...
    @overload
    def grad[**P, Aux](
        fun: Callable[P, tuple[ir.ArrayLike, Aux]],
        argnums: int | Sequence[int],
        has_aux: Literal[True],
        holomorphic: bool = False,
        allow_int: bool = False,
        reduce_axes: Sequence[Any] = (),
    ) -> Callable[P, tuple[Any, Aux]]: ...
    @overload
    def value_and_grad[F: Callable[..., ir.ArrayLike]](
        fun: F,
        argnums: Literal[0] = 0,
        has_aux: Literal[False] = False,
        holomorphic: bool = False,
        allow_int: bool = False,
        reduce_axes: Sequence[Any] = (),
    ) -> ValueAndGradient[F]: ...
    @overload
    def value_and_grad[F: Callable[..., tuple[ir.ArrayLike, Any]]](
        fun: F, argnums: Literal[0] = 0, *, has_aux: Literal[True], **options: Unpack[GradOptions]
    ) -> ValueAndGradientWithAux[F]: ...
    @overload
    def value_and_grad[F: Callable[..., ir.ArrayLike]](
        fun: F,
        argnums: Literal[1],
        has_aux: Literal[False] = False,
        holomorphic: bool = False,
        allow_int: bool = False,
        reduce_axes: Sequence[Any] = (),
    ) -> ValueAndGradientAt1[F]: ...
    @overload
    def value_and_grad[F: Callable[..., tuple[ir.ArrayLike, Any]]](
        fun: F, argnums: Literal[1], *, has_aux: Literal[True], **options: Unpack[GradOptions]
    ) -> ValueAndGradientWithAuxAt1[F]: ...
    @overload
    def value_and_grad[F: Callable[..., ir.ArrayLike]](
        fun: F,
        argnums: First2,
        has_aux: Literal[False] = False,
        holomorphic: bool = False,
        allow_int: bool = False,
        reduce_axes: Sequence[Any] = (),
    ) -> ValueAndGradientAt01[F]: ...
    @overload
    def value_and_grad[F: Callable[..., tuple[ir.ArrayLike, Any]]](
        fun: F, argnums: First2, *, has_aux: Literal[True], **options: Unpack[GradOptions]
    ) -> ValueAndGradientWithAuxAt01[F]: ...
    @overload
    def value_and_grad[F: Callable[..., ir.ArrayLike]](
        fun: F, argnums: Only0, **options: Unpack[GradOptions]
    ) -> ValueAndGradientsAt0[F]: ...
    @overload
    def value_and_grad[F: Callable[..., ir.ArrayLike]](
        fun: F, argnums: Only1, **options: Unpack[GradOptions]
    ) -> ValueAndGradientsAt1[F]: ...
    @overload
    def value_and_grad[F: Callable[..., ir.ArrayLike]](
        fun: F, argnums: Literal[-1], **options: Unpack[GradOptions]
    ) -> ValueAndGradientAtLast[F]: ...
    @overload
    def value_and_grad[**P](
        fun: Callable[P, ir.ArrayLike],
        argnums: int = 0,
        has_aux: Literal[False] = False,
        holomorphic: bool = False,
        allow_int: bool = False,
        reduce_axes: Sequence[Any] = (),
    ) -> Callable[P, tuple[ir.Array, Any]]: ...
    @overload
    def value_and_grad[**P](
        fun: Callable[P, ir.ArrayLike],
        argnums: Sequence[int],
        has_aux: Literal[False] = False,
        holomorphic: bool = False,
        allow_int: bool = False,
        reduce_axes: Sequence[Any] = (),
    ) -> Callable[P, tuple[ir.Array, tuple[Any, ...]]]: ...
    @overload
    def value_and_grad[**P, Aux](
        fun: Callable[P, tuple[ir.ArrayLike, Aux]],
        argnums: int | Sequence[int] = 0,
        *,
        has_aux: Literal[True],
        **options: Unpack[GradOptions],
    ) -> Callable[P, tuple[tuple[ir.Array, Aux], Any]]: ...
    @overload
    def value_and_grad[**P, Aux](
        fun: Callable[P, tuple[ir.ArrayLike, Aux]],
        argnums: int | Sequence[int],
        has_aux: Literal[True],
        holomorphic: bool = False,
        allow_int: bool = False,
        reduce_axes: Sequence[Any] = (),
    ) -> Callable[P, tuple[tuple[ir.Array, Aux], Any]]: ...


def grad(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Any] = (),
) -> Callable[..., Any]:
    """The gradient of a scalar-output function.

    Args:
      fun: a function that returns a real scalar, or a pair ``(scalar, aux)`` if ``has_aux``. The
        scalar is complex if ``holomorphic``.
      argnums: the positional argument(s) to differentiate with respect to. Each is a pytree of
        floating-point or complex arrays.
      has_aux: whether ``fun`` returns a pair, whose second element is not differentiated.
      holomorphic: whether ``fun`` is promised to be holomorphic. Its arguments are complex then.
      allow_int: whether integer arguments are allowed. Their gradient has dtype ``float0``.
      reduce_axes: named axes over which gradients are summed instead of returned for each example.

    Returns:
      A function of the same arguments. It returns a pytree like the argument at ``argnums``, with
      the shapes and dtypes of its arrays (a tuple of such pytrees if ``argnums`` is a sequence);
      with ``has_aux``, a pair of that and ``aux``.

    Raises:
      TypeError: when called, if an argument has the wrong dtype, or ``fun`` does not return a
        scalar.

    Example:
      The gradient with respect to a dict of parameters is a dict of the same names. ``has_aux``
      returns other values that ``fun`` computes beside its loss.

      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> def loss(params, x, y):
      ...     residual = params["w"] * x + params["b"] - y
      ...     return jnp.sum(residual**2), residual
      >>> params = {"w": 2.0, "b": 1.0}
      >>> x, y = jnp.array([1.0, 2.0]), jnp.array([1.0, 3.0])
      >>> gradient, residual = ricci.grad(loss, has_aux=True)(params, x, y)
      >>> {name: float(g) for name, g in gradient.items()}
      {'b': 8.0, 'w': 12.0}
      >>> residual.tolist()
      [2.0, 2.0]

    Notes:
      Arguments passed by keyword are not differentiated: ``grad(loss, argnums=1)(x, y=y)`` raises a
      TypeError.

      ``where`` selects values, and the gradient flows through both of its branches. If the branch
      that is not selected has an infinite derivative, the gradient is NaN, since 0 times infinity
      is. Make the argument of that branch safe as well:

      >>> safe_sqrt = lambda x: jnp.where(x > 0, jnp.sqrt(jnp.where(x > 0, x, 1.0)), 0.0)
      >>> float(ricci.grad(lambda x: jnp.where(x > 0, jnp.sqrt(x), 0.0))(0.0))
      nan
      >>> float(ricci.grad(safe_sqrt)(0.0))
      0.0

      For a complex argument the gradient is the conjugate of the direction of steepest ascent. A
      step of gradient descent subtracts ``jnp.conj`` of it.

    See also:
      ``value_and_grad`` gives the loss too, at no further cost; ``jacrev`` and ``jacfwd`` take
      functions with several results; ``vmap(grad(f), ...)`` gives a gradient for each example.
    """
    value_and_grad_fun = value_and_grad(fun, argnums, has_aux, holomorphic, allow_int, reduce_axes)

    @ir.looks_like(fun)
    @ir.api_boundary
    def grad_fun(*args: object, **kwargs: object) -> Any:
        value, gradient = value_and_grad_fun(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return grad_fun


def value_and_grad(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Any] = (),
) -> Callable[..., Any]:
    """The value and the gradient of a scalar-output function, from one evaluation.

    Args:
      fun: a function that returns a real scalar, or a pair ``(scalar, aux)`` if ``has_aux``.
      argnums: the positional argument(s) to differentiate with respect to.
      has_aux: whether ``fun`` returns a pair, whose second element is not differentiated.
      holomorphic: whether ``fun`` is promised to be holomorphic.
      allow_int: whether integer arguments are allowed. Their gradient has dtype ``float0``.
      reduce_axes: named axes over which gradients are summed instead of returned for each example.

    Returns:
      A function of the same arguments that returns ``(value, gradient)``, or
      ``((value, aux), gradient)`` if ``has_aux``. The gradient is as for ``grad``.

    Raises:
      TypeError: when called, if an argument has the wrong dtype, or ``fun`` does not return a
        scalar.

    Example:
      Three steps of gradient descent, with the loss of each:

      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> step = ricci.jit(ricci.value_and_grad(lambda w: jnp.sum((w - 3.0) ** 2)))
      >>> w = jnp.zeros(2)
      >>> for _ in range(3):
      ...     loss, gradient = step(w)
      ...     w = w - 0.25 * gradient
      ...     print(float(loss), w.tolist())
      18.0 [1.5, 1.5]
      4.5 [2.25, 2.25]
      1.125 [2.625, 2.625]

    See also:
      ``grad``, which describes the pitfalls.
    """
    ir.check_callable("grad", fun)
    positions = _positions(argnums)
    reduce_axes = tuple(reduce_axes)

    @ir.looks_like(fun)
    @ir.api_boundary
    def value_and_grad_fun(*args: object, **kwargs: object) -> Any:
        count = len(args)
        for p in positions:
            if not -count <= p < count:
                raise _errors().position_error(p, count, fun)
        indices = [p % count for p in positions]
        check_distinct("grad", positions, indices)
        leaves, tree = tree_flatten(tuple(args[p] for p in indices))
        smooth: Any = [_is_differentiated(leaf, holomorphic, allow_int) for leaf in leaves]
        if None in smooth:
            raise _errors().input_error(
                leaves, smooth.index(None), (fun, args, kwargs), indices, holomorphic
            )
        out_tree: Any = None  # flat_fun sets both
        auxiliary = Auxiliary() if has_aux else None

        def flat_fun(*flat: ir.ArrayLike) -> list[ir.ArrayLike]:
            nonlocal out_tree
            aux: Any = None
            full: list[Any] = list(args)
            for p, value in zip(indices, tree_unflatten(tree, flat), strict=True):
                full[p] = value
            out = fun(*full, **kwargs)
            if has_aux:
                if not isinstance(out, tuple | list) or len(out) != 2:
                    raise _errors().pair_error(out, fun)
                out, aux = out
            out_leaves, out_tree = tree_flatten(out)
            # A value with an ``aval`` is an array or a tracer, and needs no check.
            if out_leaves and not hasattr(out_leaves[0], "aval") and not _has_type(out_leaves[0]):
                raise _errors().output_error(out_leaves[0], fun)
            if len(out_leaves) != 1 or out is not out_leaves[0]:
                raise _errors().tree_error(out_tree, fun, has_aux)
            return out_leaves if auxiliary is None else [*out_leaves, *auxiliary.take(aux)]

        # One forward pass gives the value and the tape; the gradient is the cotangent 1 of the
        # value, pulled back through the tape.
        tape, in_tangents, results, out_tangents = linearize_function(flat_fun, leaves, smooth)
        value, *aux_leaves = results
        seed = _seed(value, fun, holomorphic)
        out_var = None if type(out_tangents[0]) is Zero else out_tangents[0].atom
        in_vars = [t.atom for t in in_tangents]
        cotangents = iter(pull_back_tape(tape.eqns, in_vars, [out_var], [seed]))
        gradients = [
            as_value(reduced(instantiate(next(cotangents)), reduce_axes))
            if is_smooth
            else ir.float0_zeros(np.shape(leaf))
            for leaf, is_smooth in zip(leaves, smooth, strict=True)
        ]
        gradient = tree_unflatten(tree, gradients)
        gradient = gradient[0] if isinstance(argnums, int) else gradient
        value = ir.as_array(value)
        if auxiliary is not None:
            return (value, auxiliary.filled(aux_leaves)), gradient
        return value, gradient

    return value_and_grad_fun


if not TYPE_CHECKING:  # it would lose the overloads
    grad, value_and_grad = ir.api_boundary(grad), ir.api_boundary(value_and_grad)


def reduced(gradient: ir.ArrayLike, reduce_axes: tuple[Any, ...]) -> ir.ArrayLike:
    """Return a cotangent, summed over the named axes, if any."""
    return ir.axis_reduction.call("sum", gradient, reduce_axes) if reduce_axes else gradient


def _positions(argnums: int | Sequence[int]) -> tuple[int, ...]:
    if isinstance(argnums, int):
        return (argnums,)
    if isinstance(argnums, Sequence) and all(isinstance(p, int) for p in argnums):
        return tuple(argnums)
    raise TypeError(f"argnums must be an integer or a sequence of integers, got {argnums!r}.")


def check_distinct(transform: str, argnums: Sequence[int], indices: Sequence[int]) -> None:
    """Raise a ``TypeError`` where an argument is to be differentiated twice.

    Args:
      transform: the name of the function that was called.
      argnums: the positions as the user wrote them.
      indices: the same, counted from the first argument.
    """
    if len(set(indices)) < len(indices):
        raise TypeError(
            f"{transform}: argnums={tuple(argnums)} names an argument twice. Name each once."
        )


def _is_differentiated(leaf: ir.ArrayLike, holomorphic: bool, allow_int: bool) -> bool | None:
    """Whether an argument's leaf is differentiated; ``None`` if ``grad`` does not take it."""
    try:
        aval = ir.get_aval(leaf)
        if aval.is_high:
            return True
        dtype = aval.dtype
    except TypeError:
        return None
    if ir.is_reference(leaf):
        return None
    if ir.issubdtype(dtype, np.complexfloating if holomorphic else np.inexact):
        return True
    return False if allow_int and not holomorphic else None


def _has_type(value: object) -> bool:
    """Whether a value is an array, a number, or of another class that has a type."""
    try:
        ir.get_aval(value)
    except TypeError:
        return False
    return True


def _seed(value: ir.ArrayLike, fun: Callable[..., Any], holomorphic: bool) -> ir.ArrayLike:
    """Return the cotangent of the scalar result: one, of its type."""
    aval = ir.get_aval(value)
    kind = np.complexfloating if holomorphic else np.floating
    if aval.is_high or aval.shape != () or not ir.issubdtype(aval.dtype, kind):
        raise _errors().output_type_error(aval, fun, holomorphic)
    return unit_cotangent(aval)


def _errors() -> ModuleType:
    from . import _gradient_errors  # noqa: PLC0415 - lazy: only errors need it

    return _gradient_errors
