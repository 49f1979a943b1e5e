"""The linear functions that ``linearize`` and ``vjp`` return.

They are pytrees whose leaves are the residuals, the arrays that the derivative needs from the
forward pass. So a function under ``jit`` can return one, or take one as an argument.
"""

from collections.abc import Iterator, Sequence
from itertools import compress
from typing import Any, Self, final

import numpy as np

from ricci_ir import (
    AbstractValue,
    ArrayLike,
    Atom,
    Jaxpr,
    JaxprEqn,
    Literal,
    PyTree,
    ShapedArray,
    TupleRecord,
    Var,
    api_boundary,
    as_array,
    float0,
    get_aval,
    join_effects,
    run_equations,
    unknown_debug_info,
)
from ricci_pytree import (
    Partial,
    PyTreeDef,
    keystr,
    register_pytree_node,
    tree_flatten,
    tree_flatten_with_path,
    tree_leaves,
    tree_unflatten,
    treedef_is_leaf,
)

from ._grad import reduced
from ._references import AccumulatingPullback, check_no_references
from ._tangent import Tangent, Zero, has_tangent, instantiate, tangent_aval
from ._transpose import pull_back_tape


class Signature(TupleRecord):
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


class Tangents(TupleRecord):
    """The variables of a tape: the given tangents, and the tangents of the results.

    The tangent of a result is ``None`` if it is zero.
    """

    given: tuple[Var, ...]
    results: tuple[Var | None, ...]


class _Template:
    """Equations with variables in place of the residuals.

    It is static data of a pytree. Two templates are equal only if they are the same object.

    Attributes:
      eqns: the equations.
      variables: those that stand for the residuals.
      primals: for each leaf of the function's arguments, which residual it is, if it is one.
    """

    __slots__ = ("eqns", "primals", "variables")

    def __init__(self, eqns: list[JaxprEqn], variables: list[Var], primals: tuple[int | None, ...]):
        self.eqns = eqns
        self.variables = variables
        self.primals = primals

    def filled(self, values: Sequence[ArrayLike]) -> list[JaxprEqn]:
        """The equations with residuals in place of the variables."""
        literals: dict[Atom, Atom] = {
            var: Literal(value, var.aval) for var, value in zip(self.variables, values, strict=True)
        }
        return [eqn.reading([literals.get(atom, atom) for atom in eqn.invars]) for eqn in self.eqns]

    def jaxpr(self, tangents: Tangents) -> Jaxpr:
        """The program from the residuals and the given tangents to the results' tangents."""
        return Jaxpr(
            [],
            [*self.variables, *tangents.given],
            [var for var in tangents.results if var is not None],
            self.eqns,
            join_effects(eqn.effects for eqn in self.eqns),
            unknown_debug_info,
            [],
        )


def _type_of(value: object) -> str:
    aval: AbstractValue | None = getattr(value, "aval", None)
    return repr(value) if aval is None else aval.str_short()


def _without_residuals(
    eqns: Sequence[JaxprEqn], primal_ids: Sequence[int] = ()
) -> tuple[list[Any], _Template]:
    """The residuals in equations, and the equations with variables in their place.

    Args:
      primal_ids: the ``id`` of each leaf of the function's arguments.
    """
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
    places = {key: i for i, key in enumerate(found)}
    return values, _Template(replaced, list(found.values()), tuple(map(places.get, primal_ids)))


@final
class LinearProgram:
    """The derivative of a function at a point, without its residuals.

    ``linearize`` returns a ``Partial`` of it and the residuals, which maps tangents of the
    function's arguments to one of its result. Calling that does not evaluate the function again.
    """

    __slots__ = ("__weakref__", "signature", "tangents", "template")

    template: _Template
    tangents: Tangents
    signature: Signature

    def __init__(self, template: _Template, tangents: Tangents, signature: Signature):
        self.template = template
        self.tangents = tangents
        self.signature = signature

    @property
    def jaxpr(self) -> Jaxpr:
        """The program: it takes the residuals, and the tangents of what is differentiated."""
        return self.template.jaxpr(self.tangents)

    @property
    def args(self) -> tuple[Jaxpr]:
        """A tuple of the program, where programs written for JAX look for it."""
        return (self.jaxpr,)

    @api_boundary
    def __call__(self, residuals: Sequence[ArrayLike], *tangents: PyTree) -> PyTree:
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
        env: dict[Var, Any] = dict(zip(self.template.variables, residuals, strict=True))
        given = compress(checked, signature.smooth)
        for var, tangent in zip(self.tangents.given, given, strict=True):
            env[var] = instantiate(tangent)
        run_equations(self.template.eqns, env)
        outs = [
            with_float0(Zero(tangent_aval(aval))) if var is None else env[var]
            for var, aval in zip(self.tangents.results, signature.out_avals, strict=True)
        ]
        return tree_unflatten(signature.out_tree, map(as_array, outs))


def pushforward(eqns: list[JaxprEqn], tangents: Tangents, signature: Signature) -> Partial:
    """The function that ``linearize`` returns: a linear program and its residuals."""
    values, template = _without_residuals(eqns)
    return Partial(LinearProgram(template, tangents, signature), values)


class _Absent:
    """What stands for an argument that is no residual; a pytree without leaves."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


@final
class NotNeeded(_Absent):
    """Stands for an argument that a pullback does not need."""

    __slots__ = ()


@final
class NotSaveable(_Absent):
    """Stands for an argument that a pullback needs, and was told not to keep."""

    __slots__ = ()


register_pytree_node(NotNeeded, lambda _: ((), ()), lambda _, __: NotNeeded())
register_pytree_node(NotSaveable, lambda _: ((), ()), lambda _, __: NotSaveable())


def _is_absent(value: object) -> bool:
    return isinstance(value, _Absent)


def _nested(tree: PyTreeDef, leaves: Iterator[object]) -> object:
    """Leaves in tuples that are nested as a tree is."""
    if treedef_is_leaf(tree):
        return next(leaves) if tree.num_leaves else ()
    return tuple([_nested(child, leaves) for child in tree.children()])


@final
class Pullback:
    """The transposed derivative: maps a cotangent of the result to cotangents of the arguments.

    It is given by the equations of a tape, with residuals as literals, and is a pytree of these.
    """

    __slots__ = ("_args", "_parts", "_primal_ids", "eqns", "signature", "tangents")

    eqns: list[JaxprEqn]
    tangents: Tangents
    signature: Signature
    _args: list[Any] | None
    _parts: tuple[list[Any], _Template] | None

    def __init__(
        self,
        eqns: list[JaxprEqn],
        tangents: Tangents,
        signature: Signature,
        primal_ids: Sequence[int] = (),
    ):
        # What `args_res` has handed out: its elements may be replaced.
        self._args = None
        self.eqns = eqns
        self.tangents = tangents
        self.signature = signature
        # Residuals are told from each other by identity. The arguments themselves are not kept.
        self._primal_ids = primal_ids
        self._parts = None

    def _split(self) -> tuple[list[Any], _Template]:
        """The residuals, and the equations without them."""
        if self._parts is None:
            self._parts = _without_residuals(self.eqns, self._primal_ids)
        if self._args is not None:
            values, template = self._parts
            pairs = zip(template.primals, self._leaves(self._args), strict=True)
            given = {i: value for i, value in pairs if i is not None}
            if any(values[i] is not value for i, value in given.items()):
                values = [given.get(i, value) for i, value in enumerate(values)]
                self._parts = values, template
                self.eqns = template.filled(values)
        return self._parts

    def flatten(self) -> tuple[list[Any], tuple[_Template, Tangents, Signature]]:
        """The residuals, and the static data."""
        values, template = self._split()
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

    @property
    def jaxpr(self) -> Jaxpr:
        """The linear program that is transposed: it takes the residuals, and tangents."""
        return self._split()[1].jaxpr(self.tangents)

    @property
    def args_res(self) -> list[Any]:
        """For each argument of the function its leaves, in tuples nested as its tree is.

        Each is the residual that it is, or ``NotNeeded()`` if it is none, or ``NotSaveable()`` if
        it was not to be kept. Such arguments are given, or others replaced, by assigning to this
        attribute or to its elements.
        """
        if self._args is None:
            values, template = self._split()
            leaves = (NotNeeded() if i is None else values[i] for i in template.primals)
            self._args = self._trees(leaves)
        return self._args

    @args_res.setter
    def args_res(self, given: Sequence[Any]) -> None:
        self._split()
        self._leaves(given)
        self._args = list(given)

    def _trees(self, leaves: Iterator[object]) -> list[Any]:
        """The leaves of the arguments, as they are in ``args_res``."""
        return [_nested(tree, leaves) for tree in self.signature.in_tree.children()]

    def _leaves(self, given: Sequence[Any]) -> list[Any]:
        """The leaves of the arguments, in ``args_res`` as a user has set it."""
        trees = self.signature.in_tree.children()
        leaves: list[Any] = []
        for tree, value in zip(trees, given, strict=False):
            is_leaf = treedef_is_leaf(tree) and tree.num_leaves
            leaves += [value] if is_leaf else tree_leaves(value, is_leaf=_is_absent)
        wanted = self.signature.in_tree.num_leaves
        if len(given) != len(trees) or len(leaves) != wanted:
            raise ValueError(
                f"args_res needs one entry for each of the {wanted} leaves of the arguments, in a "
                f"list of {len(trees)} trees; got {len(leaves)} in {len(given)}."
            )
        return leaves

    @property
    def opaque_residuals(self) -> list[Any]:
        """The residuals that are not arguments of the function."""
        values, template = self._split()
        return [value for i, value in enumerate(values) if i not in template.primals]

    def without_args(self, saveable: Sequence[bool]) -> Self:
        """The function without the arguments that are not to be kept."""
        kept = zip(self._leaves(self.args_res), saveable, strict=True)
        leaves = iter([x if s or isinstance(x, NotNeeded) else NotSaveable() for x, s in kept])
        self.args_res = self._trees(leaves)
        return self

    def __repr__(self) -> str:
        shown = ", ".join(_type_of(value) for value in self._split()[0])
        return f"{type(self).__name__}(residuals=[{shown}])"

    @api_boundary
    def with_refs(self, *refs: PyTree) -> AccumulatingPullback:
        """The pullback that adds cotangents to references instead of returning them.

        Args:
          refs: pytrees of the structure of the function's arguments. In the place of each array is
            a reference, to which its cotangent is added; or ``ad.GradValue()``, if it is to be
            returned; or ``ad.DontWant()``.

        Returns:
          A function of the cotangent of the result. It returns ``ad.GradRef()`` and
          ``ad.DidntWant()`` in the places of cotangents that it does not return.

        Raises:
          ValueError: if the structure is another, or a reference has another type than the
            argument.
        """
        signature = self.signature
        return AccumulatingPullback(self, signature.in_tree, signature.in_avals, refs)

    @api_boundary
    def __call__(self, ct: PyTree) -> tuple[PyTree, ...]:
        """The cotangents of the arguments, given the cotangent of the result."""
        check_no_references(self.signature.in_tree, self.signature.in_avals)
        pulled = [self.returned(i, found) for i, found in enumerate(self.cotangents(ct))]
        return tree_unflatten(self.signature.in_tree, pulled)

    def returned(self, i: int, cotangent: Tangent | None) -> ArrayLike:
        """The cotangent of leaf ``i`` of the arguments as users get it."""
        if cotangent is None:
            return unperturbed(self.signature.in_avals[i])
        return as_array(reduced(instantiate(cotangent), self.signature.reduce_axes))

    def cotangents(self, ct: PyTree) -> list[Tangent | None]:
        """The cotangent of each leaf of the arguments; ``None`` if it is not differentiated."""
        signature = self.signature
        changed = self._args is not None or self._parts is not None
        if changed and any(type(x) is NotSaveable for x in self._split()[0]):
            raise ValueError(
                "vjp: the pullback needs arguments that were not kept, because of saveable_args. "
                "Assign them to its attribute args_res."
            )
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
        return [next(results) if is_smooth else None for is_smooth in signature.smooth]


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
    found = get_aval(value)
    if found.shape == expected.shape and found.dtype == expected.dtype:
        return
    path = keystr(tree_flatten_with_path(tree)[0][i][0])
    # JAX raises TypeError only for the dtype of a jvp's tangent.
    wrong_dtype = transform == "jvp" and found.shape == expected.shape
    raise (TypeError if wrong_dtype else ValueError)(
        f"{transform}: the {what}{f' at {path}' if path else ''} must have the shape and tangent "
        f"dtype of its {of}: expected {expected.str_short()}, got {found.str_short()}."
    )
