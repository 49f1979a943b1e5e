"""Rules derived from users' rules: for batches, for live results alone, for rematerialisation."""

import threading
from collections.abc import Callable, Sequence
from functools import wraps
from itertools import compress
from typing import Any

import ricci_ir as ir
from ricci_autodiff import SymbolicZero, Zero, instantiate, tangent_aval
from ricci_batching import Axis, BatchTrace, batch_flat, batch_jaxpr, batched_at
from ricci_lax.structure._broadcasting import reduce_sum
from ricci_lax.structure._names import KeptName, name_p, substitute_p
from ricci_pytree import PyTreeDef, tree_flatten, tree_map, tree_unflatten

from ._backward_logs import collect, is_collecting, run_with_logs
from ._eager_call import BatchedEagerCall
from ._shared_rules import rule_pair


class _Examined(threading.local):
    """The functions whose rules are being traced for their batch dimensions, outermost first."""

    customs: tuple[object, ...] = ()


_examined = _Examined()
# Rules call their own functions, perhaps with other static arguments each time, as those of
# recursively defined polynomials do. Such calls have rules that call them again, without end.
_MOST_CALLS_OF_ITSELF = 2


def joint_batch(
    custom: object,
    call_jaxpr: ir.Jaxpr,
    axis: Axis,
    dims: Sequence[int | None],
    dims_of_rule: Callable[[Sequence[Any]], Sequence[int | None]],
) -> tuple[ir.Jaxpr, Sequence[int | None]]:
    """The batched jaxpr of a function, whose results are batched at axis 0 or not at all.

    A result is not batched if neither the function nor its rule makes it depend on the batch.

    Args:
      custom: the function.
      call_jaxpr: its jaxpr for one example.
      axis: the batch axis.
      dims: the batch dimensions of the operands.
      dims_of_rule: the batch dimensions of the results of the rule, given the operands' types.
    """
    batched, natural = batch_jaxpr(call_jaxpr, axis, dims)
    if all(d == 0 for d in natural):
        return batched, natural
    # A call is computed by its jaxpr, or by its rule once it is differentiated, and these may batch
    # different results. One that either of them batches is batched, so that both agree.
    out_dims = [None if d is None else 0 for d in natural]
    outer = _examined.customs
    if None in out_dims and outer.count(custom) < _MOST_CALLS_OF_ITSELF:
        _examined.customs = (*outer, custom)
        try:
            others = dims_of_rule(batched.in_avals)
        except Exception:  # noqa: BLE001 (the rule fails; it raises this again when it is used)
            others = out_dims
        finally:
            _examined.customs = outer
        out_dims = [
            None if d is other is None else 0 for d, other in zip(out_dims, others, strict=True)
        ]
    if out_dims == natural:
        return batched, natural
    return batch_jaxpr(call_jaxpr, axis, dims, out_dims)[0], out_dims


class BatchedRule:
    """A flat jvp rule applied to batches.

    Attributes:
      out_dims: the batch dimension that each result has, and its tangent with it: 0, or ``None``
        for one that is the same for all examples. Set when the rule runs, if ``None``.
      eager: the eager call whose ``out_dims`` the rule finds, if it belongs to one.
    """

    __slots__ = ("axis", "dims", "eager", "out_dims", "rule")

    def __init__(
        self,
        rule: Any,
        axis: Axis,
        dims: Sequence[int | None],
        out_dims: Sequence[int | None] | None,
        eager: BatchedEagerCall | None = None,
    ):
        self.rule = rule
        self.axis = axis
        self.dims = tuple(dims)
        self.out_dims = out_dims
        self.eager = eager

    def __call__(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list, list]:
        count = len(primals)
        # Symbolic zeros are not arrays to batch: the rule gets those of one example.
        zeros = [type(t) is Zero or isinstance(t, SymbolicZero) for t in tangents]

        def flat(*args):
            inner = iter(args[count:])
            example_tangents = [
                _one_example(t, d) if z else next(inner)
                for t, z, d in zip(tangents, zeros, self.dims, strict=True)
            ]
            outs, out_tangents = self.rule(args[:count], example_tangents)
            return [*outs, *map(instantiate, out_tangents)]

        args = [*primals, *(t for t, z in zip(tangents, zeros, strict=True) if not z)]
        dims = [*self.dims, *(d for d, z in zip(self.dims, zeros, strict=True) if not z)]
        earlier = None if self.eager is None else self.eager.earlier()
        values, flat_dims = batch_flat(flat, self.axis, args, dims, earlier)
        half = len(values) // 2
        out_dims = self.out_dims
        if out_dims is None:
            # A result and its tangent are batches together.
            pairs = zip(flat_dims[:half], flat_dims[half:], strict=True)
            out_dims = [None if d is t is None else 0 for d, t in pairs]
            self.out_dims = out_dims
        if self.eager is not None:
            self.eager.out_dims = list(out_dims)
        values = [
            v if target is None else batched_at(v, d, self.axis, target)
            for v, d, target in zip(values, flat_dims, [*out_dims, *out_dims], strict=True)
        ]
        out_tangents = [
            # Zeros of float0, which were made arrays so that they could be batched, are symbolic
            # again.
            Zero(aval)
            if type(aval := ir.get_aval(t)) is ir.ShapedArray and aval.dtype == ir.float0
            else t
            for t in values[half:]
        ]
        return values[:half], out_tangents

    @property
    def custom(self) -> Any:
        """The function that the rule belongs to."""
        return self.rule.custom

    def __repr__(self) -> str:
        return repr(self.rule)


def _one_example(zero: Zero | SymbolicZero, dim: int | None) -> Zero | SymbolicZero:
    """The zero of one example, from that of a batch."""
    if dim is None:
        return zero
    shape = zero.aval.shape
    return type(zero)(zero.aval.resized((*shape[:dim], *shape[dim + 1 :])))


class BatchedResiduals(ir.TupleRecord):
    """The structure of an example's residuals; the batch dimensions of those and of the outputs."""

    tree: Any
    dims: tuple[int | None, ...]
    out_dims: tuple[int | None, ...]


class BatchedRules:
    """Flat forward and backward rules applied to batches.

    Attributes:
      out_dims: the batch dimension of each output: 0, or ``None`` for one that is the same for all
        examples. Set when the forward rule runs, if ``None``.
      eager: the eager call whose ``out_dims`` the rule finds, if it belongs to one.
    """

    __slots__ = ("axis", "dims", "fwd", "inner_bwd", "eager", "out_dims")

    def __init__(
        self,
        fwd: Callable,
        bwd: Callable,
        axis: Axis,
        dims: Sequence[int | None],
        out_dims: Sequence[int | None] | None,
        eager: BatchedEagerCall | None = None,
    ):
        self.fwd = fwd
        self.inner_bwd = bwd
        self.axis = axis
        self.dims = tuple(dims)
        self.out_dims = out_dims
        self.eager = eager

    def forward(self, primals, perturbed):
        """The outputs, the residuals, and their structure as ``BatchedResiduals``."""
        counts: list[int] = []
        tree = None

        def flat(*args):
            nonlocal tree
            outs, residuals, tree = self.fwd(args, perturbed)
            counts.append(len(outs))
            return [*outs, *residuals]

        values, dims = batch_flat(flat, self.axis, primals, self.dims, self._earlier)
        count = counts[0]
        if self.out_dims is None:
            self.out_dims = [None if d is None else 0 for d in dims[:count]]
        if self.eager is not None:
            self.eager.out_dims = list(self.out_dims)
        outs = [
            v if target is None else batched_at(v, d, self.axis, target)
            for v, d, target in zip(values, dims, self.out_dims, strict=False)
        ]
        structure = BatchedResiduals(tree, tuple(dims[count:]), tuple(self.out_dims))
        return outs, values[count:], structure

    @property
    def _earlier(self) -> BatchTrace | None:
        return None if self.eager is None else self.eager.earlier()

    def backward(self, tree, residuals, cts, avals):
        """The cotangents; those of unbatched operands are summed over the batch."""
        one = [
            aval if d is None else aval.remove_dimension(d)
            for aval, d in zip(avals, self.dims, strict=True)
        ]
        zeros = [type(c) is Zero for c in cts]
        nonzero: list[bool] = []
        collects = is_collecting()
        log_tree: Any = None

        def flat(*args):
            nonlocal log_tree
            inner = iter(args[len(residuals) :])
            # Residuals come first; a cotangent that is a symbolic zero is not among the arrays.
            example_cts = [
                Zero(c.aval if d is None else c.aval.remove_dimension(0)) if z else next(inner)
                for c, z, d in zip(cts, zeros, tree.out_dims, strict=True)
            ]
            run = lambda: self.inner_bwd(tree.tree, args[: len(residuals)], example_cts, one)
            outs, entries, log_tree = run_with_logs(run) if collects else (run(), [], None)
            nonzero.extend(type(o) is not Zero for o in outs)
            return [*(o for o in outs if type(o) is not Zero), *entries]

        args = [*residuals, *(c for c, z in zip(cts, zeros, strict=True) if not z)]
        ct_dims = (d for d, z in zip(tree.out_dims, zeros, strict=True) if not z)
        values, dims = batch_flat(flat, self.axis, args, [*tree.dims, *ct_dims], self._earlier)
        pairs = iter(zip(values, dims, strict=True))
        results = []
        for aval, target, present in zip(avals, self.dims, nonzero, strict=True):
            if not present:
                results.append(Zero(tangent_aval(aval)))
                continue
            value, dim = next(pairs)
            # An operand without a batch dimension is repeated for each example; the transpose of
            # repeating is a sum.
            if target is not None:
                value = batched_at(value, dim, self.axis, target)
            elif dim is not None:
                value = reduce_sum(value, (dim,))
            results.append(value)
        entries = [batched_at(value, dim, self.axis, 0) for value, dim in pairs]
        if entries:
            collect(tree_unflatten(log_tree, entries))
        return results


class LiveRule:
    """A flat jvp rule of a function's live results."""

    __slots__ = ("needed", "rule")

    def __init__(self, rule: Any, needed: Sequence[bool]):
        self.rule = rule
        self.needed = tuple(needed)

    def __call__(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list, list]:
        outs, out_tangents = self.rule(primals, tangents)
        return list(compress(outs, self.needed)), list(compress(out_tangents, self.needed))

    @property
    def custom(self) -> Any:
        """The function that the rule belongs to."""
        return self.rule.custom

    def __repr__(self) -> str:
        return repr(self.rule)


class LiveRules:
    """Flat forward and backward rules of a function's live results."""

    __slots__ = ("fwd", "inner_bwd", "needed", "out_avals")

    def __init__(
        self, fwd: Callable, bwd: Callable, needed: Sequence[bool], out_avals: Sequence[Any]
    ):
        self.fwd = fwd
        self.inner_bwd = bwd
        self.needed = tuple(needed)
        self.out_avals = tuple(out_avals)

    def forward(self, primals, perturbed):
        """The live outputs, and the residuals."""
        outs, residuals, tree = self.fwd(primals, perturbed)
        return list(compress(outs, self.needed)), residuals, tree

    def backward(self, tree, residuals, cts, avals):
        """The cotangents; those of the other outputs are zero."""
        live_cts = iter(cts)
        # The user's rule takes a cotangent for each output that the function has.
        every = [
            next(live_cts) if needed else Zero(tangent_aval(aval))
            for needed, aval in zip(self.needed, self.out_avals, strict=True)
        ]
        return self.inner_bwd(tree, residuals, every, avals)


class RecomputedRules:
    """A forward rule that evaluates the function, and takes only residuals from the user's rule.

    Inside of ``checkpoint`` the forward pass then runs only the function: it stores no residuals,
    so that the rule is dead code there.

    Args:
      fwd: the flat forward rule.
      jaxpr: the function.
    """

    __slots__ = ("fwd", "jaxpr")

    def __init__(self, fwd: Callable[..., Any], jaxpr: ir.Jaxpr):
        self.fwd = fwd
        self.jaxpr = jaxpr

    def forward(self, primals: Sequence[Any], perturbed: Sequence[bool]) -> tuple[Any, Any, Any]:
        """Return the function's results, the rule's residuals and their structure."""
        _, residuals, tree = self.fwd(primals, perturbed)
        return ir.eval_jaxpr(self.jaxpr, self.jaxpr.consts, *primals), residuals, tree


_SAVED = KeptName("saved by defremat")


def recomputable(
    name: str, fwd: Callable[..., Any], rem: Callable[..., Any]
) -> Callable[..., tuple[Any, Any]]:
    """The forward rule that calls a function's ``fwd``, then its ``rem`` for the residuals.

    A checkpoint stores the values that ``fwd`` saves, and recomputes the output by ``rem``.
    """

    @wraps(fwd)
    def forward(*args: ir.PyTree) -> tuple[ir.PyTree, ir.PyTree]:
        out, saved = rule_pair(name, "forward rule", "saved", fwd(*args))
        # The names have the checkpoint store these arrays, and compute the rule's residuals again.
        saved = tree_map(kept_array, saved)
        again, residuals = rule_pair(name, "recomputation", "residuals", rem(saved, *args))
        return substituted(name, out, again), residuals

    return forward


def kept_array(x: ir.PyTree) -> ir.PyTree:
    """An array that a checkpoint stores under any policy; other leaves are unchanged."""
    is_array = isinstance(x, ir.Tracer) or hasattr(x, "dtype")
    return name_p.bind(x, name=_SAVED) if is_array else x


def substituted(name: str, out: ir.PyTree, again: ir.PyTree) -> ir.PyTree:
    """The output of the forward rule, with that of the recomputation as its substitute."""
    leaves, tree = tree_flatten(out)
    others, other_tree = tree_flatten(again)
    types, other_types = (
        [ir.get_aval(x).strip_weak_type() for x in values] for values in (leaves, others)
    )
    if tree != other_tree or types != other_types:
        raise TypeError(
            f"the recomputation of {name} must return an output like that of its "
            f"forward rule:\n  expected {_shown(tree, types)}\n  got      "
            f"{_shown(other_tree, other_types)}"
        )
    return tree_unflatten(tree, map(substitute_p.bind, leaves, others))


def _shown(tree: PyTreeDef, types: Sequence[ir.AbstractValue]) -> str:
    return str(tree_unflatten(tree, [aval.str_short() for aval in types]))
