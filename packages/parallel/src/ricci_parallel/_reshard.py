"""``reshard``, and functions that run with mesh axes of another type."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, overload

import ricci_ir as ir
import ricci_pytree as pytree
import ricci_xla as xla
from ricci_lax.authoring import reshard_to
from ricci_xla import AbstractMesh, NamedSharding, PartitionSpec

from ._device_put import device_put
from ._sharding_constraint import is_typed

__all__ = ["auto_axes", "explicit_axes", "reshard"]


class Decorator(Protocol):
    """A decorator that preserves the type of a function."""

    def __call__[**P, R](self, f: Callable[P, R], /) -> Callable[P, R]: ...


class KeywordDecorator(Protocol):
    """A decorator whose function takes one more keyword, which its type leaves out."""

    def __call__[R](self, f: Callable[..., R], /) -> Callable[..., R]: ...


def as_out_sharding(sharding: object, what: str = "out_sharding") -> NamedSharding:
    """Check a requested result sharding, and return it as a ``NamedSharding``.

    Args:
      sharding: a ``PartitionSpec`` for the mesh in force, or a ``NamedSharding`` on it.
      what: the argument, for errors.

    Raises:
      TypeError: if it is neither.
      ValueError: if there is no mesh, or it is another one, or an axis is not ``Explicit``.
    """
    in_force: AbstractMesh | None = ir.current_mesh.value
    if isinstance(sharding, PartitionSpec):
        sharding = xla.sharding_in_program(sharding, what, ValueError)
    elif sharding is None:
        raise ValueError(f"{what} is None. Pass a PartitionSpec; P() means the whole everywhere.")
    elif not isinstance(sharding, NamedSharding):
        raise TypeError(
            f"{what} must be a PartitionSpec or a NamedSharding, got {sharding!r} of type "
            f"{type(sharding).__name__}. To put an array on a device, call device_put."
        )
    elif in_force is not None and sharding.mesh.abstract_mesh != in_force:
        raise ValueError(
            f"{what}: the context mesh {in_force} should match the mesh of {sharding}. Pass the "
            "PartitionSpec alone."
        )
    types = sharding.mesh._name_to_type
    for _, name in sharding.spec._axis_names():
        if types[name] is not xla.AxisType.Explicit:
            raise ValueError(
                f"{what}: {sharding.spec} names the axis {name!r}, which is {types[name]} in "
                f"{sharding.mesh}. Shardings in types have Explicit axes alone: make the "
                "mesh with axis_types=AxisType.Explicit, or call with_sharding_constraint."
            )
    return sharding


@ir.api_boundary
def reshard(xs: ir.PyTree, out_shardings: ir.PyTree) -> ir.PyTree:
    """Move arrays to other shardings.

    Args:
      xs: a pytree of arrays.
      out_shardings: a ``PartitionSpec`` for the mesh in force, a ``NamedSharding`` on it, or a
        pytree of these that is a prefix of ``xs``. They name ``Explicit`` axes.

    Returns:
      The arrays with these shardings, which are part of the types of traced arrays.

    Raises:
      TypeError: if a leaf of ``out_shardings`` is anything else.
      ValueError: if no mesh is in force, an axis is not ``Explicit``, or a spec does not fit.

    Example:
      A dimension that is sharded, then replicated:

      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> from ricci import P
      >>> devices = ricci.devices()[:2]
      >>> with ricci.set_mesh(ricci.make_mesh((len(devices),), ("x",), devices=devices)):
      ...     x = ricci.reshard(jnp.ones(4), P("x"))
      ...     whole = ricci.reshard(x, P())
      ...     print(ricci.typeof(x), ricci.typeof(whole))
      float32[4@x] float32[4]

    See also:
      ``with_sharding_constraint``, for ``Auto`` axes; ``device_put``.
    """
    return _moved_tree("reshard: xs", xs, out_shardings)


def _moved_tree(what: str, xs: ir.PyTree, out_shardings: ir.PyTree) -> ir.PyTree:
    """Move the leaves of a pytree; ``what`` is the pytree's name in errors."""
    pairs, tree = pytree.tree_flatten_with_path(xs)
    shardings = pytree.flatten_axes("reshard out_shardings", tree, out_shardings)
    moved = [
        _moved(f"{what}{pytree.keystr(p)}", x, s)
        for (p, x), s in zip(pairs, shardings, strict=True)
    ]
    return pytree.tree_unflatten(tree, moved)


def _moved(what: str, x: ir.ArrayLike, sharding: object) -> ir.ArrayLike:
    sharding = as_out_sharding(sharding, "reshard: out_shardings")
    aval = _type_of(x)
    if aval.is_high:
        return _moved_parts(what, x, aval, sharding)
    if len(getattr(sharding, "spec", ())) > aval.ndim or is_typed(sharding):
        xla.check_fits(sharding, aval.shape, what)
    typed = xla.explicit_sharding(aval.ndim, sharding)
    if not is_typed(sharding):
        return device_put(x, sharding)
    if ir.context.trace is ir.eval_trace and not isinstance(x, ir.Tracer):
        # Outside of a trace, a move is a copy. An unreduced array needs a computation: its terms
        # are added.
        if aval.type_sharding is None or not aval.type_sharding.sums[0]:
            parts = sharding.spec.partitions
            if len(parts) < aval.ndim:
                parts = (*parts, *(None,) * (aval.ndim - len(parts)))
                sharding = sharding.update(spec=sharding.spec.update(partitions=parts))
            return device_put(x, sharding)
    return reshard_to(x, typed)


def _moved_parts(what: str, x: ir.PyTree, aval: ir.PyTree, sharding: NamedSharding) -> ir.PyTree:
    """Move the parts of a value of several arrays to the shardings that its type chooses."""
    target = aval.reshard(sharding)
    parts = [
        _moved(what, part, NamedSharding(sharding.mesh, to.sharding.spec))
        for part, to in zip(ir.parted(x).parts, target.lo_ty(), strict=True)
    ]
    return pytree.tree_unflatten(pytree.tree_structure(ir.HiParts(target, parts)), parts)


type MeshAxes = str | tuple[str, ...] | None


@overload
def auto_axes[**P, R](
    f: Callable[P, R], /, *, axes: MeshAxes = None, out_sharding: ir.PyTree
) -> Callable[P, R]: ...
@overload
def auto_axes[R](f: Callable[..., R], /, *, axes: MeshAxes = None) -> Callable[..., R]: ...
@overload
def auto_axes(
    f: None = None, /, *, axes: MeshAxes = None, out_sharding: ir.PyTree
) -> Decorator: ...
@overload
def auto_axes(f: None = None, /, *, axes: MeshAxes = None) -> KeywordDecorator: ...


def auto_axes(
    f: Callable[..., Any] | None = None, /, *, axes: MeshAxes = None, out_sharding: ir.PyTree = None
) -> Any:
    """Return a function that runs ``f`` with axes of the mesh in ``Auto`` mode.

    There the compiler chooses shardings over these axes, and types do not have them.

    Args:
      f: a function of pytrees of arrays. Without it, a decorator is returned.
      axes: the axes; by default all that are ``Explicit``.
      out_sharding: the results' sharding: a sharding or a ``PartitionSpec`` or a pytree of
        these. It may be given to the returned function instead.

    Returns:
      A function with the same arguments and results, or a decorator.

    Raises:
      TypeError: if ``out_sharding`` is not given.
      ValueError: if no mesh is in force.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> from ricci import P
      >>> from ricci.sharding import auto_axes
      >>> devices = ricci.devices()[:2]
      >>> with ricci.set_mesh(ricci.make_mesh((len(devices),), ("x",), devices=devices)):
      ...     x = ricci.reshard(jnp.ones(4), P("x"))
      ...     y = auto_axes(lambda x: jnp.cumsum(x), out_sharding=P())(x)
      ...     print(y.tolist())
      [1.0, 2.0, 3.0, 4.0]
    """
    if f is None:
        return lambda g: auto_axes(g, axes=axes, out_sharding=out_sharding)

    @ir.looks_like(f)
    @ir.api_boundary
    def under_auto(*args: object, **kwargs: object) -> Any:
        out = kwargs.pop("out_sharding", out_sharding)
        if out is None:
            raise TypeError(
                "Missing required keyword argument: 'out_sharding'. auto_axes cannot know how the "
                "results are sharded: pass out_sharding=P(...), to it or to the function."
            )
        leaves, tree = pytree.tree_flatten((args, kwargs))
        places = (*pytree.tree_leaves(out), *leaves)
        mesh, chosen = _axes_of("auto_axes", axes, xla.AxisType.Explicit, places)
        inner = _with_types(mesh, chosen, xla.AxisType.Auto)
        eager = _is_eager(leaves)
        if eager:
            leaves = [_placed(x, inner) for x in leaves]
        with _in_force(inner, eager):
            if not eager:
                leaves = [reshard_to(x, _without(_type_of(x), inner, chosen)) for x in leaves]
            positional, named = pytree.tree_unflatten(tree, leaves)
            result = f(*positional, **named)
        return _moved_tree("auto_axes: the result", result, out)

    return under_auto


@overload
def explicit_axes[**P, R](
    f: Callable[P, R], /, *, axes: MeshAxes = None, in_sharding: ir.PyTree
) -> Callable[P, R]: ...
@overload
def explicit_axes[R](f: Callable[..., R], /, *, axes: MeshAxes = None) -> Callable[..., R]: ...
@overload
def explicit_axes(
    f: None = None, /, *, axes: MeshAxes = None, in_sharding: ir.PyTree
) -> Decorator: ...
@overload
def explicit_axes(f: None = None, /, *, axes: MeshAxes = None) -> KeywordDecorator: ...


def explicit_axes(
    f: Callable[..., Any] | None = None, /, *, axes: MeshAxes = None, in_sharding: ir.PyTree = None
) -> Any:
    """Return a function that runs ``f`` with axes of the mesh in ``Explicit`` mode.

    There the types of arrays have their shardings over these axes.

    Args:
      f: a function of pytrees of arrays. Without it, a decorator is returned.
      axes: the axes; by default all that are ``Auto``.
      in_sharding: the arguments' sharding: a sharding or a ``PartitionSpec`` or a pytree of
        these for the tuple of arguments. It may be given to the returned function instead.

    Returns:
      A function with the same arguments and results, or a decorator.

    Raises:
      TypeError: if ``in_sharding`` is not given.
      ValueError: if no mesh is in force.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> from ricci import P
      >>> from ricci.sharding import AxisType, explicit_axes
      >>> devices = ricci.devices()[:2]
      >>> mesh = ricci.make_mesh((len(devices),), ("x",), (AxisType.Auto,), devices=devices)
      >>> def show(x):
      ...     print(ricci.typeof(x))
      ...     return x
      >>> with ricci.set_mesh(mesh):
      ...     _ = ricci.jit(explicit_axes(show, in_sharding=(P("x"),)))(jnp.ones(4))
      float32[4@x]
    """
    if f is None:
        return lambda g: explicit_axes(g, axes=axes, in_sharding=in_sharding)

    @ir.looks_like(f)
    @ir.api_boundary
    def under_explicit(*args: object, **kwargs: object) -> Any:
        in_spec = kwargs.pop("in_sharding", in_sharding)
        if in_spec is None:
            raise TypeError(
                "Missing required keyword argument: 'in_sharding'. explicit_axes cannot know how "
                "the arguments are sharded: pass in_sharding=P(...), to it or to the function."
            )
        leaves, tree = pytree.tree_flatten(args)
        mesh, chosen = _axes_of("explicit_axes", axes, xla.AxisType.Auto)
        inner = _with_types(mesh, chosen, xla.AxisType.Explicit)
        eager = _is_eager((leaves, kwargs))
        with _in_force(inner, eager):
            specs = pytree.flatten_axes("explicit_axes in_sharding", tree, in_spec)
            shardings = [_named(inner, spec) for spec in specs]
            moved = [
                _placed(x, inner, s.spec)
                if eager
                else reshard_to(x, xla.explicit_sharding(_type_of(x).ndim, s))
                for x, s in zip(leaves, shardings, strict=True)
            ]
            result = f(*pytree.tree_unflatten(tree, moved), **kwargs)
        if eager:
            return pytree.tree_map(lambda x: _placed(x, mesh), result)
        return pytree.tree_map(lambda x: reshard_to(x, _without(_type_of(x), mesh, chosen)), result)

    return under_explicit


def _named(mesh: AbstractMesh, spec: PartitionSpec | NamedSharding) -> NamedSharding:
    return NamedSharding(mesh, spec) if isinstance(spec, PartitionSpec) else spec


def _type_of(x: ir.ArrayLike) -> ir.ShapedArray:
    return ir.get_aval(x)  # pyright: ignore[reportReturnType]


def _mesh_of(place: object) -> AbstractMesh | None:
    """Return the mesh of a sharding, or of an array's type."""
    if isinstance(place, NamedSharding):
        return place.mesh.abstract_mesh
    sharding = getattr(getattr(place, "aval", None), "type_sharding", None)
    return getattr(sharding, "mesh", None)


def _axes_of(
    what: str, axes: MeshAxes, kind: xla.AxisType, places: Sequence[object] = ()
) -> tuple[AbstractMesh, ir.AxisNames]:
    mesh: AbstractMesh | None = ir.current_mesh.value
    if mesh is None:
        mesh = next(filter(None, map(_mesh_of, places)), None)
    if mesh is None:
        raise ValueError(f"{what}: no mesh is in force. Call it inside `with set_mesh(mesh):`.")
    names = (axes,) if isinstance(axes, str) else axes
    if names is None:
        kinds = zip(mesh.axis_names, mesh.axis_types, strict=True)
        names = [name for name, axis_type in kinds if axis_type is kind]
    unknown = [name for name in names if name not in mesh.axis_names]
    if unknown:
        raise ValueError(f"{what}: the mesh has no axis {unknown[0]!r}; it is {mesh}.")
    return mesh, frozenset(names)


def _with_types(mesh: AbstractMesh, axes: ir.AxisNames, kind: xla.AxisType) -> AbstractMesh:
    types = zip(mesh.axis_names, mesh.axis_types, strict=True)
    return mesh.update(
        axis_types=[kind if name in axes else axis_type for name, axis_type in types]
    )


def _without(
    aval: ir.ShapedArray, mesh: AbstractMesh, axes: ir.AxisNames
) -> ir.TypeSharding | None:
    """Return the sharding of a type without some axes, on another mesh."""
    sharding = aval.type_sharding
    if sharding is None:
        return None
    # Axes that become Auto are no longer part of types.
    parts = tuple(tuple(name for name in part if name not in axes) for part in sharding.parts)
    return sharding.update(mesh=mesh, parts=parts)


def _is_eager(args: ir.PyTree) -> bool:
    """Whether a call with these arguments runs operation by operation, on arrays."""
    leaves = pytree.tree_leaves(args)
    return ir.context.trace is ir.eval_trace and not any(isinstance(x, ir.Tracer) for x in leaves)


@contextmanager
def _in_force(mesh: AbstractMesh, eager: bool) -> Iterator[None]:
    """Put a mesh with other axis types in force, and its devices if operations run in it."""
    devices = xla.on_set_devices(mesh) if eager else xla.device_mesh.value
    with ir.current_mesh(mesh), xla.device_mesh(devices):
        yield


def _placed(x: ir.ArrayLike, mesh: AbstractMesh, spec: PartitionSpec | None = None) -> ir.ArrayLike:
    """An array moved to a mesh of the current devices; unchanged if none are set.

    Args:
      x: the array.
      mesh: the axes.
      spec: the new spec; by default the array's, with its unreduced axes summed.
    """
    devices = xla.on_set_devices(mesh)
    if devices is None:
        return x
    if spec is None:
        current: Any = getattr(getattr(x, "sharding", None), "spec", PartitionSpec())
        spec = PartitionSpec(*current.partitions)
        # Auto axes have no unreduced arrays: the terms are added first.
        if current.unreduced or current.reduced:
            x = _moved("auto_axes", x, spec)
    return device_put(x, NamedSharding(devices, spec))
