"""What ``linearize`` and ``vjp`` return: linear functions that hold what they need as leaves.

They are pytrees, so that they can leave a ``jit`` and be its arguments: the leaves are the
residuals, the arrays that were computed along the way.
"""

from collections.abc import Sequence
from itertools import compress
from typing import Any, NamedTuple, Self, final

import numpy as np

from ricci_ir import JaxprEqn, Literal, Var, api_boundary, as_array, float0, get_aval
from ricci_pytree import (
    keystr,
    register_pytree_node,
    tree_flatten,
    tree_flatten_with_path,
    tree_unflatten,
)

from ._grad import reduced
from ._tangent import Zero, has_tangent, instantiate, tangent_aval
from ._transpose import pull_back_tape


class Signature(NamedTuple):
    """What a linear function maps between.

    Attributes:
      in_tree, out_tree: the structures of the differentiated function's arguments and result.
      in_avals, out_avals: the types of their leaves.
      smooth: for each leaf of the arguments, whether it is differentiated.
      reduce_axes: named axes over which cotangents are summed.
    """

    in_tree: Any
    out_tree: Any
    in_avals: tuple[Any, ...]
    out_avals: tuple[Any, ...]
    smooth: tuple[bool, ...]
    reduce_axes: tuple[Any, ...] = ()


class Tangents(NamedTuple):
    """A tape's variables: the given tangents, and for each result its tangent, ``None`` if zero."""

    given: tuple[Var, ...]
    results: tuple[Var | None, ...]


class _Template:
    """Equations whose known arrays are variables; two are equal only if they are one object."""

    __slots__ = ("eqns", "variables")

    def __init__(self, eqns: list[JaxprEqn], variables: list[Var]):
        self.eqns = eqns
        self.variables = variables

    def filled(self, values: Sequence[Any]) -> list[JaxprEqn]:
        """The equations with arrays for the variables."""
        literals = {
            id(var): Literal(value, var.aval)
            for var, value in zip(self.variables, values, strict=True)
        }
        return [
            eqn.reading([literals.get(id(atom), atom) for atom in eqn.invars]) for eqn in self.eqns
        ]


class _OnTape:
    """A linear function whose equations are on a tape, with known arrays as literals."""

    __slots__ = ("_parts", "eqns", "signature", "tangents")

    def __init__(self, eqns: list[JaxprEqn], tangents: Tangents, signature: Signature):
        self.eqns = eqns
        self.tangents = tangents
        self.signature = signature
        self._parts: tuple[list[Any], _Template] | None = None

    def flatten(self) -> tuple[list[Any], tuple]:
        """The residuals, and the rest."""
        if self._parts is None:
            self._parts = _parted(self.eqns)
        values, template = self._parts
        return values, (template, self.tangents, self.signature)

    @classmethod
    def unflatten(cls, rest: tuple, values: Sequence[Any]) -> Self:
        """The function with these residuals."""
        template, tangents, signature = rest
        made = cls(template.filled(values), tangents, signature)
        made._parts = (list(values), template)
        return made

    def __repr__(self) -> str:
        values, _ = self.flatten()
        shown = ", ".join(_type_of(value) for value in values)
        return f"{type(self).__name__}(residuals=[{shown}])"


def _type_of(value: Any) -> str:
    aval = getattr(value, "aval", None)
    return repr(value) if aval is None else aval.str_short()


def _parted(eqns: Sequence[JaxprEqn]) -> tuple[list[Any], _Template]:
    """The arrays that equations hold, and the equations with a variable for each."""
    found: dict[int, Var] = {}
    values: list[Any] = []

    def atom(operand: Var | Literal) -> Var | Literal:
        if type(operand) is Var:
            return operand
        value = operand.val  # pyright: ignore[reportAttributeAccessIssue]
        if not hasattr(type(value), "aval") and not isinstance(value, np.ndarray):
            return operand
        if id(value) not in found:
            found[id(value)] = Var(operand.aval)
            values.append(value)
        return found[id(value)]

    replaced = [eqn.reading([atom(a) for a in eqn.invars]) for eqn in eqns]
    return values, _Template(replaced, list(found.values()))


@final
class Pushforward(_OnTape):
    """The derivative of a function at a point: tangents of its arguments to that of its result."""

    __slots__ = ()

    @api_boundary
    def __call__(self, *tangents: Any) -> Any:
        signature = self.signature
        leaves, tree = tree_flatten(tangents)
        if tree != signature.in_tree:
            raise TypeError(
                "the linearized function takes tangents in the structure of the primals, "
                f"{signature.in_tree}, and was given {tree}."
            )
        checked = [
            checked_tangent("linearize", i, aval, t, tangents)
            for i, (aval, t) in enumerate(zip(signature.in_avals, leaves, strict=True))
        ]
        env = {
            id(var): instantiate(t)
            for var, t in zip(self.tangents.given, compress(checked, signature.smooth), strict=True)
        }
        for eqn in self.eqns:
            operands = [a.operand() if type(a) is Literal else env[id(a)] for a in eqn.invars]
            result = eqn.primitive.bind(*operands, **eqn.params)
            result = result if eqn.primitive.multiple_results else [result]
            env.update((id(v), r) for v, r in zip(eqn.outvars, result, strict=True))
        outs = [
            with_float0(Zero(tangent_aval(aval))) if var is None else env[id(var)]
            for var, aval in zip(self.tangents.results, signature.out_avals, strict=True)
        ]
        return tree_unflatten(signature.out_tree, map(as_array, outs))


@final
class Pullback(_OnTape):
    """The transposed derivative: a cotangent of the result to a tuple of those of the arguments."""

    __slots__ = ()

    @api_boundary
    def __call__(self, ct: Any) -> tuple[Any, ...]:
        signature = self.signature
        ct_leaves, ct_tree = tree_flatten(ct)
        if ct_tree != signature.out_tree:
            raise ValueError(
                "the cotangent passed to a vjp function must have the tree structure of the "
                f"function's output: expected {signature.out_tree}, got {ct_tree}."
            )
        cts = []
        for i, (aval, leaf) in enumerate(zip(signature.out_avals, ct_leaves, strict=True)):
            found: Any = get_aval(leaf)
            if has_tangent(aval) or found.shape != aval.shape:
                check_type("vjp", "cotangent", "output", i, aval, leaf, ct)
            # The cotangent of an integer is zero: whatever number stands for it is not looked at.
            cts.append(strong(leaf, aval))
        results = iter(pull_back_tape(self.eqns, self.tangents.given, self.tangents.results, cts))
        pulled = [
            _cotangent(next(results), aval, signature.reduce_axes)
            if is_smooth
            else unperturbed(aval)
            for aval, is_smooth in zip(signature.in_avals, signature.smooth, strict=True)
        ]
        return tree_unflatten(signature.in_tree, pulled)


register_pytree_node(Pushforward, Pushforward.flatten, Pushforward.unflatten)
register_pytree_node(Pullback, Pullback.flatten, Pullback.unflatten)


def _cotangent(found: Any, aval: Any, reduce_axes: tuple) -> Any:
    return as_array(reduced(instantiate(found), reduce_axes))


def unperturbed(aval: Any) -> Any:
    """The cotangent of an argument that is not differentiated."""
    if has_tangent(aval):
        return as_array(instantiate(Zero(tangent_aval(aval))))
    return np.zeros(aval.shape, float0)


def strong(value: Any, aval: Any) -> Any:
    """A Python scalar as one of the type's, if that is not weak; other values as they are."""
    if type(value) in (float, complex) and not aval.weak_type and has_tangent(aval):
        return aval.dtype.type(value)
    return value


def with_float0(tangent: Any) -> Any:
    """An array in place of a symbolic zero, of ``float0`` where it is an integer's."""
    if type(tangent) is Zero and tangent.aval.dtype == float0:
        return np.zeros(tangent.aval.shape, float0)
    return instantiate(tangent)


def checked_tangent(transform: str, i: int, aval: Any, tangent: Any, tree: Any) -> Any:
    """A tangent given for a primal of a type, ``Zero`` where it has none; raises if it is wrong."""
    if getattr(tangent, "dtype", None) == float0:
        if has_tangent(aval):
            check_type(transform, "tangent", "primal", i, aval, tangent, tree)
        return Zero(tangent_aval(aval))
    if type(tangent) is Zero:
        return tangent
    check_type(transform, "tangent", "primal", i, aval, tangent, tree)
    return strong(tangent, aval)


def check_type(
    transform: str, what: str, of: str, i: int, aval: Any, value: Any, tree: Any
) -> None:
    """Raise unless ``value`` has the tangent type of ``aval``; float0 passes for integers."""
    expected: Any = tangent_aval(aval)
    found: Any = get_aval(value)
    if found.shape == expected.shape and found.dtype == expected.dtype:
        return
    path = keystr(tree_flatten_with_path(tree)[0][i][0])
    # Only a jvp's dtype is a TypeError, as in JAX.
    wrong_dtype = transform == "jvp" and found.shape == expected.shape
    raise (TypeError if wrong_dtype else ValueError)(
        f"{transform}: the {what}{f' at {path}' if path else ''} must have the shape and tangent "
        f"dtype of its {of}: expected {expected.str_short()}, got {found.str_short()}."
    )
