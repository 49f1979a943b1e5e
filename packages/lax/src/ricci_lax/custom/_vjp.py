"""``custom_vjp``: functions with a custom reverse-mode derivative rule."""

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any

from ricci_ir import PyTree, Tracer, UnexpectedTracerError, api_boundary, check_distinct, exported
from ricci_pytree import tree_leaves

from ._backward_logs import without_logs
from ._call import Call, CustomFunction
from ._derived_rules import recomputable
from ._eager_call import EagerCall
from ._shared_rules import is_ours
from ._vjp_primitives import custom_vjp_call_p, custom_vjp_open_p
from ._vjp_rules import Rules

__all__ = ["custom_vjp"]


@exported
class custom_vjp[**P, R](CustomFunction[P, R]):
    """A function whose vjp is specified rather than derived.

    The function is then differentiated in reverse mode alone. Without differentiation ``fun`` runs
    as it is.

    Args:
      fun: a function of pytrees of arrays.
      nondiff_argnums: positions of arguments that are not differentiated: the backward rule gets
        them first, as they are.
      nondiff_argnames: the same by name.

    Example:
      The identity, whose gradient is clipped on its way back. The limit is an argument that is not
      differentiated.

      >>> from functools import partial
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> @partial(ricci.custom_vjp, nondiff_argnums=(0,))
      ... def clip_gradient(limit, x):
      ...     return x
      >>> def forward(limit, x):
      ...     return x, None  # the value, and no residuals
      >>> def backward(limit, residuals, ct):
      ...     return (jnp.clip(ct, -limit, limit),)
      >>> clip_gradient.defvjp(forward, backward)
      >>> loss = lambda x: jnp.sum(clip_gradient(1.0, x) ** 2)
      >>> ricci.grad(loss)(jnp.array([0.25, 5.0, -5.0])).tolist()
      [0.5, 1.0, -1.0]

    Notes:
      The forward rule has the signature of ``fun``; the backward rule gets the arguments at
      ``nondiff_argnums`` first, then the residuals and the cotangent, and returns a tuple with one
      cotangent for each other argument, also if there is only one.

      Residuals are arrays: a shape or a string that the backward rule needs is a
      ``nondiff_argnums`` argument. A traced array may not be one: pass it as an ordinary
      argument, with ``None`` for its cotangent.

    See also:
      ``custom_jvp``, which serves both modes; ``custom_gradient``, for a rule that is a closure;
      ``closure_convert``.
    """

    if TYPE_CHECKING:
        # For pyright, to which partial(custom_vjp, ...) is a decorator of unknown type without it.
        def __new__[**Q, T](
            cls,
            fun: Callable[Q, T],
            nondiff_argnums: Sequence[int] = (),
            nondiff_argnames: Iterable[str] = (),
        ) -> "custom_vjp[Q, T]": ...

    def __init__(
        self,
        fun: Callable[P, R],
        nondiff_argnums: Sequence[int] = (),
        nondiff_argnames: Iterable[str] = (),
    ):
        super().__init__(fun, nondiff_argnums, nondiff_argnames)
        self.fwd: Callable[..., tuple[Any, Any]] | None = None
        self.bwd: Callable[..., tuple[Any, ...]] | None = None
        self.symbolic_zeros: bool = False
        self.optimize_remat: bool = False
        self.takes_accums: bool = False
        self.has_logs: bool = False

    def defvjp(
        self,
        fwd: Callable[..., tuple[Any, Any]],
        bwd: Callable[..., tuple[Any, ...]],
        symbolic_zeros: bool = False,
        optimize_remat: bool = False,
        generic_batching: bool = False,
    ) -> None:
        """Set the rules.

        Args:
          fwd: takes the function's arguments, returns ``(output, residuals)``.
          bwd: ``bwd(*nondiff_args, residuals, ct)`` returns a tuple with a cotangent for each
            differentiable argument; ``None`` is zero.
          symbolic_zeros: ``fwd`` gets ``CustomVJPPrimal`` and ``bwd`` ``SymbolicZero``.
          optimize_remat: whether the forward pass of a ``checkpoint`` runs the function itself in
            place of ``fwd``, whose residuals it does not store; its value is then that of the
            function, in case ``fwd`` computes another.
          generic_batching: no effect; rules are always called with the arrays of one example.
        """
        self._define(fwd, bwd, symbolic_zeros, optimize_remat)

    def _define(
        self,
        fwd: Callable[..., tuple[Any, Any]],
        bwd: Callable[..., Any],
        symbolic_zeros: bool = False,
        optimize_remat: bool = False,
        *further: Callable[..., Any],
        takes_accums: bool = False,
        has_logs: bool = False,
    ) -> None:
        """Set the rules, of which those in ``further`` are called by the others."""
        self.fwd = fwd
        self.bwd = bwd
        self.symbolic_zeros = symbolic_zeros
        self.optimize_remat = optimize_remat
        self.takes_accums = takes_accums
        self.has_logs = has_logs
        self.is_shared: bool = is_ours(self.fun, fwd, bwd, *further)

    def defvjp_with_logs(
        self,
        fwd: Callable[..., tuple[Any, Any]],
        bwd: Callable[..., tuple[tuple[Any, ...], dict[str, Any] | None]],
        symbolic_zeros: bool = False,
        optimize_remat: bool = False,
        generic_batching: bool = False,
    ) -> None:
        """Set the rules, as ``defvjp`` does; the backward rule returns a log as well.

        Args:
          bwd: returns a pair of the tuple of cotangents and a dict (or ``None``) of entries for a
            log of the backward pass, which ``pullback.with_logs`` returns.
          fwd, symbolic_zeros, optimize_remat, generic_batching: see ``defvjp``.
        """
        rule = self._without_logs(bwd)
        self._define(fwd, rule, symbolic_zeros, optimize_remat, has_logs=True)

    def _without_logs(self, bwd: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(bwd)
        def cotangents(*args: object) -> PyTree:
            return without_logs(self.name, bwd(*args))

        return cotangents

    def defvjp_with_accums(
        self,
        fwd: Callable[..., tuple[Any, Any]],
        bwd: Callable[..., dict[str, Any] | None],
        symbolic_zeros: bool = False,
        optimize_remat: bool = False,
        generic_batching: bool = False,
    ) -> None:
        """Set the rules, as ``defvjp`` does; the backward rule adds cotangents to accumulators.

        Args:
          bwd: ``bwd(*nondiff_args, residuals, ct, *accums)`` gets for each differentiable argument
            a pytree of its structure, whose leaves are accumulators. Each ``accum(x)`` of such a
            leaf adds a term to the cotangent, which is zero without one. The leaves of what is not
            differentiated are ``custom_derivatives.NullAccum``, whose terms are dropped. Returns
            ``None`` or a log, a dict.
          fwd, symbolic_zeros, optimize_remat, generic_batching: see ``defvjp``.

        Example:
          >>> import ricci
          >>> product = ricci.custom_vjp(lambda x, y: x * y)
          >>> def backward(residuals, ct, x_accum, y_accum):
          ...     x, y = residuals
          ...     x_accum.accum(ct * y)
          ...     y_accum.accum(ct * x)
          >>> product.defvjp_with_accums(lambda x, y: (x * y, (x, y)), backward)
          >>> [float(ct) for ct in ricci.grad(product, (0, 1))(2.0, 3.0)]
          [3.0, 2.0]
        """
        self._define(fwd, bwd, symbolic_zeros, optimize_remat, takes_accums=True, has_logs=True)

    def defremat(
        self,
        fwd: Callable[..., tuple[Any, Any]],
        rem: Callable[..., tuple[Any, Any]],
        bwd: Callable[..., tuple[Any, ...]],
        generic_batching: bool = False,
    ) -> None:
        """Set the rules, with one that computes the residuals from values that ``fwd`` saves.

        Inside of ``checkpoint`` the forward pass calls ``fwd`` and stores the saved values, under
        any policy; the backward pass calls ``rem``. Outside of it the forward pass calls both.

        Args:
          fwd: takes the function's arguments, returns ``(output, saved)``.
          rem: ``rem(saved, *args)`` returns ``(output, residuals)``. The output has the structure
            and types of the function's, which it replaces in the backward pass of ``checkpoint``.
          bwd: takes the residuals of ``rem``; see ``defvjp``.
          generic_batching: see ``defvjp``.

        Example:
          The exponential is stored, the sine and the cosine are computed again:

          >>> import ricci
          >>> import ricci.numpy as jnp
          >>> @ricci.custom_vjp
          ... def wave(x):
          ...     return jnp.sin(jnp.exp(x))
          >>> def forward(x):
          ...     angle = jnp.exp(x)
          ...     return jnp.sin(angle), angle
          >>> def again(angle, x):
          ...     return jnp.sin(angle), jnp.cos(angle) * angle
          >>> wave.defremat(forward, again, lambda slope, ct: (ct * slope,))
          >>> f = ricci.checkpoint(lambda x: jnp.square(wave(x)))
          >>> round(float(ricci.grad(f)(0.0)), 4)
          0.9093
          >>> ricci.ad_checkpoint.print_saved_residuals(f, 0.0)
          f32[] named 'saved by defremat' from ...
        """
        self._define(recomputable(self.name, fwd, rem), bwd, False, False, rem)

    def defremat_with_logs(
        self,
        fwd: Callable[..., tuple[Any, Any]],
        rem: Callable[..., tuple[Any, Any]],
        bwd: Callable[..., tuple[tuple[Any, ...], dict[str, Any] | None]],
        generic_batching: bool = False,
    ) -> None:
        """Set the rules, as ``defremat`` does; the backward rule returns a log as well.

        Args:
          bwd: see ``defvjp_with_logs``.
          fwd, rem, generic_batching: see ``defremat``.
        """
        forward = recomputable(self.name, fwd, rem)
        self._define(forward, self._without_logs(bwd), False, False, rem, has_logs=True)

    @api_boundary
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if self.fwd is None or self.bwd is None:
            raise AttributeError(
                f"{self.name} has no derivative yet: its custom_vjp rules are missing. Give "
                f"them with {self.name}.defvjp."
            )
        return self.apply(args, kwargs, self._bind)

    def resolve(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
        """As for any custom function; arguments that are not differentiated are not traced."""
        call = super().resolve(args, kwargs)
        for i, value in call.static:
            if any(isinstance(x, Tracer) for x in tree_leaves(value)):
                raise UnexpectedTracerError(
                    f"{self.name}: argument {i} is among nondiff_argnums, but it holds a traced "
                    "array. A custom_vjp function is given traced arrays as ordinary arguments: "
                    f"take {i} out of nondiff_argnums, and let the backward rule return None as "
                    "its cotangent."
                )
        check_distinct(self.name, call.leaves, call.paths)
        return call

    def _bind(self, call, operands, program, const_count, out_tree) -> list[Any]:
        if isinstance(program, EagerCall):
            rules = Rules(self, call, 0, program)
            return custom_vjp_open_p.bind(
                *operands,
                bwd=rules.backward,
                call=program,
                fwd=rules.forward,
                symbolic_zeros=self.symbolic_zeros,
            )
        rules = Rules(self, call, const_count, out_tree)
        return custom_vjp_call_p.bind(
            *operands,
            bwd=rules.backward,
            call_jaxpr=program,
            fwd=rules.forward,
            name=self.name,
            symbolic_zeros=self.symbolic_zeros,
        )
