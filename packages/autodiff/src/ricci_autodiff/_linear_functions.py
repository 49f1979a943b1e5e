"""The linear functions that ``linearize`` and ``vjp`` return.

They are pytrees whose leaves are the residuals, the arrays that the derivative needs from the
forward pass. So a function under ``jit`` can return one, or take one as an argument.
"""

from collections.abc import Sequence
from itertools import compress
from typing import Any, NamedTuple, Self, final

import numpy as np

from ricci_ir import (
    AbstractValue,
    ArrayLike,
    Atom,
    JaxprEqn,
    Literal,
    PyTree,
    ShapedArray,
    Var,
    api_boundary,
    as_array,
    float0,
    get_aval,
    run_equations,
)
from ricci_pytree import (
    PyTreeDef,
    keystr,
    register_pytree_node,
    tree_flatten,
    tree_flatten_with_path,
    tree_unflatten,
)

from ._grad import reduced
from ._tangent import Tangent, Zero, has_tangent, instantiate, tangent_aval
from ._transpose import pull_back_tape


class Signature(NamedTuple):
    """The arguments and results of the differentiated function.

    Attributes:
      in_tree, out_tree: the structures of the arguments and of the result.
      in_avals, out_avals: the types of their leaves.
      smooth: for each leaf of the arguments, whether it is differentiated.
      reduce_axes: named axes over which cotangents are summed.
    """

    in_tree: PyTreeDef
    out_tree: PyTreeDef
    in_avals: tuple[ShapedArray, ...]
    out_avals: tuple[ShapedArray, ...]
    smooth: tuple[bool, ...]
    reduce_axes: tuple[Any, ...] = ()


class Tangents(NamedTuple):
    """The variables of a tape: the given tangents, and the tangents of the results.

    The tangent of a result is ``None`` if it is zero.
    """

    given: tuple[Var, ...]
    results: tuple[Var | None, ...]


class _Template:
    """Equations with variables in place of the residuals.

    It is static data of a pytree. Two templates are equal only if they are the same object.
    """

    __slots__ = ("eqns", "variables")

    def __init__(self, eqns: list[JaxprEqn], variables: list[Var]):
        self.eqns = eqns
        self.variables = variables

    def filled(self, values: Sequence[ArrayLike]) -> list[JaxprEqn]:
        """The equations with residuals in place of the variables."""
        literals = {
            id(var): Literal(value, var.aval)
            for var, value in zip(self.variables, values, strict=True)
        }
        return [
            eqn.reading([literals.get(id(atom), atom) for atom in eqn.invars]) for eqn in self.eqns
        ]


class _OnTape:
    """A linear function given by the equations of a tape, with residuals as literals."""

    __slots__ = ("_parts", "eqns", "signature", "tangents")

    eqns: list[JaxprEqn]
    tangents: Tangents
    signature: Signature
    _parts: tuple[list[Any], _Template] | None

    def __init__(self, eqns: list[JaxprEqn], tangents: Tangents, signature: Signature):
        self.eqns = eqns
        self.tangents = tangents
        self.signature = signature
        self._parts = None

    def flatten(self) -> tuple[list[Any], tuple[_Template, Tangents, Signature]]:
        """The residuals, and the static data."""
        if self._parts is None:
            self._parts = _without_residuals(self.eqns)
        values, template = self._parts
        return values, (template, self.tangents, self.signature)

    @classmethod
    def unflatten(
        cls, data: tuple[_Template, Tangents, Signature], values: Sequence[ArrayLike]
    ) -> Self:
        """The function with this static data and these residuals."""
        template, tangents, signature = data
        made = cls(template.filled(values), tangents, signature)
        made._parts = (list(values), template)
        return made

    def __repr__(self) -> str:
        values, _ = self.flatten()
        shown = ", ".join(_type_of(value) for value in values)
        return f"{type(self).__name__}(residuals=[{shown}])"


def _type_of(value: object) -> str:
    aval: AbstractValue | None = getattr(value, "aval", None)
    return repr(value) if aval is None else aval.str_short()


def _without_residuals(eqns: Sequence[JaxprEqn]) -> tuple[list[Any], _Template]:
    """The residuals in equations, and the equations with variables in their place."""
    found: dict[int, Var] = {}
    values: list[Any] = []

    def atom(operand: Atom) -> Atom:
        if type(operand) is not Literal:
            return operand
        value = operand.val
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
    """The derivative of a function at a point: maps tangents of its arguments to one of its result.

    Calling it does not evaluate the function again.
    """

    __slots__ = ()

    @api_boundary
    def __call__(self, *tangents: PyTree) -> PyTree:
        """The tangent of the result, given one tangent for each argument."""
        signature = self.signature
        leaves, tree = tree_flatten(tangents)
        if tree != signature.in_tree:
            raise TypeError(
                "linearize: the tangents must have the tree structure of the primals: expected "
                f"{signature.in_tree}, got {tree}."
            )
        checked = [
            checked_tangent("linearize", i, aval, t, tangents)
            for i, (aval, t) in enumerate(zip(signature.in_avals, leaves, strict=True))
        ]
        env = {
            id(var): instantiate(t)
            for var, t in zip(self.tangents.given, compress(checked, signature.smooth), strict=True)
        }
        run_equations(self.eqns, env)
        outs = [
            with_float0(Zero(tangent_aval(aval))) if var is None else env[id(var)]
            for var, aval in zip(self.tangents.results, signature.out_avals, strict=True)
        ]
        return tree_unflatten(signature.out_tree, map(as_array, outs))


@final
class Pullback(_OnTape):
    """The transposed derivative: maps a cotangent of the result to cotangents of the arguments."""

    __slots__ = ()

    @api_boundary
    def __call__(self, ct: PyTree) -> tuple[PyTree, ...]:
        """The cotangents of the arguments, given the cotangent of the result."""
        signature = self.signature
        ct_leaves, ct_tree = tree_flatten(ct)
        if ct_tree != signature.out_tree:
            raise ValueError(
                "vjp: the cotangent must have the tree structure of the function's output: "
                f"expected {signature.out_tree}, got {ct_tree}."
            )
        cts: list[Tangent] = []
        for i, (aval, leaf) in enumerate(zip(signature.out_avals, ct_leaves, strict=True)):
            found: Any = get_aval(leaf)
            if has_tangent(aval) or found.shape != aval.shape:
                check_type("vjp", "cotangent", "output", i, aval, leaf, ct)
            # The cotangent of an integer is zero, so its value and dtype are not checked.
            cts.append(strong(leaf, aval))
        results = iter(pull_back_tape(self.eqns, self.tangents.given, self.tangents.results, cts))
        pulled = [
            as_array(reduced(instantiate(next(results)), signature.reduce_axes))
            if is_smooth
            else unperturbed(aval)
            for aval, is_smooth in zip(signature.in_avals, signature.smooth, strict=True)
        ]
        return tree_unflatten(signature.in_tree, pulled)


register_pytree_node(Pushforward, Pushforward.flatten, Pushforward.unflatten)
register_pytree_node(Pullback, Pullback.flatten, Pullback.unflatten)


def unperturbed(aval: ShapedArray) -> ArrayLike:
    """The cotangent of an argument that is not differentiated: zeros of its tangent type."""
    if has_tangent(aval):
        return as_array(instantiate(Zero(tangent_aval(aval))))
    return np.zeros(aval.shape, float0)


def strong(value: ArrayLike, aval: ShapedArray) -> ArrayLike:
    """A Python scalar converted to the dtype of ``aval``, unless that is weak; others unchanged."""
    if type(value) in (float, complex) and not aval.weak_type and has_tangent(aval):
        return aval.dtype.type(value)
    return value


def with_float0(tangent: Tangent) -> ArrayLike:
    """A tangent as an array; a symbolic zero of an integer becomes zeros of dtype ``float0``."""
    if type(tangent) is Zero and tangent.aval.dtype == float0:
        return np.zeros(tangent.aval.shape, float0)
    return instantiate(tangent)


def checked_tangent(
    transform: str, i: int, aval: ShapedArray, tangent: Tangent, tree: PyTree
) -> Tangent:
    """Check the tangent that a user gave for a primal.

    Args:
      transform: the name of the transformation, for messages.
      i: the position of the tangent among the leaves of ``tree``.
      aval: the type of the primal.
      tangent: the tangent.
      tree: all tangents.

    Returns:
      The tangent; ``Zero`` if its dtype is ``float0``.
    """
    if type(tangent) is Zero:
        return tangent
    if getattr(tangent, "dtype", None) == float0:
        if has_tangent(aval):
            check_type(transform, "tangent", "primal", i, aval, tangent, tree)
        return Zero(tangent_aval(aval))
    check_type(transform, "tangent", "primal", i, aval, tangent, tree)
    return strong(tangent, aval)


def check_type(
    transform: str,
    what: str,
    of: str,
    i: int,
    aval: AbstractValue,
    value: ArrayLike,
    tree: PyTree,
) -> None:
    """Raise an error unless ``value`` has the tangent type of ``aval``.

    Args:
      transform: the name of the transformation, for messages.
      what: ``tangent`` or ``cotangent``.
      of: what has the type ``aval``: ``primal`` or ``output``.
      i: the position of the value among the leaves of ``tree``.
      aval: the type of the primal or the output.
      value: the tangent or cotangent.
      tree: all tangents or cotangents.

    Raises:
      TypeError: if the dtype of a jvp's tangent differs.
      ValueError: if anything else differs.
    """
    expected: Any = tangent_aval(aval)
    found: Any = get_aval(value)
    if found.shape == expected.shape and found.dtype == expected.dtype:
        return
    path = keystr(tree_flatten_with_path(tree)[0][i][0])
    # JAX raises TypeError only for the dtype of a jvp's tangent.
    wrong_dtype = transform == "jvp" and found.shape == expected.shape
    raise (TypeError if wrong_dtype else ValueError)(
        f"{transform}: the {what}{f' at {path}' if path else ''} must have the shape and tangent "
        f"dtype of its {of}: expected {expected.str_short()}, got {found.str_short()}."
    )
