"""``HiPrim``: operations that users define, on arrays and on values made of several arrays.

All of them are one primitive, ``call_hi_primitive``, whose rules are the methods of the object in
its parameter. Before a jaxpr is compiled, ``_lowering`` replaces its calls by their expansions.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import compress
from typing import Any, NamedTuple, NoReturn, final

import ricci_autodiff as ad
import ricci_ir as ir
import ricci_pytree as pytree
from ricci_batching import Axis, batch_flat, batched_at
from ricci_lax.checkpoint_policies import Policy, saves
from ricci_lax.custom import GradAccum, NullAccum, ValAccum
from ricci_lax.custom._backward_logs import checked_pair, run_with_logs, tap_rule, without_logs
from ricci_lax.custom._derived_rules import kept_array, substituted
from ricci_lax.structure._identity import stop_gradient

from ._batching import unmap_avals

__all__ = ["HiPrim", "call_hi_primitive_p"]


# The expansions of primitives whose operands may be made of several arrays.
expansion_rules: ir.RuleTable = ir.rule_table("expand", required=False)


class HiPrimitive(ir.Primitive):
    """A primitive whose operands may be tracers of several arrays, as users see them."""

    __slots__ = ()

    def bind(self, *args: object, **params: object) -> ir.PyTree:
        """Apply the primitive in the current trace."""
        return super().bind(*map(ir.without_methods, args), **params)


ir.primitive_classes["expand"] = HiPrimitive


@ir.exported
class HiPrim:
    """An operation on values that may be made of several arrays.

    A subclass sets ``in_avals``, ``out_aval`` and ``params`` in ``__init__``, calls that of this
    class, and defines ``expand``. It defines the rules of the transformations that it supports.
    An object is one operation with its parameters: call it to apply it.

    Attributes:
      in_avals: a tuple with the type of each argument, or a pytree of types.
      out_aval: the type of the result, or a pytree of types.
      params: the parameters, which are attributes, too.
    """

    in_avals: tuple[ir.PyTree, ...]
    out_aval: ir.PyTree
    params: dict[str, Any]
    effects: frozenset[Any] = frozenset()
    skip_linearization_on_zero_tangents: bool = False

    def __init__(self):
        for name in ("in_avals", "out_aval", "params"):
            if not hasattr(self, name):
                raise AttributeError(f"subclass __init__ should set `self.{name}`")
        ir.hi_values.in_use = True
        self.in_avals_flat: list[ir.PyTree]
        self.in_tree: pytree.PyTreeDef
        self.out_avals_flat: list[ir.PyTree]
        self.out_tree: pytree.PyTreeDef
        self.in_avals_flat, self.in_tree = pytree.tree_flatten(self.in_avals)
        self.out_avals_flat, self.out_tree = pytree.tree_flatten(self.out_aval)
        self.__dict__.update(self.params)

    def __call__(self, *args: ir.PyTree) -> ir.PyTree:
        """Apply the operation in the current trace."""
        leaves, tree = pytree.tree_flatten(args)
        if tree != self.in_tree:
            raise TypeError(f"{type(self).__name__} takes {self.in_tree}, got {tree}.")
        self.check(*self.in_tree.unflatten(map(ir.typeof, leaves)))
        trace = _recording_trace(leaves)
        if trace is None:
            outs = call_hi_primitive_p.bind(*leaves, _prim=self)
        else:
            with ir.set_trace(trace):
                outs = self.staging(trace, ir.current_source(), *map(ir.without_methods, leaves))
        return self.out_tree.unflatten(map(ir.with_methods, outs))

    def expand(self, *args: ir.PyTree) -> ir.PyTree:
        """The operation in terms of others."""
        self._missing("expand", "evaluation")

    def check(self, *arg_tys: ir.PyTree) -> None:
        """Raise an error unless the types of the arguments are accepted."""

    def staging(self, trace: ir.Trace, source_info: object, *args: ir.PyTree) -> ir.PyTree:
        """Record the operation in a jaxpr; ``args`` are flat, as is the result."""
        return trace.process(call_hi_primitive_p, args, {"_prim": self})

    def jvp(
        self, primals: tuple[ir.PyTree, ...], tangents: tuple[ir.PyTree, ...]
    ) -> tuple[ir.PyTree, ir.PyTree]:
        """The result and its tangent; tangents may be ``Zero``."""
        self._missing("jvp", "jvp")

    def lin(
        self, nzs_in: tuple[ir.PyTree, ...], *primals: ir.PyTree
    ) -> tuple[ir.PyTree, ir.PyTree]:
        """The result, and the residuals for ``linearized``."""
        self._missing("lin` and `linearized", "linearize")

    def linearized(self, residuals: ir.PyTree, *tangents: ir.PyTree) -> ir.PyTree:
        """The tangent of the result, linear in the tangents of the arguments."""
        self._missing("lin` and `linearized", "linearize")

    def vjp_fwd(
        self, nzs_in: tuple[ir.PyTree, ...], /, *args: ir.PyTree
    ) -> tuple[ir.PyTree, ir.PyTree]:
        """The result, and the residuals for the backward rule."""
        self._missing("vjp_fwd", "grad")

    def vjp_bwd(
        self, res: ir.PyTree, outgrad: ir.PyTree, /, *arg_accums: ir.PyTree
    ) -> dict[Any, Any] | None:
        """Add the cotangents of the arguments to their accumulators; returns a log, or ``None``."""
        result = self.vjp_bwd_retval_logs(res, outgrad)
        retval, logs = checked_pair(type(self).__name__, result)
        cotangents = self.in_tree.flatten_up_to(tuple(retval))
        for ct, accumulator in zip(cotangents, self.in_tree.flatten_up_to(arg_accums), strict=True):
            accumulator.accum(ct)
        return logs

    def vjp_bwd_retval_logs(
        self, res: ir.PyTree, outgrad: ir.PyTree, /
    ) -> tuple[tuple[ir.PyTree, ...], dict[Any, Any] | None]:
        """The cotangents of the arguments, and entries for the log of ``pullback.with_logs``."""
        return self.vjp_bwd_retval(res, outgrad), None

    def vjp_bwd_retval(self, res: ir.PyTree, outgrad: ir.PyTree, /) -> tuple[ir.PyTree, ...]:
        """The cotangents of the arguments."""
        self._missing("vjp_bwd` or `vjp_bwd_retval", "grad")

    def transpose(self, out_ct: ir.PyTree, *maybe_accums: ir.PyTree) -> None:
        """Add the cotangents of the arguments in which the operation is linear to accumulators."""
        self._missing("transpose", "transposition")

    def batch(
        self, axis_data: ir.PyTree, args: tuple[ir.PyTree, ...], dims: tuple[ir.PyTree, ...]
    ) -> ir.PyTree:
        """The operation on batches: the result, and its batch dimensions or mapping specs."""
        out_dim = self.batch_dim_rule(axis_data, dims)
        return _Mapped(self, axis_data, args, dims, out_dim)(*args), out_dim

    def batch_dim_rule(self, axis_data: ir.PyTree, dims: tuple[ir.PyTree, ...], /) -> ir.PyTree:
        """The batch dimensions of the result, from those of the arguments."""
        self._missing("batch` or `batch_dim_rule", "vmap")

    def dce(
        self, used_outs: ir.PyTree, live_ins: ir.PyTree
    ) -> tuple[ir.PyTree, ir.PyTree, "HiPrim | None"]:
        """The operation of the results that are used, which may take fewer arguments.

        Args:
          used_outs: for each part of the result, whether it is used.
          live_ins: for each part of the arguments, whether it is computed.

        Returns:
          For each part of the arguments whether the smaller operation takes it, for each part of
          the result whether it returns it, and the operation, or ``None`` if it is dead. The bools
          may be prefixes of these pytrees.
        """
        if self.effects or any(pytree.tree_leaves(used_outs)):
            return True, True, self
        return False, False, None

    def remat(
        self, trace: ir.PyTree, *args: ir.PyTree
    ) -> tuple[ir.PyTree, ir.PyTree, Callable[..., Any]]:
        """The operation inside of ``checkpoint``, where the policy does not save its result.

        Args:
          trace: has the policy as its attribute ``policy``.
          args: the arguments.

        Returns:
          The result, a pytree of saved arrays, and ``again(saved, *args)``, the result in the
          backward pass, which is differentiated in ``args``.
        """
        return self(*args), (), lambda _, *args: self(*args)

    def pp_params(self) -> dict[str, Any]:
        """The parameters in printed jaxprs; by default all of them."""
        return self.params

    def _missing(self, method: str, purpose: str) -> NoReturn:
        raise NotImplementedError(
            f"for {purpose} support, subclass {type(self)} must implement `{method}`"
        )

    def _key(self) -> tuple[ir.PyTree, ...]:
        types = self.in_tree, tuple(self.in_avals_flat), self.out_tree, tuple(self.out_avals_flat)
        return type(self), *types, tuple(self.params.items())

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, HiPrim) and self._key() == other._key())

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        shown = " ".join(f"{name}={value}" for name, value in self.pp_params().items())
        return f"{type(self).__name__}[{shown}]" if shown else type(self).__name__


def _recording_trace(leaves: Sequence[ir.PyTree]) -> ir.JaxprTrace | None:
    """The trace that will record an operation in a jaxpr, if one will."""
    trace: ir.PyTree = ir.context.trace
    # From the innermost trace outwards: one to which an argument belongs applies its own rule
    # instead.
    while trace is not ir.eval_trace and not isinstance(trace, ir.JaxprTrace):
        if any(isinstance(x, ir.Tracer) and x._trace is trace for x in leaves):
            return None
        trace = trace.parent
    return trace if isinstance(trace, ir.JaxprTrace) else None


@final
class _Mapped(HiPrim):
    """An operation mapped over an axis, by its expansion."""

    def __init__(
        self, prim: HiPrim, axis: ir.PyTree, args: ir.PyTree, dims: ir.PyTree, out_dim: ir.PyTree
    ):
        self.in_avals = pytree.tree_map(ir.typeof, args)
        self.out_aval = unmap_avals(axis, prim.out_aval, out_dim)
        self.params = {"prim": prim, "axis_data": axis, "in_dims": dims, "out_dim": out_dim}
        super().__init__()

    def expand(self, *args: ir.PyTree) -> ir.PyTree:
        """Map the expansion."""
        prim: HiPrim = self.params["prim"]
        return self._map(prim.expand, prim.out_tree, args, self.params["in_dims"])

    def jvp(
        self, primals: tuple[ir.PyTree, ...], tangents: tuple[ir.PyTree, ...]
    ) -> tuple[ir.PyTree, ir.PyTree]:
        """Map the rule."""
        prim: HiPrim = self.params["prim"]
        dims = self.params["in_dims"]
        run = lambda primals, tangents: prim.jvp(primals, tangents)
        # ``vmap`` maps arrays only: symbolic zeros become arrays before, for the user's rule to be
        # mapped.
        filled = pytree.tree_map(ad.instantiate, tangents, is_leaf=_is_zero)
        tree = pytree.treedef_tuple((prim.out_tree, prim.out_tree))
        return self._map(run, tree, (primals, filled), (dims, dims))

    def _map(
        self, fun: Callable[..., Any], out_tree: ir.PyTree, args: ir.PyTree, dims: ir.PyTree
    ) -> ir.PyTree:
        axis = self.params["axis_data"]
        leaves, tree = pytree.tree_flatten(args)
        run = lambda *flat: out_tree.flatten_up_to(fun(*tree.unflatten(flat)))
        values, out_dims = batch_flat(run, axis, leaves, tree.flatten_up_to(dims))
        one = self.params["prim"].out_tree.flatten_up_to(self.params["out_dim"])
        targets = one * (len(values) // len(one))
        moved = [
            x if t is None or t == d else batched_at(x, d, axis, t)
            for x, d, t in zip(values, out_dims, targets, strict=True)
        ]
        return out_tree.unflatten(moved)


def _is_zero(x: object) -> bool:
    return type(x) is ad.Zero


# The rules


def _jvp(primals, tangents, *, _prim: HiPrim):
    unflatten, flatten = _prim.in_tree.unflatten, _prim.out_tree.flatten_up_to
    primals = list(map(ir.with_methods, primals))
    out, out_tangent = _prim.jvp(unflatten(primals), unflatten(tangents))
    return _plain(flatten(out)), [
        ad.Zero(ad.tangent_aval(aval)) if t is None else ir.without_methods(t)
        for t, aval in zip(flatten(out_tangent), _prim.out_avals_flat, strict=True)
    ]


def _plain(xs: Iterable[ir.PyTree]) -> list[ir.PyTree]:
    return list(map(ir.without_methods, xs))


def _overrides(prim: HiPrim, method: str) -> bool:
    return getattr(type(prim), method) is not getattr(HiPrim, method)


def _linearize(tape: ad.Tape, primals, tangents, *, _prim: HiPrim):
    nonzeros = _prim.in_tree.unflatten([not _is_zero(t) for t in tangents])
    unflatten = _prim.in_tree.unflatten
    primals = list(map(ir.with_methods, primals))
    # A backward rule of the user's has precedence, then a linearization, then forward mode, whose
    # tangents the tape records.
    if _overrides(_prim, "vjp_fwd"):
        out, res = _prim.vjp_fwd(nonzeros, *unflatten(primals))
        results = _plain(_prim.out_tree.flatten_up_to(out))
        return results, _record(tape, _prim, res, primals, tangents)
    if _overrides(_prim, "lin"):
        out, res = _prim.lin(nonzeros, *unflatten(primals))
        with ir.set_trace(tape):
            out_tangents = _prim.linearized(res, *unflatten(tangents))
        flatten = _prim.out_tree.flatten_up_to
        return _plain(flatten(out)), _plain(flatten(out_tangents))
    if not _overrides(_prim, "jvp"):
        _prim.vjp_fwd(nonzeros, *unflatten(primals))  # raises the error of a missing rule
    with ir.set_trace(tape):
        return _jvp(primals, tangents, _prim=_prim)


def _record(
    tape: ad.Tape,
    prim: HiPrim,
    res: ir.PyTree,
    primals: Sequence[ir.PyTree],
    tangents: Sequence[ir.PyTree],
) -> list[ir.PyTree]:
    """Record the tangents of a result of which only the backward rule is known."""
    leaves, tree = pytree.tree_flatten(res)
    # Residuals that are not arrays are parameters of the recorded operation.
    is_array = [isinstance(x, ir.Array) or type(x) in ir.hi_values.rules for x in leaves]
    arrays = [x for x, flag in zip(leaves, is_array, strict=True) if flag]
    # ``linearize`` computes the tangents forwards, from the primals.
    has_forward_rule = _overrides(prim, "lin") or _overrides(prim, "jvp")
    saved = primals if has_forward_rule else ()
    static = tuple(None if flag else (x,) for x, flag in zip(leaves, is_array, strict=True))
    operands = [t for t in tangents if not _is_zero(t)]
    return tape.record(
        hi_tangent_p,
        tuple(_plain((*arrays, *saved, *operands))),
        {
            "_prim": prim,
            "tree": tree,
            "log_tree": None,
            "static": static,
            "zeros": tuple(map(_is_zero, tangents)),
            "num_primals": len(saved),
        },
    )


def _transpose(cts, *args, _prim: HiPrim):
    accumulators = [
        _accumulator(x) if ad.is_undefined_primal(x) else ir.with_methods(x) for x in args
    ]
    _prim.transpose(
        _prim.out_tree.unflatten(map(ir.with_methods, cts)), *_prim.in_tree.unflatten(accumulators)
    )
    return [
        ir.without_methods(x.freeze()) if isinstance(x, GradAccum) else None for x in accumulators
    ]


def _accumulator(x: ad.UndefinedPrimal) -> GradAccum:
    aval = ad.cotangent_aval(x.aval)
    return ValAccum(aval) if x.required else NullAccum(aval)


def _batch(axis: Axis, args, dims, *, _prim: HiPrim):
    unflatten = _prim.in_tree.unflatten
    outs, out_dims = _prim.batch(axis, unflatten(map(ir.with_methods, args)), unflatten(dims))
    return _plain(_prim.out_tree.flatten_up_to(outs)), _prim.out_tree.flatten_up_to(out_dims)


def _dead_code(needed: list[bool], eqn: ir.JaxprEqn) -> tuple[Sequence[bool], ir.JaxprEqn | None]:
    prim: HiPrim = eqn.params["_prim"]
    everything = [True] * len(eqn.invars)
    if not _overrides(prim, "dce"):
        return everything, eqn
    used_ins, produced, smaller = prim.dce(
        prim.out_tree.unflatten(needed), prim.in_tree.unflatten(everything)
    )
    method = f"{type(prim).__name__}.dce"
    operands = pytree.flatten_axes(f"{method}: used inputs", prim.in_tree, used_ins)
    stays = pytree.flatten_axes(
        f"{method}: produced outputs", prim.out_tree, smaller is not None and produced
    )
    if any(need and not stay for need, stay in zip(needed, stays, strict=True)):
        raise ValueError(f"{method} must produce the results that are used: {needed}, got {stays}.")
    if smaller is None:
        return [False] * len(operands), None
    if smaller is prim and all(operands) and all(stays):
        return everything, eqn
    counts = sum(operands), sum(stays)
    if counts != (len(smaller.in_avals_flat), len(smaller.out_avals_flat)):
        raise ValueError(
            f"{method} must return an operation of the inputs and outputs that it names, {counts} "
            f"of them, but {smaller} has {len(smaller.in_avals_flat)} and "
            f"{len(smaller.out_avals_flat)}."
        )
    # Results that are produced though nothing uses them have a variable that drops them.
    outvars = [
        var if need else ir.DropVar(var.aval)
        for var, need, stay in zip(eqn.outvars, needed, stays, strict=True)
        if stay
    ]
    return operands, eqn.replace(
        invars=list(compress(eqn.invars, operands)),
        outvars=outvars,
        params={"_prim": smaller},
        effects=frozenset(smaller.effects),
    )


class Checkpoint(NamedTuple):
    """The argument ``trace`` of ``remat``.

    Attributes:
      policy: the policy of the checkpoint; ``None`` saves nothing.
    """

    policy: Policy | None


def _recomputation(policy: Policy | None, *args, _prim: HiPrim):
    if not _overrides(_prim, "remat"):
        return None
    avals = list(map(ir.typeof, args))
    if policy is not None and saves(policy, call_hi_primitive_p, avals, {"_prim": _prim}):
        return None
    args = _prim.in_tree.unflatten(map(ir.with_methods, args))
    out, saved, again = _prim.remat(Checkpoint(policy), *args)
    # The saved values are constants of the backward pass.
    saved = pytree.tree_map(lambda x: kept_array(stop_gradient(x)), ir.parted(saved))
    name = f"{type(_prim).__name__}.remat"
    first = ir.parted(stop_gradient(ir.parted(out)))
    second = ir.parted(again(saved, *args))
    return _plain(_prim.out_tree.flatten_up_to(substituted(name, first, second)))


def _shown(*, _prim: HiPrim) -> ir.Titled:
    return ir.Titled(type(_prim).__name__, list(_prim.pp_params().items()))


def _eager(*args, _prim: HiPrim):
    return _prim.out_tree.flatten_up_to(_prim.expand(*_prim.in_tree.unflatten(args)))


call_hi_primitive_p: ir.Primitive = ir.define(
    "call_hi_primitive",
    abstract_eval=lambda *avals, _prim: list(_prim.out_avals_flat),
    multiple_results=True,
    effects=lambda params: frozenset(params["_prim"].effects),
    memo=False,
    sharding=ir.by_program,
    jvp=_jvp,
    linearize=_linearize,
    transpose=_transpose,
    batch=_batch,
    eager=_eager,
    expand=_eager,
    dead_code=ir.EquationRule(_dead_code),
    shown=_shown,
    recomputation=_recomputation,
    lower=ir.unsupported("calls are replaced by their expansions before a jaxpr is lowered"),
)


def _tangent_transpose(cts, *args, _prim: HiPrim, log_tree, static, zeros, num_primals, **params):
    count = static.count(None) + num_primals
    operands = iter(args[count:])
    accumulators = [
        NullAccum(ad.cotangent_aval(aval)) if zero else _accumulator(next(operands))
        for zero, aval in zip(zeros, _prim.in_avals_flat, strict=True)
    ]
    run = lambda: _run_backward(args, cts, accumulators, _prim=_prim, static=static, **params)
    entries, tree = [], None
    if log_tree is None:
        run()
    else:
        _, entries, tree = run_with_logs(run)
    if tree != log_tree:
        raise TypeError(
            f"{type(_prim).__name__}.vjp_bwd returned a log of another structure than before:\n"
            f"  expected {log_tree}\n  got      {tree}"
        )
    sums = _plain(a.freeze() for a, zero in zip(accumulators, zeros, strict=True) if not zero)
    return [*[None] * count, *[None if _is_zero(x) else x for x in sums], *entries]


def _run_backward(
    residuals: Sequence[ir.PyTree],
    cts: Sequence[ir.PyTree],
    accumulators: Sequence[GradAccum],
    *,
    _prim: HiPrim,
    tree: pytree.PyTreeDef,
    static: Sequence[ir.PyTree],
) -> None:
    """Run the backward rule, and collect its log."""
    arrays = iter(map(ir.with_methods, residuals))
    res = tree.unflatten([next(arrays) if x is None else x[0] for x in static])
    outgrad = _prim.out_tree.unflatten(map(ir.with_methods, cts))
    logs = _prim.vjp_bwd(res, outgrad, *_prim.in_tree.unflatten(accumulators))
    without_logs(type(_prim).__name__, (None, logs))


def _tangent_logs(eqn: ir.JaxprEqn) -> tuple[ir.JaxprEqn, tuple[ad.LogTap, ...]]:
    prim: HiPrim = eqn.params["_prim"]
    if not (_overrides(prim, "vjp_bwd") or _overrides(prim, "vjp_bwd_retval_logs")):
        return eqn, ()
    params = {name: eqn.params[name] for name in ("_prim", "static", "tree")}
    types: list[ir.PyTree] = list(map(ad.cotangent_aval, prim.out_avals_flat))
    with_ct = [aval.is_high or aval.dtype != ir.float0 for aval in types]
    count = params["static"].count(None)

    def backward(residuals: Sequence[ir.PyTree], cts: Sequence[ir.PyTree]) -> None:
        arrays = iter(cts)
        every = [next(arrays) if x else ad.Zero(t) for x, t in zip(with_ct, types, strict=True)]
        accumulators = [ValAccum(ad.cotangent_aval(aval)) for aval in prim.in_avals_flat]
        _run_backward(residuals, every, accumulators, **params)

    return tap_rule(eqn, count, list(compress(types, with_ct)), backward)


def _tangent_shown(*, _prim: HiPrim, zeros, **_) -> ir.Titled:
    name = f"{type(_prim).__name__}.linearized"
    return ir.Titled(name, [("nz_in_flat", tuple(not zero for zero in zeros))])


def _pushed_tangents(
    *args: ir.PyTree, _prim: HiPrim, static, zeros, num_primals, **_
) -> list[ir.PyTree]:
    """Compute the tangents forwards."""
    if not num_primals:
        _prim.lin(zeros, *args)  # raises the error of a missing rule
    count = sum(x is None for x in static)
    primals, nonzero_tangents = args[count : count + num_primals], iter(args[count + num_primals :])
    tangents = [
        ad.Zero(ad.tangent_aval(aval)) if zero else next(nonzero_tangents)
        for zero, aval in zip(zeros, _prim.in_avals_flat, strict=True)
    ]
    unflatten = _prim.in_tree.unflatten
    if _overrides(_prim, "lin"):
        _, residuals = _prim.lin(unflatten([not zero for zero in zeros]), *unflatten(primals))
        out = _prim.linearized(residuals, *unflatten(tangents))
    else:
        _, out = _prim.jvp(unflatten(primals), unflatten(tangents))
    return list(map(ad.instantiate, _prim.out_tree.flatten_up_to(out)))


_BACKWARD_ONLY = "the tangents of an operation with vjp_fwd have a backward rule alone"

hi_tangent_p: ir.Primitive = ir.define(
    "call_hi_primitive_lin",
    abstract_eval=lambda *avals, _prim, **_: list(map(ad.tangent_aval, _prim.out_avals_flat)),
    multiple_results=True,
    memo=False,
    sharding=ir.by_program,
    jvp=ir.unsupported(_BACKWARD_ONLY),
    transpose=_tangent_transpose,
    batch=ir.unsupported(_BACKWARD_ONLY),
    eager=_pushed_tangents,
    expand=_pushed_tangents,
    shown=_tangent_shown,
    logs=_tangent_logs,
    lower=ir.unsupported(_BACKWARD_ONLY),
)
