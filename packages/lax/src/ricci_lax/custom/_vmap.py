"""``custom_vmap``: functions with a custom batching rule."""

from collections.abc import Callable, Sequence
from itertools import compress
from typing import Any

import ricci_autodiff as ad
import ricci_ir as ir
from ricci_batching import Axis, add_dim, move_dim
from ricci_lax.structure._broadcasting import reduce_sum
from ricci_pytree import (
    PyTreeDef,
    tree_flatten,
    tree_map,
    tree_structure,
    tree_unflatten,
    treedef_tuple,
)

from ._call import Call, CustomFunction
from ._shared_rules import lower_inline

__all__ = ["custom_vmap", "custom_vmap_p"]

# A rule of flat arrays: from the size of the batch, which operands are batches (along their first
# axis) and the operands, to the results and which of them are batches.
FlatRule = Callable[[int, Sequence[bool], Sequence[Any]], tuple[list[Any], list[bool]]]


@ir.exported
class custom_vmap[**P, R](CustomFunction[P, R]):
    """A function whose batching rule is specified rather than derived.

    Args:
      fun: a function of pytrees of arrays. An array that is mapped over must be an argument: the
        rule cannot close over it.

    Example:
      A product with a matrix, given for batches of vectors as one product of matrices. Where the
      matrix is batched too, the rule maps over both.

      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> from ricci.custom_batching import custom_vmap
      >>> @custom_vmap
      ... def apply(matrix, x):
      ...     return matrix @ x
      >>> @apply.def_vmap
      ... def apply_batched(axis_size, in_batched, matrix, x):
      ...     matrix_batched, x_batched = in_batched
      ...     if not matrix_batched:
      ...         print("one product")
      ...         return x @ matrix.T, True
      ...     axes = (0, 0 if x_batched else None)
      ...     return ricci.vmap(lambda m, x: m @ x, in_axes=axes)(matrix, x), True
      >>> matrix = jnp.array([[1.0, 1.0], [0.0, 2.0]])
      >>> xs = jnp.array([[1.0, 0.0], [1.0, 1.0]])
      >>> ricci.vmap(apply, in_axes=(None, 0))(matrix, xs).tolist()
      one product
      [[1.0, 0.0], [2.0, 2.0]]

    See also:
      ``sequential_vmap``, for a loop.
    """

    def __init__(self, fun: Callable[P, R]):
        super().__init__(fun)
        self.vmap_rule: Callable[..., tuple[Any, Any]] | None = None

    def def_vmap[F: Callable[..., tuple[Any, Any]]](self, vmap_rule: F) -> F:
        """Set the rule: ``vmap_rule(axis_size, in_batched, *args) -> (out, out_batched)``.

        Args:
          vmap_rule: the rule. ``in_batched`` is a list with, for each argument, a pytree like it of
            whether each array is a batch, along its first axis; ``out_batched`` is the same for
            ``out``. Derivatives of the batched function are those of the rule.

        Returns:
          ``vmap_rule``, so that the method can be used as a decorator.
        """
        self.vmap_rule = vmap_rule
        return vmap_rule

    @ir.api_boundary
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if self.vmap_rule is None:
            raise AttributeError(
                f"{self.name} has no batching rule yet. Give one with {self.name}.def_vmap."
            )
        return self.apply(args, kwargs, self._bind)

    def plain_call(self, call: Call) -> ir.PyTree:
        """Call the function with arrays in place of Python's numbers, as a trace of it has them."""
        arrays: list[Any] = []
        for i, x in enumerate(call.leaves):
            self.type_of_leaf(x, i, call)  # raises an error that names the argument
            arrays.append(x if i in call.references else ir.as_array(x))
        return tree_map(ir.as_array, self.fun(*call.arguments(arrays)))

    def _bind(self, call: Call, operands, program, const_count, out_tree) -> list[Any]:
        return custom_vmap_p.bind(
            *operands,
            call=program,
            in_tree=treedef_tuple((tree_structure([0] * const_count), call.tree)),
            out_tree=out_tree,
            rule=UserRule(self, const_count, call.tree, out_tree),
        )


class UserRule:
    """The user's rule as a function of flat arrays."""

    __slots__ = ("const_count", "in_tree", "name", "out_tree", "rule")

    def __init__(
        self,
        custom: custom_vmap[..., Any],
        const_count: int,
        in_tree: PyTreeDef,
        out_tree: PyTreeDef,
    ):
        self.name = custom.name
        self.rule: Any = custom.vmap_rule
        self.const_count = const_count
        self.in_tree = in_tree
        self.out_tree = out_tree

    def __call__(self, size: int, flags: Sequence[bool], args: Sequence[Any]) -> tuple[list, list]:
        skip = self.const_count
        if any(flags[:skip]):
            raise NotImplementedError(
                f"{self.name}, which has a batching rule of its own, closes over an array that is "
                "mapped over, but the rule gets only the arguments. Pass the array as an argument."
            )
        in_batched = list(tree_unflatten(self.in_tree, flags[skip:]))
        pair = self.rule(size, in_batched, *tree_unflatten(self.in_tree, args[skip:]))
        subject = f"the batching rule of {self.name}"
        pair = ir.check_pair(pair, subject, "(out, out_batched)", ValueError)
        outs, tree = tree_flatten(pair[0])
        batched, batched_tree = tree_flatten(pair[1])
        if tree != batched_tree:
            raise ValueError(
                f"the batching rule of {self.name} must return out_batched with the structure of "
                f"out:\n  expected {tree}\n  got      {batched_tree}"
            )
        if tree != self.out_tree:
            raise ValueError(
                f"the batching rule of {self.name} must return an output with the structure of "
                f"{self.name}'s:\n  expected {self.out_tree}\n  got      {tree}"
            )
        for i, (out, flag) in enumerate(zip(outs, batched, strict=True)):
            shape = ir.get_aval(out).shape  # pyright: ignore[reportAttributeAccessIssue]
            if flag and shape[:1] != (size,):
                raise ValueError(
                    f"the batching rule of {self.name} returns output {i} as a batch of {size}, "
                    f"but its shape is {shape}; the batch must be along the first axis."
                )
        return outs, list(map(bool, batched))

    def __repr__(self) -> str:
        return repr(self.rule)


class TangentRule:
    """The derivative of a rule. Operands: the primals, then the tangents of some of them.

    Attributes:
      carried: which primals have a tangent among the operands.
      out_carried: which results have one.
      primals_too: whether the rule returns the results ahead of their tangents.
    """

    __slots__ = ("carried", "out_carried", "primals_too", "rule")

    def __init__(
        self,
        rule: FlatRule,
        carried: Sequence[bool],
        out_carried: Sequence[bool],
        primals_too: bool,
    ):
        self.rule = rule
        self.carried = tuple(carried)
        self.out_carried = tuple(out_carried)
        self.primals_too = primals_too

    def __call__(self, size: int, flags: Sequence[bool], args: Sequence[Any]) -> tuple[list, list]:
        count = len(self.carried)
        tangent_args = iter(zip(args[count:], flags[count:], strict=True))
        primals, tangents, batched = [], [], []
        for x, flag, carried in zip(args[:count], flags[:count], self.carried, strict=True):
            tangent: Any = ad.Zero.from_primal(x)
            if carried:
                # A primal and its tangent are batches together.
                tangent, also = next(tangent_args)
                if also and not flag:
                    x = add_dim(x, Axis(size), 0)
                elif flag and not also:
                    tangent = add_dim(tangent, Axis(size), 0)
                flag = flag or also
            primals.append(x)
            tangents.append(tangent)
            batched.append(flag)
        out_flags: list[bool] = []

        def run(*xs: object) -> list[Any]:
            nonlocal out_flags
            outs, out_flags = self.rule(size, batched, xs)
            return outs

        if self.primals_too:
            outs, out_tangents = ad.jvp_flat(run, primals, tangents)
            results = [ad.instantiate(t) for t in compress(out_tangents, self.out_carried)]
            return [*outs, *results], [*out_flags, *compress(out_flags, self.out_carried)]
        ruled = ir.trace_to_jaxpr(run, list(map(ir.get_aval, primals)))
        program = _tangent_program(ruled, self.carried, self.out_carried)
        results = ir.eval_jaxpr(
            program, program.consts, *primals, *compress(tangents, self.carried)
        )
        return list(results), list(compress(out_flags, self.out_carried))

    def __repr__(self) -> str:
        return f"jvp of {self.rule!r}"


class TransposedRule:
    """The transpose of a rule. Operands: those that are not linear, then the cotangents."""

    __slots__ = ("linear", "linear_avals", "rule")

    def __init__(
        self, rule: FlatRule, linear: Sequence[bool], linear_avals: Sequence[ir.ShapedArray]
    ):
        self.rule = rule
        self.linear = tuple(linear)
        self.linear_avals = tuple(linear_avals)

    def __call__(self, size: int, flags: Sequence[bool], args: Sequence[Any]) -> tuple[list, list]:
        count = self.linear.count(False)
        fixed_args = list(zip(args[:count], flags[:count], strict=True))
        out_flags: list[bool] = []

        def run(*xs: ir.Array) -> list[Any]:
            nonlocal out_flags
            fixed, inputs = iter(fixed_args), ((x, True) for x in xs)
            pairs = [next(inputs if linear else fixed) for linear in self.linear]
            outs, out_flags = self.rule(size, [f for _, f in pairs], [x for x, _ in pairs])
            return outs

        # Every linear operand is mapped: a cotangent has a value for each example.
        avals = [a.insert_dimension(0, size) for a in self.linear_avals]
        jaxpr = ir.trace_to_jaxpr(run, avals)
        cts = []
        for ct, flag, out in zip(args[count:], flags[count:], out_flags, strict=True):
            whole = ct if flag else add_dim(ct, Axis(size), 0)
            # A result that is the same for all examples gets the cotangents of them all.
            cts.append(whole if out else reduce_sum(whole, (0,)))
        linear = [True] * len(avals)
        results = ad.transpose_flat(jaxpr, linear, [None] * len(avals), cts)
        return [ad.instantiate(ct) for ct in results], linear

    def __repr__(self) -> str:
        return f"transpose of {self.rule!r}"


class LiveRule:
    """A rule for a function's live results."""

    __slots__ = ("needed", "rule")

    def __init__(self, rule: FlatRule, needed: Sequence[bool]):
        self.rule = rule
        self.needed = tuple(needed)

    def __call__(self, size: int, flags: Sequence[bool], args: Sequence[Any]) -> tuple[list, list]:
        outs, out_flags = self.rule(size, flags, args)
        return list(compress(outs, self.needed)), list(compress(out_flags, self.needed))

    def __repr__(self) -> str:
        return repr(self.rule)


def _dead_code(params: dict[str, Any], needed: tuple[bool, ...], final: bool) -> ir.LiveCall | None:
    if all(needed):
        return None
    # The rule is the user's, and takes all operands.
    smaller = ir.live_program(params["call"], needed).jaxpr
    changed = {
        "call": smaller,
        "out_tree": _subtree(params["out_tree"], needed),
        "rule": LiveRule(params["rule"], needed),
    }
    return ir.LiveCall({**params, **changed}, (True,) * len(smaller.invars), needed)


def _subtree(tree: PyTreeDef, needed: Sequence[bool]) -> PyTreeDef:
    """A structure without some of its leaves."""
    return tree_structure(tree_unflatten(tree, [0 if keep else None for keep in needed]))


def _tangent_program(jaxpr: ir.Jaxpr, carried: Sequence[bool], needed: Sequence[bool]) -> ir.Jaxpr:
    """The jaxpr of the results' tangents.

    What follows from the arguments alone has equations of its own there, so that the equations
    that are linear in the tangents can be transposed.

    Args:
      carried: the arguments with a tangent; the tangents are further arguments.
      needed: the results whose tangents are returned.
    """
    plan = ad.linearize_jaxpr(jaxpr, tuple(carried))
    count = len(jaxpr.invars)

    def run(*args: ir.Array) -> list[Any]:
        outs = ir.eval_jaxpr(plan.forward, plan.forward.consts, *args[:count])
        values = (*args[:count], *outs)
        residuals = [values[i] for i in plan.residuals]
        linear = ir.eval_jaxpr(plan.tangent, plan.tangent.consts, *residuals, *args[count:])
        tangents = ad.join_tangents(plan.nonzeros, linear, outs[: len(jaxpr.outvars)])
        return [ad.instantiate(t) for t in compress(tangents, needed)]

    avals = [*jaxpr.in_avals, *plan.tangent_avals]
    return ir.live_program(ir.trace_to_jaxpr(run, avals, jaxpr.debug_info)).jaxpr


def _jvp(primals, tangents, *, call, in_tree, out_tree, rule):
    carried = [ad.has_tangent(ir.get_aval(x)) for x in primals]
    out_carried = tuple(map(ad.has_tangent, call.out_avals))
    program, _ = ad.jvp_jaxpr(call, carried, out_carried)
    outs = custom_vmap_p.bind(
        *primals,
        *map(ad.instantiate, compress(tangents, carried)),
        call=program,
        in_tree=treedef_tuple((in_tree, _subtree(in_tree, carried))),
        out_tree=treedef_tuple((out_tree, _subtree(out_tree, out_carried))),
        rule=TangentRule(rule, carried, out_carried, True),
    )
    count = len(call.outvars)
    results, out_tangents = outs[:count], outs[count:]
    return results, ad.join_tangents(out_carried, out_tangents, results)


def _linearize(tape: ad.Tape, primals, tangents, *, call, in_tree, out_tree, rule):
    # Evaluate the results now; record their tangents on the tape.
    results = custom_vmap_p.bind(*primals, call=call, in_tree=in_tree, out_tree=out_tree, rule=rule)
    carried = [type(t) is not ad.Zero for t in tangents]
    out_carried = tuple(map(ad.has_tangent, call.out_avals))
    out_tangents = ()
    if any(out_carried):
        key = ("tangents of custom_vmap", tuple(carried))
        program = call.derived(key, lambda: _tangent_program(call, carried, out_carried))
        with ir.set_trace(tape):
            outs = custom_vmap_p.bind(
                *primals,
                *compress(tangents, carried),
                call=program,
                in_tree=treedef_tuple((in_tree, _subtree(in_tree, carried))),
                out_tree=_subtree(out_tree, out_carried),
                rule=TangentRule(rule, carried, out_carried, False),
            )
        out_tangents = outs
    return results, ad.join_tangents(out_carried, out_tangents, results)


def _transpose(cts, *args, call, in_tree, out_tree, rule):
    linear = tuple(map(ad.is_undefined_primal, args))
    fixed = [x for x in args if not ad.is_undefined_primal(x)]
    linear_avals = [ad.tangent_aval(x.aval) for x in args if ad.is_undefined_primal(x)]
    results = custom_vmap_p.bind(
        *fixed,
        *map(ad.instantiate, cts),
        call=_transposed(call, linear),
        in_tree=tree_structure(([0] * len(fixed), [0] * len(cts))),
        out_tree=tree_structure([0] * len(linear_avals)),
        rule=TransposedRule(rule, linear, linear_avals),  # pyright: ignore[reportArgumentType]
    )
    arg_cts = iter(results)
    return [next(arg_cts) if lin else None for lin in linear]


def _transposed(call: ir.Jaxpr, linear: tuple[bool, ...]) -> ir.Jaxpr:
    return call.derived(("transpose of custom_vmap", linear), lambda: _transpose_call(call, linear))


def _transpose_call(call: ir.Jaxpr, linear: tuple[bool, ...]) -> ir.Jaxpr:
    avals = [a for a, lin in zip(call.in_avals, linear, strict=True) if not lin]
    ct_avals = [ad.tangent_aval(a) for a in call.out_avals]

    def run(*args: ir.Array) -> list[Any]:
        fixed = iter(args[: len(avals)])
        values = [None if lin else next(fixed) for lin in linear]
        return [
            ad.instantiate(ct) for ct in ad.transpose_flat(call, linear, values, args[len(avals) :])
        ]

    return ir.trace_to_jaxpr(run, [*avals, *ct_avals], call.debug_info)


def _batch(axis, args, dims, *, call, in_tree, out_tree, rule):
    moved = [x if d is None else move_dim(x, d, 0) for x, d in zip(args, dims, strict=True)]
    outs, flags = rule(axis.size, [d is not None for d in dims], moved)
    return outs, [0 if flag else None for flag in flags]


# Operands: the function's constants, then its arguments.
custom_vmap_p: ir.Primitive = ir.define(
    "custom_vmap_call",
    abstract_eval=lambda *avals, call, **_: call.out_avals,
    multiple_results=True,
    sharding=ir.by_program,
    memo=False,
    effects=lambda params: params["call"].effects,
    jvp=_jvp,
    linearize=_linearize,
    transpose=_transpose,
    batch=_batch,
    lower=lambda ctx, *operands, call, **params: lower_inline(ctx, *operands, call_jaxpr=call),
    program=lambda *, call, **_: (call, "custom_vmap_call"),
    dead_code=_dead_code,
)
