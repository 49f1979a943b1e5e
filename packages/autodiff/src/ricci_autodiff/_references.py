"""References in differentiated functions, and references to which gradients are added."""

from collections.abc import Sequence
from typing import Any, final

import ricci_ir as ir
from ricci_pytree import PyTreeDef, keystr, register_pytree_node, tree_flatten_with_path

from ._tangent import Tangent, Zero, has_tangent, instantiate

__all__ = ["DidntWant", "DontWant", "GradRef", "GradValue"]


class _DualReference(ir.Ref):
    """A reference as an argument of a differentiated function: a primal reference, and a tangent.

    Attributes:
      primal: the reference that was passed.
      tangent: the tangent of its value; or a reference, to which the tangents of values that are
        written are written.
    """

    __slots__ = ("primal", "tangent")

    def __init__(self, trace: Any, primal: Any, tangent: Any):
        super().__init__(primal.aval, None)
        self._owner: ir.Trace = trace
        self.primal: Any = primal
        self.tangent: Any = tangent

    def _read(self, shared: bool) -> Any:
        trace: Any = self._owner
        with ir.set_trace(trace.parent):
            # Both reads take place in the parent trace, so that an outer transformation sees two
            # plain reads.
            primal = self.primal.read(shared)
            tangent = self.tangent.read(shared) if ir.is_reference(self.tangent) else self.tangent
        return trace.join(primal, tangent)

    def _write(self, value: Any, fresh: bool) -> None:
        trace: Any = self._owner
        (primal,), (tangent,), _ = trace.split([value])
        with ir.set_trace(trace.parent):
            self.primal.write(primal, fresh)
            if ir.is_reference(self.tangent):
                self.tangent.write(instantiate(tangent))
            else:
                self.tangent = tangent

    def __repr__(self) -> str:
        return f"Ref({self.primal!r}, differentiated)"


def dual_reference(trace: ir.Trace, primal: Any, tangent: Any) -> ir.Ref:
    """Wrap a reference that is passed to a differentiated function.

    Args:
      trace: the trace of the function.
      primal: the reference.
      tangent: the tangent of its value; or a reference with that tangent, before and after the
        call.
    """
    if type(tangent) is Zero:
        # Without a tangent, the reference is a constant of the function, and its reads are primals.
        return primal
    return _DualReference(trace, primal, tangent)


class _Marker:
    """A placeholder for a cotangent; a pytree without leaves."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self)

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


@final
class GradValue(_Marker):
    """Request to a pullback to return the cotangent of an argument."""

    __slots__ = ()


@final
class DontWant(_Marker):
    """Request to a pullback to drop the cotangent of an argument."""

    __slots__ = ()


@final
class GradRef(_Marker):
    """Placeholder for a cotangent that was added to a reference."""

    __slots__ = ()


@final
class DidntWant(_Marker):
    """Placeholder for a cotangent that was not wanted."""

    __slots__ = ()


for _kind in (GradValue, DontWant, GradRef, DidntWant):
    register_pytree_node(_kind, lambda _: ((), None), lambda _, __, kind=_kind: kind())


@final
class AccumulatingPullback:
    """A pullback that adds cotangents to references: ``f_vjp.with_refs(*refs)``.

    Args:
      pullback: computes the cotangent of each leaf of the arguments.
      tree, avals: the structure and the types of the arguments.
      refs: a reference or a marker for each leaf.
    """

    __slots__ = ("__weakref__", "pullback", "targets", "tree")

    def __init__(self, pullback: Any, tree: PyTreeDef, avals: Sequence[Any], refs: ir.PyTree):
        self.pullback = pullback
        self.tree = tree
        self.targets: list[Any] = _targets(tree, avals, refs)

    @ir.api_boundary
    def __call__(self, ct: ir.PyTree) -> tuple[ir.PyTree, ...]:
        """Return the requested cotangents; add the others to references, or drop them."""
        required = [type(target) is not DontWant for target in self.targets]
        cts = self.pullback.cotangents(ct, None if all(required) else required)
        return self.tree.unflatten([self._settle(i, cotangent) for i, cotangent in enumerate(cts)])

    def _settle(self, i: int, ct: Tangent | None) -> Any:
        target = self.targets[i]
        if type(target) is GradValue:
            return self.pullback.returned(i, ct)
        if type(target) is DontWant:
            return DidntWant()
        # A zero leaves the sum unchanged, so no operation is needed for it.
        if ct is not None and type(ct) is not Zero:
            ir.reference_methods.call("addupdate")(target, ..., self.pullback.returned(i, ct))
        return GradRef()


def _unflatten(tree: PyTreeDef, parts: Sequence[Any]) -> AccumulatingPullback:
    pullback = AccumulatingPullback.__new__(AccumulatingPullback)
    pullback.tree, (pullback.pullback, pullback.targets) = tree, parts
    return pullback


register_pytree_node(AccumulatingPullback, lambda f: ((f.pullback, f.targets), f.tree), _unflatten)


def _targets(tree: PyTreeDef, avals: Sequence[Any], refs: ir.PyTree) -> list[Any]:
    """Flatten the arguments of ``with_refs``, and check their types."""
    try:
        targets = tree.flatten_up_to(refs)
    except (ValueError, TypeError):
        raise _invalid_refs(tree, f"got {refs!r:.200}") from None
    paths = tree_flatten_with_path(tree.unflatten(range(tree.num_leaves)))[0]
    for i, ((path, _), target, aval) in enumerate(zip(paths, targets, avals, strict=True)):
        if type(target) in (GradValue, DontWant):
            continue
        differentiated = isinstance(aval, ir.AbstractRef) or has_tangent(aval)
        if not differentiated and target is not None:
            # Its cotangent is zero, so there is nothing to add to a reference of any type.
            if not ir.is_reference(target):
                targets[i] = GradValue()
            continue
        if not ir.is_reference(target):
            kind = type(target).__name__
            raise _invalid_refs(tree, f"got {target!r:.60} of type {kind} at {keystr(path)}")
        ref_aval: Any = ir.get_aval(target)
        if (ref_aval.shape, ref_aval.dtype) != (aval.shape, aval.dtype):
            expected = f"{aval.dtype}[{','.join(map(str, aval.shape))}]"
            raise ValueError(
                f"with_refs: the reference at {keystr(path)} has type {ref_aval}, but the "
                f"cotangent to be added to it has type {expected}. Make it of zeros like the "
                "argument."
            )
    return targets


def _invalid_refs(tree: PyTreeDef, problem: str) -> ValueError:
    return ValueError(
        "with_refs takes arguments like the differentiated function's, with a reference (to add "
        "the cotangent to), ad.GradValue() (to return it) or ad.DontWant() for each array: "
        f"{problem}, expected the structure {tree}."
    )


def check_no_references(tree: PyTreeDef, avals: Sequence[Any]) -> None:
    """Raise an error if the cotangent of a reference would be returned.

    Raises:
      ValueError: if one of the types is that of a reference.
    """
    for i, aval in enumerate(avals):
        if isinstance(aval, ir.AbstractRef):
            path = tree_flatten_with_path(tree.unflatten(range(tree.num_leaves)))[0][i][0]
            raise ValueError(
                f"vjp: the argument at {keystr(path)} is a reference of type {aval}, so its "
                "cotangent is added to a reference. Give one: "
                "f_vjp.with_refs(new_ref(zeros))(ct)."
            )
