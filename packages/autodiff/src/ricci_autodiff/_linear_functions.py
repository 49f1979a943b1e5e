"""The linear functions that ``linearize`` and ``vjp`` return.

They are pytrees whose leaves are the residuals, the arrays of the forward pass that the derivative
reads. So a function under ``jit`` can return one, or take one as an argument.
"""

from collections.abc import Sequence
from itertools import compress
from typing import Any, final

import ricci_ir as ir
import ricci_pytree as pytree
from ricci_ir import ArrayLike, Jaxpr, JaxprEqn, PyTree, ShapedArray, Var

from ._linearize import residuals_to_variables
from ._tangent import Zero, as_value, instantiate, tangent_aval
from ._tangent_checks import checked_tangent, with_float0


class Signature(ir.TupleRecord):
    """The arguments and results of the differentiated function.

    Attributes:
      in_tree, out_tree: the structures of the arguments and of the result.
      in_avals, out_avals: the types of their leaves.
      smooth: for each leaf of the arguments, whether it is differentiated.
      reduce_axes: named axes over which cotangents are summed.
    """

    in_tree: pytree.PyTreeDef
    out_tree: pytree.PyTreeDef
    in_avals: tuple[ShapedArray, ...]
    out_avals: tuple[ShapedArray, ...]
    smooth: tuple[bool, ...]
    reduce_axes: tuple[Any, ...] = ()


class Tangents(ir.TupleRecord):
    """The variables of a tape: the tangents of the arguments, and of the results.

    The tangent of a result is ``None`` if it is zero.
    """

    arguments: tuple[Var, ...]
    results: tuple[Var | None, ...]


class Template:
    """Equations with variables in place of the residuals.

    It is static data of a pytree. Two templates are equal only if they are the same object.

    Attributes:
      eqns: the equations.
      variables: the variables of the residuals.
      primals: for each leaf of the function's arguments, its index among the residuals, or
        ``None``.
    """

    __slots__ = ("eqns", "primals", "variables")

    def __init__(self, eqns: list[JaxprEqn], variables: list[Var], primals: tuple[int | None, ...]):
        self.eqns = eqns
        self.variables = variables
        self.primals = primals

    def filled(self, values: Sequence[ArrayLike]) -> list[JaxprEqn]:
        """Return the equations with residuals in place of the variables."""
        literals: dict[ir.Atom, ir.Atom] = {
            var: ir.Literal(value, var.aval)
            for var, value in zip(self.variables, values, strict=True)
        }
        return [eqn.reading([literals.get(atom, atom) for atom in eqn.invars]) for eqn in self.eqns]

    def jaxpr(self, tangents: Tangents) -> Jaxpr:
        """Return the jaxpr that maps the residuals and the arguments' tangents to the results'."""
        return Jaxpr(
            [],
            [*self.variables, *tangents.arguments],
            [var for var in tangents.results if var is not None],
            self.eqns,
            ir.join_effects(eqn.effects for eqn in self.eqns),
            ir.unknown_debug_info,
            [],
        )


def shown_type(value: object) -> str:
    aval: ir.AbstractValue | None = getattr(value, "aval", None)
    return repr(value) if aval is None else aval.str_short()


def without_residuals(
    eqns: Sequence[JaxprEqn], primal_ids: Sequence[int] = ()
) -> tuple[list[Any], Template]:
    """Split equations into their residuals and a template.

    Args:
      primal_ids: the ``id`` of each leaf of the function's arguments.
    """
    replaced, _, variables, values = residuals_to_variables(eqns)
    indices = {id(value): i for i, value in enumerate(values)}
    return values, Template(replaced, variables, tuple(map(indices.get, primal_ids)))


@final
class LinearProgram:
    """The derivative of a function at a point, without its residuals.

    ``linearize`` returns a ``Partial`` of it and the residuals, which maps tangents of the
    function's arguments to one of its result. Calling that does not evaluate the function again.
    """

    __slots__ = ("__weakref__", "signature", "tangents", "template")

    def __init__(self, template: Template, tangents: Tangents, signature: Signature):
        self.template: Template = template
        self.tangents: Tangents = tangents
        self.signature: Signature = signature

    @property
    def jaxpr(self) -> Jaxpr:
        """The jaxpr, which takes the residuals and the tangents of the differentiated arguments."""
        return self.template.jaxpr(self.tangents)

    @property
    def args(self) -> tuple[Jaxpr]:
        """A tuple of the jaxpr, an attribute that programs written for JAX read."""
        return (self.jaxpr,)

    @ir.api_boundary
    def __call__(self, residuals: Sequence[ArrayLike], *tangents: PyTree) -> PyTree:
        """Return the tangent of the result for one tangent of each argument."""
        signature = self.signature
        leaves, tree = pytree.tree_flatten(tangents)
        if tree != signature.in_tree:
            raise TypeError(
                "linearize: the tangents must have the tree structure of the primals: expected "
                f"{signature.in_tree}, got {tree}."
            )
        checked = [
            checked_tangent("linearize", i, aval, t, tangents)
            for i, (aval, t) in enumerate(zip(signature.in_avals, leaves, strict=True))
        ]
        env: dict[Var, Any] = dict(zip(self.template.variables, residuals, strict=True))
        smooth = compress(checked, signature.smooth)
        for var, tangent in zip(self.tangents.arguments, smooth, strict=True):
            env[var] = instantiate(tangent)
        ir.run_equations(self.template.eqns, env)
        outs = [
            with_float0(Zero(tangent_aval(aval))) if var is None else env[var]
            for var, aval in zip(self.tangents.results, signature.out_avals, strict=True)
        ]
        return pytree.tree_unflatten(signature.out_tree, map(as_value, outs))


def pushforward(eqns: list[JaxprEqn], tangents: Tangents, signature: Signature) -> pytree.Partial:
    """Make the function that ``linearize`` returns: a ``LinearProgram`` and its residuals."""
    values, template = without_residuals(eqns)
    return pytree.Partial(LinearProgram(template, tangents, signature), values)
