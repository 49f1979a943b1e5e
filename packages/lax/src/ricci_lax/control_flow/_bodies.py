"""Trace the bodies and branches of control flow, and check their results."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import ricci_ir as ir
import ricci_pytree as pytree
from ricci_lax.elementwise._conversion import converted

# Returns the names of an operation's leaves; called only for error messages.
type Names = Callable[[], Sequence[str]]
# Indices and bounds of loops.
type IntegerScalar = ir.Array | np.ndarray | np.integer | int


class Body(ir.TupleRecord):
    """A traced function.

    Attributes:
      jaxpr: the function's jaxpr; its leading arguments are the values that it closes over.
      consts: those values.
      out_tree: the structure of the function's result.
    """

    jaxpr: ir.Jaxpr
    consts: list[Any]
    out_tree: pytree.PyTreeDef

    @property
    def out_avals(self) -> list[Any]:
        """The types of the leaves that the function returns."""
        return self.jaxpr.out_avals


_bodies: ir.TracedFunctions[Any, Body] = ir.TracedFunctions("bodies of loops and branches", 1024)


def trace_body(
    what: str,
    fun: Callable,
    tree: pytree.PyTreeDef,
    avals: Sequence[Any],
    *,
    retrace: bool = False,
    allowed: ir.EffectTypeSet | None = ir.control_flow_allowed_effects,
) -> Body:
    """Trace a function of pytrees; a later call with the same function and types reuses it.

    Args:
      what: the operation that the function is given to, for messages.
      tree, avals: the structure and the types of its arguments.
      retrace: whether the function is traced in each call, since values that it closes over may
        have changed. An equal cached jaxpr, with its executables, is still used.
      allowed: the side effects that the function may have; ``None`` for all.

    Raises:
      TypeError: if the function returns something that is not an array.
      NotImplementedError: if it has effects that are not allowed.
    """
    key = what, tree, tuple(avals)
    cached = _bodies.recall(fun, key)
    if cached is not None and not retrace:
        return cached
    traced = _trace(what, fun, tree, avals)
    if traced.jaxpr.effects and allowed is not None:
        allowed.require(f"{what}: {function_name(fun)}", traced.jaxpr.effects)
    if cached is not None and ir.same_program(cached.jaxpr, traced.jaxpr):
        # Derived jaxprs are cached on a jaxpr: the earlier one has them already.
        return traced._replace(jaxpr=cached.jaxpr)
    # A tracer in the cache would outlive its trace.
    if not any(map(ir.is_traced, traced.consts)):
        _bodies.put(fun, key, traced)
    return traced


def _trace(what: str, fun: Callable, tree: pytree.PyTreeDef, avals: Sequence[Any]) -> Body:
    out_tree: Any = None

    def flat(*leaves: ir.Array) -> list[Any]:
        nonlocal out_tree
        out = fun(*pytree.tree_unflatten(tree, leaves))
        results, out_tree = pytree.tree_flatten(ir.parted(out))
        ir.check_results(f"{what}: {function_name(fun)}", results, out)
        return results

    jaxpr = ir.trace_to_jaxpr(flat, avals, _debug_info(what, fun, tree))
    return Body(ir.convert_constvars(jaxpr), jaxpr.consts, out_tree)


def _debug_info(what: str, fun: Callable, tree: pytree.PyTreeDef) -> ir.DebugInfo:
    names = pytree.argument_paths(pytree.tree_unflatten(tree, range(tree.num_leaves)), {}, fun)
    return ir.DebugInfo(what, function_name(fun), tuple(names))


def function_name(fun: object) -> str:
    """The name of a function for messages; a lambda is named by its file and line."""
    name = getattr(fun, "__name__", None) or type(fun).__name__
    code = getattr(fun, "__code__", None)
    if name == "<lambda>" and code is not None:
        return f"the lambda at {ir.shown_file(code.co_filename, short=True)}:{code.co_firstlineno}"
    return name


# The carry of a loop


def leaf_avals(what: str, names: Names, leaves: Sequence[Any]) -> list[Any]:
    """The types of an operation's operands.

    Raises:
      TypeError: if one is not an array; the message names the first such value.
    """
    avals = []
    for i, leaf in enumerate(leaves):
        try:
            avals.append(ir.get_aval(leaf))
        except TypeError:
            raise TypeError(
                f"{what}: {names()[i]} is {leaf!r:.60}, of type {type(leaf).__name__}, which is "
                "not an array. Pass arrays, scalars, or pytrees of them."
            ) from None
    return avals


def trace_carry(
    what: str,
    fun: Callable,
    tree: pytree.PyTreeDef,
    carry: Sequence[ir.ShapedArray],
    others: Sequence[Any],
    count: int,
    before: Sequence[Any] = (),
) -> tuple[Body, list[ir.ShapedArray]]:
    """Trace a loop's body, and find types of the carry that the body returns as it gets them.

    A weakly typed leaf of the carry, for which the body returns another dtype, is promoted with
    it, and the body is traced again. Where only the weak type differs, the loop's result is as
    weak as the body's.

    Args:
      tree: the structure of the arguments.
      carry: the types of the initial carry.
      before, others: the types of the arguments before and after the carry.
      count: how many leaves the carry has.

    Returns:
      The body and the types of its carry.
    """

    def trace(carry: list[ir.ShapedArray]) -> tuple[Body, list[ir.ShapedArray]]:
        body = trace_body(what, fun, tree, [*before, *carry, *others])
        outs = body.out_avals[:count]
        promoted = carry if len(outs) < count else _strengthened(carry, outs)
        if promoted != carry and ir.is_observed():
            _notify_promoted(what, fun, tree, carry, promoted, len(before))
        return body, promoted

    # A weakly typed part of the carry can become strongly typed, but not weak again: this ends.
    return ir.fixpoint(trace, list(carry))


def _notify_promoted(
    what: str,
    fun: Callable,
    tree: pytree.PyTreeDef,
    carry: Sequence[ir.ShapedArray],
    promoted: Sequence[ir.ShapedArray],
    before: int,
) -> None:
    names = pytree.argument_paths(pytree.tree_unflatten(tree, range(tree.num_leaves)), {}, fun)
    changes = [
        (name, old, new)
        for name, old, new in zip(names[before:], carry, promoted, strict=False)
        if old is not new
    ]
    ir.notify(ir.CarryPromoted(ir.current_source(), what, tuple(changes)))


def _strengthened(carry: Sequence[ir.ShapedArray], outs: Sequence[Any]) -> list[ir.ShapedArray]:
    """The types of the carry; a weak one is promoted with another dtype that the body returns."""
    return [
        c.update(
            dtype=ir.lattice_result_type((c.dtype, True), (o.dtype, o.weak_type))[0],
            weak_type=False,
        )
        if c.weak_type and o.dtype != c.dtype
        else c
        for c, o in zip(carry, outs, strict=True)
    ]


def initial_carry(values: Sequence[Any], avals: Sequence[Any]) -> list[Any]:
    """The initial values of a carry, converted to the types that ``trace_carry`` found."""
    return [converted(x, a.dtype, a.weak_type) for x, a in zip(values, avals, strict=True)]


def check_carry(
    what: str,
    fun: Callable,
    names: Names,
    tree: pytree.PyTreeDef,
    out_tree: pytree.PyTreeDef,
    carry: Sequence[ir.ShapedArray],
    out: Sequence[ir.ShapedArray],
) -> None:
    """Check that a loop's body returns a carry of the structure and types that it is given.

    Args:
      names: returns the user's names for the leaves of the carry.
      tree, out_tree: the structures of the carry given and returned.
      carry, out: the types of their leaves.

    Raises:
      TypeError: if they differ; the message names the leaves, both types, and the likely fix.
    """
    if tree != out_tree:
        raise TypeError(
            ir.explained(
                f"{what}: {function_name(fun)} must return a carry of the pytree "
                "structure that it is given.\n"
                f"{_structure_difference(tree, out_tree, 'the carry given', 'the carry returned')}"
                "\nReturn every part of the carry, in its place, also where it does not change.",
                "loops",
            )
        )
    wrong = [
        (i, c, o)
        for i, (c, o) in enumerate(zip(carry, out, strict=True))
        if c is not o and (c.shape, c.dtype, c.type_sharding) != (o.shape, o.dtype, o.type_sharding)
    ]
    if not wrong:
        return
    called = names()
    lines = [
        f"  {called[i]} is given as {c.str_short()} and returned as {o.str_short()}: "
        f"{_differs(c, o)}"
        for i, c, o in wrong[:5]
    ]
    if len(wrong) > 5:
        lines.append(f"  and {len(wrong) - 5} more")
    _, c, o = wrong[0]
    start = f"{what}: {function_name(fun)} must return a carry of the types that it is given:"
    raise TypeError(ir.explained("\n".join([start, *lines, _fix(c, o)]), "loops"))


def _differs(c: ir.ShapedArray, o: ir.ShapedArray) -> str:
    parts = [
        part
        for part, different in (
            ("shape", c.shape != o.shape),
            ("dtype", c.dtype != o.dtype),
            ("sharding", c.type_sharding != o.type_sharding),
        )
        if different
    ]
    return f"another {' and another '.join(parts)}."


def _fix(c: ir.ShapedArray, o: ir.ShapedArray) -> str:
    if c.shape != o.shape:
        return (
            f"Start from an initial carry of shape {o.shape}, or make the body keep the shape "
            f"{c.shape} (does an operand broadcast it?)."
        )
    missing = tuple(sorted(ir.varying(o) - ir.varying(c), key=str))
    if missing:
        return (
            "The manual axis types do not match. Start from an initial carry that varies alike: "
            f"jax.lax.pcast(x, {missing}, to='varying')."
        )
    if c.dtype == o.dtype:
        return "Start from an initial carry that lies as the body returns it: reshard it."
    return (
        f"Start from an initial carry of dtype {o.dtype}, or convert what the body returns with "
        f".astype({str(c.dtype)!r})."
    )


def _structure_difference(
    first: pytree.PyTreeDef, second: pytree.PyTreeDef, one: str, other: str
) -> str:
    """Lines that show two tree structures and a leaf that only one of them has."""
    paths = [_paths(tree) for tree in (first, second)]
    for name, mine, theirs in ((one, *paths), (other, *paths[::-1])):
        only = [path for path in mine if path not in theirs]
        if only:
            return f"  Only {name} has a leaf at {only[0] or 'the top'}:\n  {one}: {first}\n" + (
                f"  {other}: {second}"
            )
    return f"  {one}: {first}\n  {other}: {second}"


def _paths(tree: pytree.PyTreeDef) -> list[str]:
    numbered = pytree.tree_unflatten(tree, range(tree.num_leaves))
    return [pytree.keystr(path) for path, _ in pytree.tree_flatten_with_path(numbered)[0]]


# Branches


def varying_alike(bodies: Sequence[Body]) -> list[Body]:
    """The branches, with results that vary along the same manual axes in all of them."""
    if not any(aval.type_sharding for body in bodies for aval in body.out_avals):
        return list(bodies)
    if len({body.out_tree for body in bodies}) > 1:  # an error, which check_branches reports
        return list(bodies)
    axes = [
        ir.no_axes.union(*map(ir.varying, avals))
        for avals in zip(*(body.out_avals for body in bodies), strict=True)
    ]
    return [_varying_along(body, axes) for body in bodies]


def _varying_along(body: Body, axes: Sequence[ir.AxisNames]) -> Body:
    """A body whose results vary along these axes."""
    if all(ir.varying(aval) == names for aval, names in zip(body.out_avals, axes, strict=True)):
        return body
    jaxpr = body.jaxpr

    def fun(*args: ir.Array) -> list[Any]:
        outs = ir.eval_jaxpr(jaxpr, jaxpr.consts, *args)
        return [ir.cast_varying(x, names) for x, names in zip(outs, axes, strict=True)]

    make = lambda: ir.trace_to_jaxpr(fun, jaxpr.in_avals, jaxpr.debug_info)
    return body._replace(jaxpr=jaxpr.derived(("varying along", *axes), make))


def check_branches(what: str, names: Sequence[str], bodies: Sequence[Body]) -> None:
    """Check that branches return the same structure and types.

    Args:
      names: the names of the branches in messages.

    Raises:
      TypeError: if they do not; the message names the first such branch and its leaves.
    """
    first = bodies[0]
    # Later mentions of a branch leave out the location of its function.
    short = [name.partition(" (")[0] for name in names]
    for i, body in enumerate(bodies[1:], 1):
        name = names[i]
        if body.out_tree != first.out_tree:
            raise TypeError(
                ir.explained(
                    f"{what}: the branches must return the same structure, but {names[0]} and "
                    f"{name} do not.\n"
                    f"{_structure_difference(first.out_tree, body.out_tree, short[0], short[i])}\n"
                    "Return the same containers, with the same keys, from each.",
                    "loops",
                )
            )
        wrong = [
            (path, a, b)
            for path, a, b in zip(
                _paths(first.out_tree), first.out_avals, body.out_avals, strict=True
            )
            if (a.shape, a.dtype, a.type_sharding) != (b.shape, b.dtype, b.type_sharding)
        ]
        if wrong:
            lines = [
                f"  output{path} of {names[0]} is {a.str_short()}, that of {name} "
                f"{b.str_short()}: {_differs(a, b)}"
                for path, a, b in wrong[:5]
            ]
            _, a, b = wrong[0]
            advice = (
                f"Make both of shape {a.shape} or both of shape {b.shape}."
                if a.shape != b.shape
                else f"Convert one of them, with .astype({str(a.dtype)!r}) say."
            )
            start = f"{what}: the branches must return the same types:"
            raise TypeError(ir.explained("\n".join([start, *lines, advice]), "loops"))


def joined_branches(bodies: Sequence[Body]) -> tuple[list[Any], tuple[ir.Jaxpr, ...]]:
    """The branches as jaxprs of the same arguments.

    Returns:
      The values that the branches close over, and the jaxprs. Each jaxpr takes all of these
      values, also those of other branches, ahead of the operands.
    """
    # The operands of a cond are those of all its branches: each branch takes the constants of the
    # others as well, and reads its own.
    consts: list[Any] = []
    positions: dict[int, int] = {}
    layout = []
    for body in bodies:
        for const in body.consts:
            # An array that several branches close over is one operand.
            if id(const) not in positions:
                positions[id(const)] = len(consts)
                consts.append(const)
        layout.append(tuple(positions[id(const)] for const in body.consts))
    avals = tuple(map(ir.get_aval, consts))
    return consts, tuple(
        body.jaxpr.derived(
            ("branch", avals, positions),
            lambda body=body, positions=positions: _branch(body.jaxpr, avals, positions),
        )
        for body, positions in zip(bodies, layout, strict=True)
    )


def _branch(jaxpr: ir.Jaxpr, avals: Sequence[Any], positions: Sequence[int]) -> ir.Jaxpr:
    """One branch with the constants of all branches."""
    leading = list(map(ir.Var, avals))
    for i, var in zip(positions, jaxpr.invars, strict=False):
        leading[i] = var
    return jaxpr.replace(invars=[*leading, *jaxpr.invars[len(positions) :]])
