"""``custom_remat``: functions with custom residuals and recomputation under ``checkpoint``."""

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any

from ricci_ir import PyTree
from ricci_lax.checkpoint_policies import KeptName
from ricci_lax.custom._vjp import custom_vjp
from ricci_pytree import read_signature

from ._checkpoint import checkpoint_name

__all__ = ["custom_remat"]

_KEPT = KeptName("saved by custom_remat")


def custom_remat[**P, R](
    f: Callable[P, R],
    f_fwd: Callable[..., tuple[R, PyTree]],
    f_rem: Callable[..., tuple[R, PyTree]],
    f_bwd: Callable[..., Sequence[PyTree]],
    *,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Iterable[str] = (),
) -> Callable[P, R]:
    """A function with custom residuals and recomputation under ``checkpoint``.

    Inside of ``checkpoint`` the forward pass runs ``f_fwd`` and stores the values that it saves,
    under any policy. The backward pass runs ``f_rem``, which recomputes the residuals from these,
    and then ``f_bwd``. Outside of it they are the reverse-mode rule; there is no forward mode.

    Args:
      f: the function.
      f_fwd: ``f_fwd(policy, *args)`` returns the result and the saved pytree of arrays. The
        policy is ``None``.
      f_rem: ``f_rem(saved, *args)`` returns the result and the residuals.
      f_bwd: ``f_bwd(residuals, ct)`` returns the cotangents of the arguments that are not static.
      static_argnums, static_argnames: arguments that are not arrays.

    Returns:
      A function with the arguments and results of ``f``.

    Example:
      The exponential is stored, the cosine is computed again:

      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> def fwd(policy, x):
      ...     angle = jnp.exp(x)
      ...     return jnp.sin(angle), angle
      >>> def again(angle, x):
      ...     return jnp.sin(angle), jnp.cos(angle) * angle
      >>> def bwd(slope, ct):
      ...     return (ct * slope,)
      >>> wave = ricci.custom_remat(lambda x: jnp.sin(jnp.exp(x)), fwd, again, bwd)
      >>> round(float(ricci.grad(ricci.checkpoint(wave))(0.0)), 4)
      0.5403
      >>> ricci.ad_checkpoint.print_saved_residuals(ricci.checkpoint(wave), 0.0)
      f32[] from the argument x
      f32[] named 'saved by custom_remat' from ...

    See also:
      ``checkpoint`` with a policy, which decides by operation.
    """
    numbers = {static_argnums} if isinstance(static_argnums, int) else set(static_argnums)
    names = {static_argnames} if isinstance(static_argnames, str) else set(static_argnames)
    signature = read_signature(f)
    if names and signature is not None:
        numbers |= {i for i, name in enumerate(signature.parameters) if name in names}
    static = sorted(numbers)

    def forward(*args: Any) -> tuple[Any, Any]:
        result, saved = f_fwd(None, *args)
        others = tuple(x for i, x in enumerate(args) if i not in numbers)
        return result, (checkpoint_name(saved, _KEPT), others)

    def backward(*given: Any) -> Any:
        (saved, others), ct = given[-2:]
        args = list(others)
        for position, value in zip(static, given[:-2], strict=True):
            args.insert(position, value)
        _, residuals = f_rem(saved, *args)
        return f_bwd(residuals, ct)

    rule = custom_vjp(f, nondiff_argnums=tuple(static))
    rule.defvjp(forward, backward)

    @wraps(f)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        return rule(*args, **kwargs)

    return call
