"""``pmap``: run a function on several devices at once, on a slice of the arguments each."""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

import numpy as np

from ricci_batching import mapped_dims, vmap
from ricci_ir import (
    Array,
    ArrayLike,
    DebugInfo,
    Jaxpr,
    Shape,
    check_callable,
    get_aval,
    looks_like,
)
from ricci_lax import expand_dims, squeeze
from ricci_pytree import (
    argument_paths,
    flatten_axes,
    keystr,
    tree_flatten,
    tree_flatten_with_path,
    tree_leaves,
    tree_unflatten,
)
from ricci_xla import (
    Device,
    Mesh,
    NamedSharding,
    PartitionSpec,
    ProgramShardings,
    Sharding,
    Wrapped,
    jit,
    local_devices,
)

from .manual._primitive import shard_map_call, shard_map_p

# The name of the axis of a pmap that gives none, as it stands in the shardings of results.
_unnamed = "_internal_pmap_axis_name"


class _Enclosing(threading.local):
    """The number of devices of the pmaps around the code being traced, all together; 0 if none."""

    size: int = 0


_enclosing = _Enclosing()


@contextmanager
def _inside(size: int) -> Iterator[None]:
    outer = _enclosing.size
    _enclosing.size = (outer or 1) * size
    try:
        yield
    finally:
        _enclosing.size = outer


def pmap[**P, R](
    fun: Callable[P, R],
    axis_name: Any = None,
    *,
    in_axes: Any = 0,
    out_axes: Any = 0,
    static_broadcasted_argnums: int | Iterable[int] = (),
    devices: Sequence[Any] | None = None,
    backend: str | None = None,
    axis_size: int | None = None,
    donate_argnums: int | Iterable[int] = (),
    global_arg_shapes: Sequence[Shape | None] | None = None,
) -> Wrapped[P, R]:
    """Run a function on several devices at once, on a slice of the arguments each.

    A ``pmap`` inside a function that ``pmap`` runs is a ``vmap``: each device maps over its slice.

    Args:
      fun: a function of pytrees of arrays.
      axis_name: a name by which collectives such as ``psum`` refer to the devices.
      in_axes: the axis of the arguments that is divided over the devices: an int for all of them,
        or a tuple with one entry for each positional argument. An entry is an int, ``None`` (every
        device gets the whole argument), or a pytree of these that is a prefix of the argument.
        Keyword arguments are divided along axis 0.
      out_axes: the axis along which the results of the devices are stacked; ``None`` takes the
        result of one device.
      static_broadcasted_argnums: the positions of arguments that are compile-time constants. They
        must be passed by position.
      devices: the devices to use, in order; by default the first local ones.
      backend: the platform to take devices from.
      axis_size: the number of slices; by default the size of the mapped axes.
      donate_argnums: the positions of arguments whose buffers the results may reuse.
      global_arg_shapes: a tuple with the shape of a slice, or ``None``, for each array among the
        arguments. It is for slices that several processes share; a slice that belongs to one
        process must have the shape that is given for it.

    Returns:
      A function whose results are divided over the devices. It is compiled as by ``jit``, and can
      be differentiated, batched and traced.

    Raises:
      TypeError: if ``fun`` is not a function, or ``in_axes`` or ``out_axes`` has a leaf that is
        neither an int nor ``None``.
      ValueError: if the mapped axes differ in size, there are fewer devices than slices, an axis of
        the results is out of bounds, or a static argument is not passed by position.

    Example:
      >>> import numpy as np
      >>> pmap(lambda x: x)(np.ones((1, 2), np.float32)).shape
      (1, 2)
    """
    check_callable("pmap", fun)
    _check_axes("in_axes", in_axes)
    _check_axes("out_axes", out_axes)
    if isinstance(axis_name, tuple):
        raise ValueError(
            f"pmap: axis_name={axis_name!r} is a tuple, which collectives read as the names of "
            "several axes. A pmap has one axis: give it another name."
        )
    call = cast(Callable[..., Any], fun)
    static_argnums = _as_tuple(static_broadcasted_argnums)
    name = getattr(fun, "__name__", type(fun).__name__)
    axis = _unnamed if axis_name is None else axis_name

    def on_slices(*args: Any, **kwargs: Any) -> Any:
        static = {n % len(args) for n in static_argnums if -len(args) <= n < len(args)}
        if len(static) < len(static_argnums):
            raise ValueError(
                f"pmap of {name} has static_broadcasted_argnums={static_argnums}, but was called "
                f"with {len(args)} positional arguments. Pass static arguments by position."
            )
        dynamic = tuple(a for i, a in enumerate(args) if i not in static)
        leaves, tree = tree_flatten((dynamic, kwargs))
        axes = in_axes
        if isinstance(axes, tuple | list) and len(axes) == len(args):
            axes = tuple(a for i, a in enumerate(axes) if i not in static)
        dims = flatten_axes("pmap in_axes", tree, (axes, 0))
        names = lambda: argument_paths(dynamic, kwargs, None if static else fun)
        dims, size = mapped_dims("pmap", leaves, dims, axis_size, names)
        if global_arg_shapes is not None:
            _check_shapes(leaves, dims, tuple(global_arg_shapes), names)
        chosen = _devices(size, devices, backend, name)
        out_tree: Any = None  # on_shard sets both
        out_dims: list[int | None] = []

        def on_one(*slices: ArrayLike) -> Any:
            given_args, given_kwargs = tree_unflatten(tree, slices)
            full = list(given_args)
            for i in sorted(static):
                full.insert(i, args[i])
            with _inside(size):
                return call(*full, **given_kwargs)

        if _enclosing.size:
            mapped = vmap(on_one, tuple(dims), out_axes, axis_name=axis, axis_size=size)
            return mapped(*leaves)
        mesh = Mesh(np.array(chosen), (axis,))

        # A shard has size 1 along the mapped axis: it is removed before the call, and results get
        # it back.
        def on_shard(*shards: Array) -> list[ArrayLike]:
            nonlocal out_tree
            slices = [
                x if d is None else squeeze(x, (d,)) for x, d in zip(shards, dims, strict=True)
            ]
            pairs, out_tree = tree_flatten_with_path(on_one(*slices))
            targets = flatten_axes("pmap out_axes", out_tree, out_axes)
            results: list[ArrayLike] = []
            for (path, out), target in zip(pairs, targets, strict=True):
                dim = None if target is None else _out_dim(out, target, f"result{keystr(path)}")
                out_dims.append(dim)
                results.append(out if dim is None else expand_dims(out, (dim,)))
            return results

        def spec(dim: int | None) -> PartitionSpec:
            return PartitionSpec() if dim is None else PartitionSpec(*(None,) * dim, axis)

        outs = shard_map_call(
            on_shard,
            mesh,
            [spec(d) for d in dims],
            lambda: [spec(d) for d in out_dims],
            leaves,
            DebugInfo("pmap", name, tuple(names())),
        )
        return tree_unflatten(out_tree, outs)

    mapped = jit(
        looks_like(fun)(on_slices),
        in_shardings=ProgramShardings(_divided),
        static_argnums=static_argnums or None,
        donate_argnums=_as_tuple(donate_argnums) or None,
    )
    mapped.__wrapped__ = fun  # pyright: ignore[reportAttributeAccessIssue]
    return mapped


def _check_axes(name: str, axes: Any) -> None:
    """Raise ``TypeError`` unless the leaves of an axes argument are ints or ``None``."""
    wrong = [x for x in tree_leaves(axes) if not isinstance(x, int)]
    if wrong:
        raise TypeError(
            f"pmap: {name} has the entry {wrong[0]!r} of type {type(wrong[0]).__name__}; each "
            "entry must be an axis (an int) or None."
        )


def _out_dim(out: ArrayLike, target: int, what: str) -> int:
    """The axis of a result along which those of the devices are stacked, counted from the front."""
    ndim = get_aval(out).ndim + 1  # pyright: ignore[reportAttributeAccessIssue]
    if not -ndim <= target < ndim:
        raise ValueError(
            f"pmap: out_axes={target} is out of bounds for {what}, which has rank {ndim} with the "
            "mapped axis."
        )
    return target % ndim


def _check_shapes(
    leaves: Sequence[ArrayLike],
    dims: Sequence[int | None],
    shapes: Sequence[Shape | None],
    names: Callable[[], list[str]],
) -> None:
    """Raise ``ValueError`` unless the slices of arguments have the shapes that the user gave."""
    if len(shapes) != len(leaves):
        raise ValueError(
            f"pmap: global_arg_shapes has {len(shapes)} entries, but the arguments have "
            f"{len(leaves)} arrays. Give a shape or None for each."
        )
    for i, (leaf, dim, shape) in enumerate(zip(leaves, dims, shapes, strict=True)):
        found = list(get_aval(leaf).shape)  # pyright: ignore[reportAttributeAccessIssue]
        if dim is not None:
            del found[dim]
        if shape is not None and tuple(shape) != tuple(found):
            raise ValueError(
                f"pmap: global_arg_shapes says {tuple(shape)} for argument {names()[i]}, whose "
                f"slices have shape {tuple(found)}. Slices are not divided between processes: give "
                "their shape, or None."
            )


def _divided(jaxpr: Jaxpr) -> list[Sharding | None]:
    """How each argument of a mapped function is divided, as its program says."""
    found: dict[int, Sharding] = {}
    for eqn in jaxpr.eqns:
        if eqn.primitive is shard_map_p:
            for atom, spec in zip(eqn.invars, eqn.params["in_specs"], strict=True):
                found.setdefault(id(atom), NamedSharding(eqn.params["mesh"], spec))
    return [found.get(id(var)) for var in jaxpr.invars]


def _as_tuple(argnums: int | Iterable[int]) -> tuple[int, ...]:
    return (argnums,) if isinstance(argnums, int) else tuple(argnums)


def _devices(
    size: int, devices: Sequence[Device] | None, backend: str | None, name: str
) -> list[Device]:
    """The devices that run the slices; ``devices`` are those that the user chose."""
    if devices is not None and _enclosing.size:
        raise NotImplementedError(
            f"pmap of {name}: devices cannot be chosen inside a function that pmap runs."
        )
    available = list(devices) if devices is not None else local_devices(backend=backend)
    needed = size * (_enclosing.size or 1)
    if needed > len(available):
        raise ValueError(
            f"pmap of {name} requires {needed} replicas, one for each slice of its arguments, but "
            f"only {len(available)} XLA devices are available. Make the mapped axis smaller (and "
            "vmap inside), or set RICCI_NUM_CPU_DEVICES for more virtual CPU devices."
        )
    return available[:size]
