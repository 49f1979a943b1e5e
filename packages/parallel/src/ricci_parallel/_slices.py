"""Evaluation of a function on slices of arrays, one on each device: the core of ``pmap``.

A call becomes a ``shard_map`` over a mesh with one axis for each ``pmap`` around the function.
The outermost one makes the mesh, so it needs the axes of those inside, which are discovered by
tracing: inside, a ``pmap`` takes the next axis of the mesh in force; if there is none, it adds one
to its own jaxpr, and the outermost traces again, with that axis.
"""

from collections.abc import Callable, Hashable, Sequence
from math import prod
from typing import Any

import numpy as np

import ricci_ir as ir
import ricci_xla as xla
from ricci_batching import vmap
from ricci_lax import expand_dims, squeeze
from ricci_pytree import PyTreeDef, flatten_axes, keystr, tree_flatten_with_path, tree_unflatten
from ricci_xla import AbstractMesh, Device, Mesh, NamedSharding, PartitionSpec, Sharding

from .manual._primitive import bind_on_shards, shard_map_p, trace_on_shards
from .manual._specs import AnyMesh

# The name of the axis of an unnamed pmap in the shardings of results.
UNNAMED = "_internal_pmap_axis_name"

# The number of devices that the enclosing pmaps can have together; None outside of pmaps.
enclosing: ir.State = ir.define_context("pmap")


class Slices(ir.TupleRecord):
    """A call whose arguments are cut into slices, one for each device.

    Attributes:
      fun: the function of the slices, which are its positional arguments.
      args: the whole arrays.
      dims: the axis of each array along which it is cut; ``None`` if it is replicated.
      size: the number of slices.
      axis_name: what collectives call the axis, or ``None``.
      out_axes: the axes along which results are stacked, a prefix of the result.
      info: the name of the function, and those of the arrays.
    """

    fun: Callable[..., ir.PyTree]
    args: Sequence[ir.ArrayLike]
    dims: Sequence[int | None]
    size: int
    axis_name: Hashable
    out_axes: ir.PyTree
    info: ir.DebugInfo


def call_on_slices(call: Slices, available: Sequence[Device]) -> ir.PyTree:
    """Run a call on the first of the devices, or within an enclosing ``pmap``."""
    outer: AbstractMesh | None = ir.current_mesh.value
    if enclosing.value is not None and outer is not None:
        return _inside(call, outer)
    _check_count(call, call.size, len(available))
    name = UNNAMED if call.axis_name is None else call.axis_name
    mesh = _mesh(available, [call.size], [name])
    with enclosing(len(available)):
        traced = _traced(call, mesh, name)
        # A pmap inside needs more devices, along a further axis of the mesh, which is known only
        # after tracing. If there is one, the function is traced again on the mesh with all axes.
        nested = _deepest(traced.jaxpr, mesh)
        if nested is not mesh:
            mesh = _mesh(available, nested.axis_sizes, nested.axis_names)
            traced = _traced(call, mesh, name)
    return _bound(call, traced)


def _inside(call: Slices, outer: AbstractMesh) -> ir.PyTree:
    """Run a call inside a function that ``pmap`` runs.

    It takes the next axis of the mesh. If that belongs to another ``pmap``, or there is one of this
    name already, each device maps over its slices itself.
    """
    manual = [name for name in outer.axis_names if name in outer.manual_axes]
    _check_count(call, prod(outer.shape[n] for n in manual) * call.size, enclosing.value)
    depth = len(manual)
    name = f"{UNNAMED}{depth}" if call.axis_name is None else call.axis_name
    mesh = outer
    if outer.axis_names[depth:]:
        free = outer.shape_tuple[depth] == (name, call.size)
    else:
        free = name not in outer.axis_names
        if free:
            mesh = AbstractMesh(
                (*outer.axis_sizes, call.size),
                (*outer.axis_names, name),
                (*outer.axis_types, xla.AxisType.Auto),
            )
    if free:
        return _bound(call, _traced(call, mesh, name))
    dims, size = tuple(call.dims), call.size
    mapped = vmap(call.fun, dims, call.out_axes, axis_name=call.axis_name, axis_size=size)
    return mapped(*call.args)


def _check_count(call: Slices, needed: int, available: int) -> None:
    if call.size < 1:
        raise ValueError(
            f"pmap of {call.info.func_name}: the mapped axis has size {call.size}, but there must "
            "be a slice for at least one device."
        )
    if needed > available:
        raise ValueError(
            f"pmap of {call.info.func_name} requires {needed} replicas, one for each slice of its "
            f"arguments, but only {available} XLA devices are available. Make the mapped axis "
            "smaller (and vmap inside), or set RICCI_NUM_CPU_DEVICES for more virtual CPU devices."
        )


def _mesh(devices: Sequence[Device], sizes: Sequence[int], names: Sequence[Hashable]) -> Mesh:
    return Mesh(np.array(devices[: prod(sizes)], dtype=object).reshape(tuple(sizes)), tuple(names))


def _deepest(jaxpr: ir.Jaxpr, mesh: AnyMesh) -> AnyMesh:
    """Return the mesh with the most axes: ``mesh``, or an inner one that begins with its axes."""
    for eqn in jaxpr.eqns:
        if eqn.primitive is shard_map_p:
            inner_mesh: AnyMesh = eqn.params["mesh"]
            # A ``shard_map`` on an unrelated mesh is not a part of this pmap.
            begins = inner_mesh.axis_names[: len(mesh.axis_names)] == mesh.axis_names
            mesh = (
                inner_mesh if begins and len(inner_mesh.axis_names) > len(mesh.axis_names) else mesh
            )
        for inner in ir.jaxprs_in_params(eqn.params):
            mesh = _deepest(inner, mesh)
    return mesh


class _Traced(ir.TupleRecord):
    """The jaxpr of a call on shards, the specs of arguments and results, and the results' tree."""

    jaxpr: ir.Jaxpr
    mesh: AnyMesh
    axis: Hashable
    in_specs: list[PartitionSpec]
    out_specs: list[PartitionSpec]
    tree: PyTreeDef


def _traced(call: Slices, mesh: AnyMesh, axis: Hashable) -> _Traced:
    tree: Any = None  # fun sets both
    out_specs: list[PartitionSpec] = []

    # A shard has size 1 along the mapped axis: it is removed before the call, and added to results.
    def fun(*shards: ir.Array) -> list[ir.ArrayLike]:
        nonlocal tree
        slices = [
            x if d is None else squeeze(x, (d,)) for x, d in zip(shards, call.dims, strict=True)
        ]
        pairs, tree = tree_flatten_with_path(call.fun(*slices))
        targets = flatten_axes("pmap out_axes", tree, call.out_axes)
        results: list[ir.ArrayLike] = []
        for (path, out), target in zip(pairs, targets, strict=True):
            dim = None if target is None else _out_dim(out, target, f"result{keystr(path)}")
            out_specs.append(_spec(dim, axis))
            results.append(out if dim is None else expand_dims(out, (dim,)))
        return results

    in_specs = [_spec(d, axis) for d in call.dims]
    jaxpr = trace_on_shards(fun, mesh, frozenset([axis]), in_specs, call.args, call.info)
    return _Traced(jaxpr, mesh, axis, in_specs, out_specs, tree)


def _bound(call: Slices, traced: _Traced) -> ir.PyTree:
    outs = bind_on_shards(
        traced.jaxpr,
        traced.mesh,
        frozenset([traced.axis]),
        traced.in_specs,
        traced.out_specs,
        call.args,
    )
    return tree_unflatten(traced.tree, outs)


def _spec(dim: int | None, axis: Hashable) -> PartitionSpec:
    return PartitionSpec() if dim is None else PartitionSpec(*(None,) * dim, axis)


def _out_dim(out: ir.ArrayLike, target: int, what: str) -> int:
    """Return the axis along which the devices' results are stacked, counted from the front."""
    ndim = ir.get_aval(out).ndim + 1
    if not -ndim <= target < ndim:
        raise ValueError(
            f"pmap: out_axes={target} is out of bounds for {what}, which has rank {ndim} with the "
            "mapped axis."
        )
    return target % ndim


def argument_shardings(jaxpr: ir.Jaxpr) -> list[Sharding | None]:
    """Return the sharding of each argument of a mapped function, read from its jaxpr.

    It is ``None`` for functions with a ``pmap`` inside, which may shard it further.
    """
    shardings: dict[int, Sharding] = {}
    for eqn in jaxpr.eqns:
        if eqn.primitive is shard_map_p and len(eqn.params["mesh"].axis_names) == 1:
            for atom, spec in zip(eqn.invars, eqn.params["in_specs"], strict=True):
                shardings.setdefault(id(atom), NamedSharding(eqn.params["mesh"], spec))
    return [shardings.get(id(var)) for var in jaxpr.invars]
