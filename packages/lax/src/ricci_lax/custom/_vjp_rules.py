"""A user's forward and backward rules of a ``custom_vjp`` function, as functions of flat arrays."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import ricci_ir as ir
from ricci_autodiff import SymbolicZero, Zero, instantiate, tangent_aval
from ricci_pytree import (
    PyTreeDef,
    broadcast_prefix,
    read_signature,
    tree_flatten,
    tree_map,
    tree_unflatten,
)

from ._accumulators import accumulator
from ._backward_logs import without_logs
from ._call import Call, same_calls
from ._eager_call import EagerCall
from ._shared_rules import array_operand, call_rule, check_unwritten, rule_pair

__all__ = ["CustomVJPPrimal", "custom_vjp_primal_tree_values", "zero_from_primal"]


@ir.exported
class CustomVJPPrimal(ir.Record):
    """An argument of a forward rule with ``symbolic_zeros``: a leaf of its pytree.

    Attributes:
      value: the array.
      perturbed: whether the argument is being differentiated.

    Example:
      A forward rule that keeps a residual only for an argument that is differentiated:

      >>> import ricci
      >>> product = ricci.custom_vjp(lambda x, y: x * y)
      >>> def forward(x, y):
      ...     return x.value * y.value, (y.value, x.value if y.perturbed else None)
      >>> def backward(residuals, ct):
      ...     y, x = residuals
      ...     return ct * y, None if x is None else ct * x
      >>> product.defvjp(forward, backward, symbolic_zeros=True)
      >>> float(ricci.grad(product)(2.0, 3.0))
      3.0
    """

    value: ir.ArrayLike
    perturbed: bool


class VJPFunction(Protocol):
    """The interface of a ``custom_vjp`` function to its rules and primitives."""

    fun: Callable[..., Any]
    fwd: Callable[..., tuple[Any, Any]] | None
    bwd: Callable[..., tuple[Any, ...]] | None
    symbolic_zeros: bool
    optimize_remat: bool
    has_logs: bool
    takes_accums: bool
    is_shared: bool

    @property
    def name(self) -> str: ...


class PerturbedResiduals(ir.TupleRecord):
    """The structure of residuals, and which of the function's arguments are differentiated."""

    tree: PyTreeDef
    perturbed: tuple[bool, ...]


class Rules:
    """A user's forward and backward rules as functions of flat arrays."""

    __slots__ = ("call", "const_count", "custom", "out_tree")

    def __init__(
        self, custom: VJPFunction, call: Call, const_count: int, out_tree: PyTreeDef | EagerCall
    ):
        self.custom = custom
        self.call = call.form()
        self.const_count = const_count
        self.out_tree = out_tree

    def __eq__(self, other: object) -> bool:
        return type(other) is Rules and same_calls(self, other)

    def __hash__(self) -> int:
        return id(self.custom)

    def forward(
        self, primals: Sequence[Any], perturbed: Sequence[bool]
    ) -> tuple[list, list, PyTreeDef | PerturbedResiduals]:
        """The outputs, the residuals, and the structure of the residuals."""
        name = self.custom.name
        leaves, arrays = self.call.with_references(primals[self.const_count :])
        args = leaves
        if self.custom.symbolic_zeros:
            flags = perturbed[self.const_count :]
            args = [CustomVJPPrimal(x, p) for x, p in zip(leaves, flags, strict=True)]
        assert self.custom.fwd is not None
        result = call_rule(self.custom.fwd, *self.call.arguments(args))
        check_unwritten(leaves, arrays)
        out, saved = rule_pair(name, "forward rule", "residuals", result)
        outs, out_tree = tree_flatten(out)
        if isinstance(self.out_tree, EagerCall):  # the function itself is not called
            self.out_tree.out_tree = self.out_tree = out_tree
        if out_tree != self.out_tree:
            raise TypeError(
                f"the custom VJP forward rule of {name} must return an output with the tree "
                f"structure of {name}'s output:\n  expected {self.out_tree}\n  got      {out_tree}"
            )
        residuals, tree = tree_flatten(saved)
        references = {id(leaves[i]): array for i, array in arrays.items()}
        residuals = [references.get(id(x), x) for x in residuals]
        if self.custom.takes_accums:
            return outs, residuals, PerturbedResiduals(tree, tuple(perturbed))
        return outs, residuals, tree

    def backward(
        self,
        tree: PyTreeDef | PerturbedResiduals,
        residuals: Sequence[Any],
        cts: Sequence[Any],
        avals: Sequence[Any],
    ) -> list:
        """The cotangents of the arguments, as arrays or ``Zero``."""
        name = self.custom.name
        accums, accum_trees = [], ()
        if isinstance(tree, PerturbedResiduals):
            accums = list(map(accumulator, avals, tree.perturbed))
            accum_trees = tree_unflatten(self.call.tree, accums[self.const_count :])
            tree = tree.tree
        if self.custom.symbolic_zeros:
            cts = [SymbolicZero(c.aval) if type(c) is Zero else c for c in cts]
        else:
            cts = [array_operand(instantiate(c)) for c in cts]
        static = [value for _, value in self.call.static]
        assert self.custom.bwd is not None
        assert not isinstance(self.out_tree, EagerCall)
        result = call_rule(
            self.custom.bwd,
            *static,
            tree_unflatten(tree, residuals),
            tree_unflatten(self.out_tree, cts),
            *accum_trees,
        )
        if self.custom.takes_accums:
            without_logs(name, (None, result))
            return [accum.freeze() for accum in accums]
        entries = self.call.tree.children()
        if not isinstance(result, tuple | list) or len(result) != len(entries):
            got = f"{len(result)} entries" if isinstance(result, tuple | list) else type(result)
            raise TypeError(
                f"the custom VJP backward rule of {name} must return a tuple with one cotangent "
                f"for each of its {len(entries)} arguments, but it returned {got}."
            )
        # The user's rule does not know of the function's constants, which therefore have no
        # cotangents.
        flat: list[Any] = [Zero(tangent_aval(aval)) for aval in avals[: self.const_count]]
        for i, (entry, value) in enumerate(zip(entries, result, strict=True)):
            expected = avals[len(flat) : len(flat) + entry.num_leaves]
            flat += self._checked(i, entry, value, expected)
        return flat

    def _argument(self, i: int) -> str:
        """The name of the ``i``-th argument that is not static."""
        signature = read_signature(self.custom.fun)
        fixed = {position for position, _ in self.call.static}
        names = [] if signature is None else list(signature.parameters)
        names = [name for position, name in enumerate(names) if position not in fixed]
        return names[i] if i < len(names) else str(i)

    def _checked(
        self, i: int, entry: PyTreeDef, value: ir.PyTree, avals: Sequence[Any]
    ) -> list[Any]:
        """The cotangents of one argument as leaves, checked against its structure and types."""
        name = self.custom.name
        if value is None:
            return [Zero(tangent_aval(aval)) for aval in avals]
        leaves, tree = tree_flatten(value)
        if tree != entry:
            # The rule may return None or a symbolic zero in place of a whole subtree.
            leaves = _leaves_of_prefix(entry, value)
        if leaves is None:
            raise TypeError(
                f"the custom VJP backward rule of {name} must return, for argument "
                f"{self._argument(i)}, a cotangent with the argument's tree structure:\n"
                f"  expected {entry}\n"
                f"  got      {tree}"
            )
        result = []
        for aval, leaf in zip(avals, leaves, strict=True):
            expected: Any = tangent_aval(aval)
            if leaf is None or isinstance(leaf, SymbolicZero) or expected.dtype == ir.float0:
                result.append(Zero(expected))
                continue
            actual: Any = ir.get_aval(leaf)
            fits = actual.shape == expected.shape and actual.dtype == expected.dtype
            if not fits and not _disable_bwd_checks.value:
                raise ValueError(
                    f"the custom VJP backward rule of {name} must return cotangents of the shape "
                    f"and dtype of the arguments: argument {self._argument(i)} needs "
                    f"{expected.str_short()}, got {actual.str_short()}."
                )
            further = ir.varying(actual) - ir.varying(expected)
            if further and not _disable_bwd_checks.value:
                names = ", ".join(map(repr, sorted(map(str, further))))
                raise ValueError(
                    f"the custom VJP backward rule of {name} must return cotangents of the types "
                    f"of the arguments: argument {i} has type {expected.str_short(True)}, the same "
                    f"along the mesh axis {names}, but its cotangent has type "
                    f"{actual.str_short(True)}. Each device has a term of it: return "
                    f"jax.lax.psum(ct, {names})."
                )
            result.append(leaf)
        return result


_disable_bwd_checks = ir.config.state("jax_disable_bwd_checks")


def _leaves_of_prefix(tree: PyTreeDef, value: ir.PyTree) -> list[Any] | None:
    """The entry of a prefix for each leaf of ``tree``; ``None`` if ``value`` is not a prefix.

    A ``None`` in the prefix represents zeros.
    """
    whole = tree_unflatten(tree, [object() for _ in range(tree.num_leaves)])
    is_leaf = lambda x: x is None or isinstance(x, SymbolicZero)
    try:
        return broadcast_prefix(value, whole, is_leaf)
    except ValueError:
        return None


def zero_from_primal(val: ir.PyTree, symbolic_zeros: bool = False) -> ir.PyTree:
    """The zero tangent of a pytree of arrays.

    Args:
      val: a pytree of arrays.
      symbolic_zeros: whether the zeros are ``SymbolicZero`` instead of arrays.

    Returns:
      A pytree of the same structure; the zero of an integer array has dtype ``float0``.

    Example:
      >>> from ricci.custom_derivatives import zero_from_primal
      >>> float(zero_from_primal(2.0))
      0.0
    """

    def zero(x: ir.ArrayLike) -> ir.Array | SymbolicZero:
        tangent = Zero.from_primal(x)
        return SymbolicZero(tangent.aval) if symbolic_zeros else ir.as_array(instantiate(tangent))

    return tree_map(zero, val)


def custom_vjp_primal_tree_values(tree: ir.PyTree) -> ir.PyTree:
    """The values in a pytree of ``CustomVJPPrimal``, the arguments of symbolic-zero forward rules.

    Args:
      tree: the pytree.

    Returns:
      The pytree with ``value`` in place of each ``CustomVJPPrimal``.

    Raises:
      ValueError: if a leaf is of another class.

    Example:
      >>> from ricci.custom_derivatives import CustomVJPPrimal, custom_vjp_primal_tree_values
      >>> custom_vjp_primal_tree_values({"a": CustomVJPPrimal(3, True)})
      {'a': 3}
    """

    def value(leaf: object) -> ir.ArrayLike:
        if not isinstance(leaf, CustomVJPPrimal):
            raise TypeError(
                "custom_vjp_primal_tree_values: the leaves must be CustomVJPPrimal, as the "
                f"forward rule gets them, but found {type(leaf).__name__}."
            )
        return leaf.value

    return tree_map(value, tree, is_leaf=lambda x: isinstance(x, CustomVJPPrimal))
