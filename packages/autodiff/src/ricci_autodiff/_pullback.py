"""The pullback that ``vjp`` returns: a pytree of residuals, which users may read and replace."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import compress
from types import NoneType
from typing import Any, Self, final

import ricci_ir as ir
import ricci_pytree as pytree

from ._grad import reduced
from ._linear_functions import Signature, Tangents, Template, shown_type, without_residuals
from ._logs import joined_logs, tap_logs
from ._references import AccumulatingPullback, check_no_references
from ._tangent import Tangent, as_value, has_tangent, instantiate
from ._tangent_checks import check_type, strong, unperturbed
from ._transpose import pull_back_tape


class _Absent:
    """Placeholder for an argument that was not saved as a residual. A pytree without leaves."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


@final
class NotNeeded(_Absent):
    """Placeholder for an argument that a pullback does not read."""

    __slots__ = ()


@final
class NotSaveable(_Absent):
    """Placeholder for an argument that a pullback reads but must not store (``saveable_args``)."""

    __slots__ = ()


pytree.register_pytree_node(NotNeeded, lambda _: ((), ()), lambda _, __: NotNeeded())


pytree.register_pytree_node(NotSaveable, lambda _: ((), ()), lambda _, __: NotSaveable())


def _is_absent(value: object) -> bool:
    return isinstance(value, _Absent)


def _nested(tree: pytree.PyTreeDef, leaves: Iterator[object]) -> object:
    """Arrange leaves like a tree, with tuples in place of nodes that are not built in."""
    data = tree.node_data()
    if data is None:
        return next(leaves)
    kind, keys = data
    children = [_nested(child, leaves) for child in tree.children()]
    if kind is NoneType:
        return None
    if kind is dict:
        return dict(zip(keys, children, strict=True))
    return children if kind is list else tuple(children)


def saveable_leaves(tree: pytree.PyTreeDef, flags: object) -> list[bool]:
    """Broadcast ``saveable_args`` over the leaves of the arguments.

    Args:
      tree: the structure of the arguments.
      flags: a prefix of it with Boolean leaves. A tuple matches any container with as many
        children.

    Raises:
      ValueError: if the structure differs, or a leaf is not a Boolean.
    """
    name = "vjp saveable_args"
    if type(flags) is bool:
        return [flags] * tree.num_leaves
    if isinstance(flags, tuple) and tree.node_data() is not None:
        children = tree.children()
        if len(children) != len(flags):
            raise ValueError(
                f"{name} has a tuple of length {len(flags)} for the {len(children)} children of "
                f"{tree}."
            )
        pairs = zip(children, flags, strict=True)
        return [leaf for child, flag in pairs for leaf in saveable_leaves(child, flag)]
    leaves = pytree.flatten_axes(name, tree, flags)
    for leaf in leaves:
        if type(leaf) is not bool:
            raise ValueError(f"{name} must have leaves of type bool, got {leaf!r:.60}.")
    return leaves


type _StaticData = (
    tuple[Template, Tangents, Signature] | Callable[[Sequence[ir.ArrayLike]], Pullback]
)


@final
class Pullback:
    """The transposed derivative: maps a cotangent of the result to cotangents of the arguments.

    It is a pytree of the residuals, which are literals in the equations of its tape.
    """

    __slots__ = (
        "__weakref__",
        "_args",
        "_fun",
        "_parts",
        "_primal_ids",
        "eqns",
        "signature",
        "tangents",
    )

    def __init__(
        self,
        eqns: list[ir.JaxprEqn],
        tangents: Tangents,
        signature: Signature,
        primal_ids: Sequence[int] = (),
    ):
        # The value of `args_res`, a list whose elements a user may replace.
        self._args: list[Any] | None = None
        self.eqns: list[ir.JaxprEqn] = eqns
        self.tangents: Tangents = tangents
        self.signature: Signature = signature
        # Residuals are compared by identity. The arguments themselves are not stored.
        self._primal_ids = primal_ids
        self._parts: tuple[list[Any], Template] | None = None
        self._fun: Callable[[Sequence[ir.ArrayLike]], Pullback] | None = None

    def _split(self) -> tuple[list[Any], Template]:
        """Return the residuals, and the equations without them."""
        if self._parts is None:
            self._parts = without_residuals(self.eqns, self._primal_ids)
        if self._args is not None:
            values, template = self._parts
            pairs = zip(template.primals, self._leaves(self._args), strict=True)
            assigned = {i: value for i, value in pairs if i is not None}
            # A user may replace elements of the list ``args_res`` in place, which is not noticed
            # until here. So the elements are compared by identity on each use.
            if any(values[i] is not value for i, value in assigned.items()):
                return self._assign(self._parts, assigned)
        return self._parts

    def _assign(
        self, parts: tuple[list[Any], Template], assigned: dict[int, Any]
    ) -> tuple[list[Any], Template]:
        """Replace residuals, by their positions; return the parts with the new ones."""
        values = [assigned.get(i, value) for i, value in enumerate(parts[0])]
        self._parts = values, parts[1]
        self.eqns = parts[1].filled(values)
        return self._parts

    def flatten(self) -> tuple[list[Any], _StaticData]:
        """Return the residuals, and the static data: ``fun`` if it was assigned, else its parts."""
        values, template = self._split()
        return values, self._fun or (template, self.tangents, self.signature)

    @classmethod
    def unflatten(cls, data: _StaticData, values: Sequence[ir.ArrayLike]) -> Self:
        """Return the function with this static data and these residuals."""
        if callable(data):
            pullback: Any = data(values)
            pullback._fun = data
            return pullback
        template, tangents, signature = data
        pullback = cls(template.filled(values), tangents, signature)
        # The template stays the same object through flattening and unflattening: templates are
        # compared by identity, so ``jit`` recognizes the structure.
        pullback._parts = (list(values), template)
        return pullback

    @property
    def fun(self) -> "Callable[[Sequence[ir.ArrayLike]], Pullback]":
        """The pullback as a function of its residuals: the static data of the pytree.

        A wrapper of it may be assigned, for instance one that equals that of another pullback.
        """
        data = self._split()[1], self.tangents, self.signature
        return self._fun or partial(type(self).unflatten, data)

    @fun.setter
    def fun(self, fun: "Callable[[Sequence[ir.ArrayLike]], Pullback]") -> None:
        self._fun = fun

    @property
    def in_tree(self) -> pytree.PyTreeDef:
        """The tree structure of the arguments of the function."""
        return self.signature.in_tree

    @property
    def out_tree(self) -> pytree.PyTreeDef:
        """The tree structure of the output of the function."""
        return self.signature.out_tree

    @property
    def out_nzs(self) -> tuple[bool, ...]:
        """For each leaf of the output, whether it depends on a differentiated argument."""
        return tuple(var is not None for var in self.tangents.results)

    def replace(self, **fields: object) -> Self:
        """Return a copy with other fields.

        Args:
          fields: new values of ``args_res``, ``opaque_residuals``, ``in_tree`` or ``out_tree``.

        Raises:
          TypeError: if there is no such field.
          ValueError: if the number of residuals differs.
        """
        trees = {name: fields.pop(name) for name in ("in_tree", "out_tree") if name in fields}
        if unknown := fields.keys() - {"args_res", "opaque_residuals"}:
            raise TypeError(f"replace: {type(self).__name__} has no field {min(unknown)!r}.")
        values, template = self._split()
        copied = self.unflatten((template, self.tangents, self.signature._replace(**trees)), values)
        copied._args = self._args and list(self._args)
        for name, value in fields.items():
            setattr(copied, name, value)
        return copied

    @property
    def jaxpr(self) -> ir.Jaxpr:
        """The linear jaxpr that is transposed, which takes the residuals and tangents."""
        return self._split()[1].jaxpr(self.tangents)

    @property
    def args_res(self) -> list[Any]:
        """The leaves of each argument of the function, in tuples nested like its tree.

        A leaf that is not a residual is ``NotNeeded()``, one that ``saveable_args`` excludes is
        ``NotSaveable()``. Assigning to this attribute or to its elements sets arguments.
        """
        if self._args is None:
            values, template = self._split()
            leaves = (NotNeeded() if i is None else values[i] for i in template.primals)
            self._args = self._trees(leaves)
        return self._args

    @args_res.setter
    def args_res(self, trees: Sequence[Any]) -> None:
        self._split()
        self._leaves(trees)
        self._args = list(trees)

    def _trees(self, leaves: Iterator[object]) -> list[Any]:
        """Nest the leaves of the arguments as in ``args_res``."""
        return [_nested(tree, leaves) for tree in self.signature.in_tree.children()]

    def _leaves(self, values: Sequence[Any]) -> list[Any]:
        """Flatten the arguments in a value of ``args_res``, which a user may have set."""
        trees = self.signature.in_tree.children()
        leaves: list[Any] = []
        for tree, value in zip(trees, values, strict=False):
            is_leaf = pytree.treedef_is_leaf(tree) and tree.num_leaves
            leaves += [value] if is_leaf else pytree.tree_leaves(value, is_leaf=_is_absent)
        count = self.signature.in_tree.num_leaves
        if len(values) != len(trees) or len(leaves) != count:
            raise ValueError(
                f"args_res needs one entry for each of the {count} leaves of the arguments, in a "
                f"list of {len(trees)} trees; got {len(leaves)} in {len(values)}."
            )
        return leaves

    @property
    def opaque_residuals(self) -> list[Any]:
        """The residuals that are not arguments of the function. They may be assigned."""
        values, template = self._split()
        return [value for i, value in enumerate(values) if i not in template.primals]

    @opaque_residuals.setter
    def opaque_residuals(self, residuals: Sequence[Any]) -> None:
        values, template = parts = self._split()
        opaque = [i for i in range(len(values)) if i not in template.primals]
        if len(residuals) != len(opaque):
            raise ValueError(
                f"opaque_residuals needs {len(opaque)} arrays, one for each residual that is not "
                f"an argument; got {len(residuals)}."
            )
        self._assign(parts, dict(zip(opaque, residuals, strict=True)))

    def without_args(self, saveable: Sequence[bool]) -> Self:
        """Drop the arguments that may not be saved, and return the pullback."""
        pairs = zip(self._leaves(self.args_res), saveable, strict=True)
        leaves = iter([x if s or isinstance(x, NotNeeded) else NotSaveable() for x, s in pairs])
        self.args_res = self._trees(leaves)
        return self

    def __repr__(self) -> str:
        shown = ", ".join(shown_type(value) for value in self._split()[0])
        return f"{type(self).__name__}(residuals=[{shown}])"

    @ir.api_boundary
    def with_refs(self, *refs: ir.PyTree) -> AccumulatingPullback:
        """Return a pullback that adds cotangents to references instead of returning them.

        Args:
          refs: pytrees of the structure of the function's arguments. In place of each array they
            have a reference, to which its cotangent is added; ``ad.GradValue()``, to return it; or
            ``ad.DontWant()``. In place of an array of integers, any leaf will do.

        Returns:
          A function of the cotangent of the result. It returns ``ad.GradRef()`` or
          ``ad.DidntWant()`` in place of cotangents that it does not return.

        Raises:
          ValueError: if the structure differs, or a reference has another type than the argument.
        """
        signature = self.signature
        return AccumulatingPullback(self, signature.in_tree, signature.in_avals, refs)

    @ir.api_boundary
    def __call__(self, ct: ir.PyTree) -> tuple[ir.PyTree, ...]:
        """Return the cotangents of the arguments for a cotangent of the result."""
        check_no_references(self.signature.in_tree, self.signature.in_avals)
        pulled = [self.returned(i, cotangent) for i, cotangent in enumerate(self.cotangents(ct))]
        return pytree.tree_unflatten(self.signature.in_tree, pulled)

    @ir.api_boundary
    def with_logs(self, ct: ir.PyTree) -> tuple[tuple[ir.PyTree, ...], dict[Any, Any]]:
        """Return the cotangents of the arguments, and the logs of the backward pass.

        Args:
          ct: the cotangent of the result.

        Returns:
          What the pullback returns, and the joined logs of the rules that
          ``custom_vjp.defvjp_with_logs`` and ``custom_gradient(with_logs=True)`` define: a dict,
          empty if none logs. In a ``scan``, each entry is stacked.

        Raises:
          ValueError: if two rules log under one key.
        """
        check_no_references(self.signature.in_tree, self.signature.in_avals)
        eqns, taps = tap_logs.call(self._saved_equations())
        pulled = self._pull_back(ct, eqns, [var for tap in taps for var in tap.variables])
        count = len(self.signature.smooth)
        cotangents = [self.returned(i, x) for i, x in enumerate(pulled[:count])]
        logs = joined_logs(taps, pulled[count:])  # pyright: ignore[reportArgumentType]
        return pytree.tree_unflatten(self.signature.in_tree, cotangents), logs

    def returned(self, i: int, cotangent: Tangent | None) -> ir.ArrayLike:
        """Return the cotangent of leaf ``i`` of the arguments as an array for the user."""
        if cotangent is None:
            return unperturbed(self.signature.in_avals[i])
        return as_value(reduced(instantiate(cotangent), self.signature.reduce_axes))

    def cotangents(
        self, ct: ir.PyTree, required: Sequence[bool] | None = None
    ) -> list[Tangent | None]:
        """Return the cotangent of each leaf of the arguments, ``None`` for constant ones.

        Args:
          ct: the cotangent of the result.
          required: for each leaf, whether its cotangent is used; by default, all are.
        """
        return self._pull_back(ct, self._saved_equations(), (), required)

    def _saved_equations(self) -> list[ir.JaxprEqn]:
        """Return the equations with the residuals that are assigned now."""
        # Only ``args_res`` can introduce such a placeholder, so the usual call need not split the
        # equations.
        changed = self._args is not None or self._parts is not None
        if changed and any(type(x) is NotSaveable for x in self._split()[0]):
            raise ValueError(
                "vjp: the pullback needs arguments that were not saved, because of saveable_args. "
                "Assign them to its attribute args_res."
            )
        return self.eqns

    def _pull_back(
        self,
        ct: ir.PyTree,
        eqns: Sequence[ir.JaxprEqn],
        further: Sequence[ir.Var],
        required: Sequence[bool] | None = None,
    ) -> list[Tangent | None]:
        """Return the cotangents of the leaves of the arguments, and of further variables."""
        signature = self.signature
        ct_leaves, ct_tree = pytree.tree_flatten(ct)
        if ct_tree != signature.out_tree:
            raise ValueError(
                "vjp: the cotangent must have the tree structure of the function's output: "
                f"expected {signature.out_tree}, got {ct_tree}."
            )
        cts: list[Tangent] = []
        for i, (aval, leaf) in enumerate(zip(signature.out_avals, ct_leaves, strict=True)):
            ct_aval: Any = ir.get_aval(leaf)
            if has_tangent(aval) or ct_aval.shape != aval.shape:
                check_type("vjp", "cotangent", "output", i, aval, leaf, ct)
            # The cotangent of an integer is zero, so its value and dtype are not checked.
            cts.append(strong(leaf, aval))
        arguments, outputs = self.tangents
        if required is not None:
            required = list(compress(required, signature.smooth))
        variables = (*arguments, *further)
        results = iter(pull_back_tape(eqns, variables, outputs, cts, required))
        pulled = [next(results) if is_smooth else None for is_smooth in signature.smooth]
        return [*pulled, *results]


pytree.register_pytree_node(Pullback, Pullback.flatten, Pullback.unflatten)
