"""Recomputation: ``custom_remat``, and checkpoints added to differentiated functions."""

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from typing import Any

from ricci_ir import (
    Jaxpr,
    PyTree,
    Tracer,
    UnexpectedTracerError,
    axis_sizes,
    context,
    eval_jaxpr,
    exported,
    get_aval,
    jaxprs_in_params,
    looks_like,
    single_equation,
    warn_user,
)
from ricci_lax.checkpoint_policies import Policy
from ricci_lax.control_flow._bodies import trace_body
from ricci_lax.control_flow._scan import scan_p
from ricci_lax.custom._vjp import custom_vjp
from ricci_lax.structure._names import name_p, with_crossings
from ricci_pytree import read_signature, tree_flatten

from ._checkpoint import checkpoint, remat_p

__all__ = ["Differentiated", "custom_remat", "recomputed", "recomputed_in_scans"]

type _Flat = Callable[..., Sequence[Any]]


@exported
class Differentiated:
    """Statistics of the functions that are differentiated.

    Attributes:
      jaxprs: their jaxprs.
      nonzeros: for each argument of each, whether it is differentiated with respect to that. The
        arguments are the last inputs of its jaxpr; those before are values that it closes over.
      axis_sizes: the named axes that each is traced under, with their sizes.
      unstaged: functions with a rule that closes over one of their traced arrays. They have no
        jaxpr that can be differentiated after their trace, and are not in the others.
      scans: the number of scans in them.
      names: the names of values (by ``checkpoint_name``) in them.
    """

    __slots__ = ("axis_sizes", "jaxprs", "names", "nonzeros", "scans", "unstaged")

    def __init__(self):
        self.jaxprs: list[Jaxpr] = []
        self.nonzeros: list[tuple[bool, ...]] = []
        self.axis_sizes: list[Any] = []
        self.unstaged: list[_Flat] = []
        self.scans: int = 0
        self.names: set[str] = set()

    def look(self, fun: _Flat) -> _Flat:
        """Return the function, whose jaxpr is recorded when it is called."""

        def run(*leaves: object) -> Sequence[Any]:
            count = len(self.jaxprs)
            jaxpr, consts = traced_flat(fun, leaves)
            self.jaxprs.append(jaxpr)
            trace = context.trace
            self.nonzeros.append(
                tuple(isinstance(leaf, Tracer) and leaf._trace is trace for leaf in leaves)
            )
            self.axis_sizes.append(axis_sizes.value)
            self._read(jaxpr)
            try:
                return eval_jaxpr(jaxpr, jaxpr.consts, *consts, *leaves)
            except UnexpectedTracerError:
                for records in (self.jaxprs, self.nonzeros, self.axis_sizes):
                    del records[count:]
                results = fun(*leaves)  # raises again if an array of another trace escaped
                self.unstaged.append(fun)
                return results

        return run

    def _read(self, jaxpr: Jaxpr) -> None:
        for eqn in jaxpr.eqns:
            self.scans += eqn.primitive is scan_p
            if eqn.primitive is name_p:
                self.names.add(eqn.params["name"])
            for inner in jaxprs_in_params(eqn.params):
                self._read(inner)


def recomputed(fun: _Flat, policy: Policy | None) -> _Flat:
    """A flat function with a checkpoint around it.

    Args:
      fun: a function of flat arrays.
      policy: the policy of the checkpoint.

    Returns:
      A function of the same arguments and results.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci_lax import recomputed
      >>> flat = recomputed(lambda x: [jnp.sin(x)], None)
      >>> [float(y) for y in flat(0.0)]
      [0.0]
    """
    return checkpoint(fun, policy=policy)


def recomputed_in_scans(fun: _Flat, policy: Policy | None) -> _Flat:
    """A flat function with a checkpoint around the body of each of its scans.

    Args:
      fun: a function of flat arrays.
      policy: the policy of the checkpoints.

    Returns:
      A function of the same arguments and results.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci_lax import recomputed_in_scans
      >>> flat = recomputed_in_scans(lambda x: [jnp.sin(x)], None)
      >>> [float(y) for y in flat(0.0)]
      [0.0]
    """

    def run(*leaves: object) -> Sequence[Any]:
        jaxpr, consts = traced_flat(fun, leaves)
        jaxpr = in_scans(jaxpr, policy)
        return eval_jaxpr(jaxpr, jaxpr.consts, *consts, *leaves)

    return run


def traced_flat(fun: _Flat, leaves: Sequence[Any]) -> tuple[Jaxpr, Sequence[Any]]:
    """Trace a flat function to a jaxpr; also the values of its leading arguments, its constants."""
    _, tree = tree_flatten(tuple(leaves))
    body = trace_body("checkpoint", fun, tree, tuple(map(get_aval, leaves)), allowed=None)
    return body.jaxpr, body.consts


def in_scans(jaxpr: Jaxpr, policy: Policy | None, name_carry: bool = False) -> Jaxpr:
    """A jaxpr with a checkpoint around the body of each scan; inner scans first.

    Args:
      jaxpr: the jaxpr.
      policy: the policy of the checkpoints.
      name_carry: whether the carry has a ``CrossingName`` in them, by which the policy moves it.
    """
    eqns = []
    for eqn in jaxpr.eqns:
        carry = range(0)
        if name_carry and eqn.primitive is scan_p:
            start = eqn.params["num_consts"]
            carry = range(start, start + eqn.params["num_carry"])
        scan = carry if eqn.primitive is scan_p else None
        change = partial(_changed, carry=scan, policy=policy, name_carry=name_carry)
        params = {name: change(value) for name, value in eqn.params.items()}
        same = all(params[name] is value for name, value in eqn.params.items())
        eqns.append(eqn if same else eqn.replace(params=params))
    return jaxpr if eqns == jaxpr.eqns else jaxpr.replace(eqns=eqns)


def _changed(
    value: object, carry: Collection[int] | None, policy: Policy | None, name_carry: bool
) -> Any:
    """A parameter of an equation, with its jaxprs changed.

    Args:
      value: the parameter.
      carry: of a scan, the inputs of its body to be named; ``None`` of other equations.
      policy: see ``in_scans``.
      name_carry: likewise.
    """
    if type(value) is tuple and value and all(isinstance(item, Jaxpr) for item in value):
        changed = tuple(_changed(item, carry, policy, name_carry) for item in value)
        return value if all(map(_is, changed, value)) else changed
    if not isinstance(value, Jaxpr):
        return value
    inner = in_scans(value, policy, name_carry)
    if carry is None:
        return inner
    if carry:
        inner = with_crossings(inner, [i in carry for i in range(len(inner.all_invars))])
    # No barrier is needed: the forward and the backward pass are separate loops, which XLA does not
    # merge.
    options = {"policy": policy, "prevent_cse": False, "differentiated": False}
    whole = single_equation(remat_p, tuple(inner.in_avals), {"jaxpr": inner, **options})
    return inner if whole is None else whole


def _is(a: object, b: object) -> bool:
    return a is b


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
    Deprecated: ``custom_vjp.defremat`` takes the same rules.

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
      f32[] named 'saved by defremat' from ...

    See also:
      ``custom_vjp.defremat``; ``checkpoint`` with a policy, which decides by operation.
    """
    warn_user(
        "custom_remat is deprecated, and gone from later versions of JAX: use custom_vjp.defremat.",
        DeprecationWarning,
    )
    numbers = {static_argnums} if isinstance(static_argnums, int) else set(static_argnums)
    names = {static_argnames} if isinstance(static_argnames, str) else set(static_argnames)
    signature = read_signature(f)
    if names and signature is not None:
        numbers |= {i for i, name in enumerate(signature.parameters) if name in names}
    rule = custom_vjp(f, nondiff_argnums=tuple(sorted(numbers)))
    backward: Any = f_bwd
    # The backward rule gets no static arguments, which come first.
    rule.defremat(partial(f_fwd, None), f_rem, lambda *args: backward(*args[-2:]))

    @looks_like(f)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        return rule(*args, **kwargs)

    return call
