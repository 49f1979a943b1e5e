"""References in differentiated functions, and references that gradients are added to."""

from collections.abc import Sequence
from typing import Any, final

from ricci_ir import (
    AbstractRef,
    PyTree,
    Ref,
    Trace,
    api_boundary,
    get_aval,
    is_reference,
    reference_methods,
    set_trace,
)
from ricci_pytree import PyTreeDef, keystr, register_pytree_node, tree_flatten_with_path

from ._tangent import Tangent, Zero, instantiate

__all__ = [
    "AccumulatingPullback",
    "check_no_references",
    "DidntWant",
    "DontWant",
    "dual_reference",
    "GradRef",
    "GradValue",
]


class _DualReference(Ref):
    """A reference as an argument of a differentiated function: a primal one, and a tangent.

    Attributes:
      primal: the reference that was passed.
      tangent: what it holds as a tangent; a reference if that is to see what is written.
    """

    __slots__ = ("primal", "tangent")

    def __init__(self, trace: Any, primal: Any, tangent: Any):
        super().__init__(primal.aval, None)
        self._owner: Trace = trace
        self.primal: Any = primal
        self.tangent: Any = tangent

    def _read(self, shared: bool) -> Any:
        trace: Any = self._owner
        with set_trace(trace.parent):
            primal = self.primal.read(shared)
            tangent = self.tangent.read(shared) if is_reference(self.tangent) else self.tangent
        return trace.join(primal, tangent)

    def _write(self, value: Any, fresh: bool) -> None:
        trace: Any = self._owner
        (primal,), (tangent,), _ = trace.split([value])
        with set_trace(trace.parent):
            self.primal.write(primal, fresh)
            if is_reference(self.tangent):
                self.tangent.write(instantiate(tangent))
            else:
                self.tangent = tangent

    def __repr__(self) -> str:
        return f"Ref({self.primal!r}, differentiated)"


def dual_reference(trace: Trace, primal: Any, tangent: Any) -> Ref:
    """A reference in a differentiated function, for one that was passed to it.

    Args:
      trace: the trace of the function.
      primal: the reference that was passed.
      tangent: the tangent of what it holds; or a reference that holds it, before and after.
    """
    if type(tangent) is Zero:
        return primal
    return _DualReference(trace, primal, tangent)


class _Marker:
    """What stands in the place of a cotangent; a pytree without leaves."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self)

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


@final
class GradValue(_Marker):
    """Asks a pullback to return the cotangent of an argument."""

    __slots__ = ()


@final
class DontWant(_Marker):
    """Tells a pullback that the cotangent of an argument is not wanted."""

    __slots__ = ()


@final
class GradRef(_Marker):
    """Stands for a cotangent that was added to a reference."""

    __slots__ = ()


@final
class DidntWant(_Marker):
    """Stands for a cotangent that was not wanted."""

    __slots__ = ()


for _kind in (GradValue, DontWant, GradRef, DidntWant):
    register_pytree_node(_kind, lambda _: ((), None), lambda _, __, kind=_kind: kind())


@final
class AccumulatingPullback:
    """A pullback that adds cotangents to references: ``f_vjp.with_refs(*refs)``.

    Args:
      pullback: gives the cotangent of each leaf of the arguments.
      tree, avals: the structure and the types of the arguments.
      given: what the user gave in their places.
    """

    __slots__ = ("places", "pullback", "tree")

    def __init__(self, pullback: Any, tree: PyTreeDef, avals: Sequence[Any], given: PyTree):
        self.pullback = pullback
        self.tree = tree
        self.places: list[Any] = _read(tree, avals, given)

    @api_boundary
    def __call__(self, ct: PyTree) -> tuple[PyTree, ...]:
        """The cotangents that were asked for; the others are added to references, or dropped."""
        cts = self.pullback.cotangents(ct)
        return self.tree.unflatten([self._settled(i, found) for i, found in enumerate(cts)])

    def _settled(self, i: int, ct: Tangent | None) -> Any:
        place = self.places[i]
        if type(place) is GradValue:
            return self.pullback.returned(i, ct)
        if type(place) is DontWant:
            return DidntWant()
        if ct is not None and type(ct) is not Zero:
            reference_methods["addupdate"](place, ..., self.pullback.returned(i, ct))
        return GradRef()


def _restored(tree: PyTreeDef, parts: Sequence[Any]) -> AccumulatingPullback:
    made = AccumulatingPullback.__new__(AccumulatingPullback)
    made.tree, (made.pullback, made.places) = tree, parts
    return made


register_pytree_node(AccumulatingPullback, lambda f: ((f.pullback, f.places), f.tree), _restored)


def _read(tree: PyTreeDef, avals: Sequence[Any], given: PyTree) -> list[Any]:
    """What was given for each leaf of the arguments, checked."""
    try:
        places = tree.flatten_up_to(given)
    except (ValueError, TypeError):
        raise _bad(tree, f"got {given!r:.200}") from None
    paths = tree_flatten_with_path(tree.unflatten(range(tree.num_leaves)))[0]
    for (path, _), place, aval in zip(paths, places, avals, strict=True):
        if type(place) in (GradValue, DontWant):
            continue
        if not is_reference(place):
            raise _bad(tree, f"got {place!r:.60} of type {type(place).__name__} at {keystr(path)}")
        found: Any = get_aval(place)
        if (found.shape, found.dtype) != (aval.shape, aval.dtype):
            wanted = f"{aval.dtype}[{','.join(map(str, aval.shape))}]"
            raise ValueError(
                f"with_refs: the reference at {keystr(path)} has type {found}, but the cotangent "
                f"that is to be added to it has type {wanted}. Make it of zeros like the argument."
            )
    return places


def _bad(tree: PyTreeDef, found: str) -> ValueError:
    return ValueError(
        "with_refs takes what the differentiated function takes, with a reference (to add the "
        f"cotangent to), ad.GradValue() (to return it) or ad.DontWant() for each array: {found}, "
        f"expected the structure {tree}."
    )


def check_no_references(tree: PyTreeDef, avals: Sequence[Any]) -> None:
    """Refuse to return the cotangent of an argument that is a reference.

    Raises:
      ValueError: if one of the types is that of a reference.
    """
    for i, aval in enumerate(avals):
        if isinstance(aval, AbstractRef):
            path = tree_flatten_with_path(tree.unflatten(range(tree.num_leaves)))[0][i][0]
            raise ValueError(
                f"vjp: the argument at {keystr(path)} is a reference of type {aval}, so its "
                "cotangent is added to a reference. Give one: "
                "f_vjp.with_refs(new_ref(zeros))(ct)."
            )
