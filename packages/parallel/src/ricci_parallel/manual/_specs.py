"""Partition specs of ``shard_map``: types of shards, checks of specs, and named axes in scope."""

from collections.abc import Callable, Hashable, Sequence
from math import prod
from typing import Any

import ricci_ir as ir
from ricci_ir import AxisNames, current_mesh, extend_axes, varying_axes
from ricci_stablehlo import string
from ricci_xla import AbstractMesh, AxisType, DuplicateSpecError, Mesh, PartitionSpec

type Specs = tuple[PartitionSpec, ...]
type AnyMesh = Mesh | AbstractMesh


def spec_axes(part: Hashable) -> tuple[Hashable, ...]:
    """Return the mesh axes that one entry of a partition spec names."""
    if part is None:
        return ()
    return part if isinstance(part, tuple) else (part,)


def named_axes_of(spec: PartitionSpec) -> ir.AxisNames:
    """Return the mesh axes that a partition spec names."""
    return frozenset(name for part in spec for name in spec_axes(part))


def replicated_axes(
    mesh: AnyMesh, spec: PartitionSpec, manual: ir.AxisNames
) -> tuple[Hashable, ...]:
    """Return the manual axes that a partition spec does not name: those of replication."""
    named = named_axes_of(spec)
    return tuple(name for name in mesh.axis_names if name in manual and name not in named)


def manual_mesh(mesh: AnyMesh, manual: ir.AxisNames) -> AbstractMesh:
    """Return a mesh with some axes of type ``Manual``, as the function of shards sees it."""
    abstract = mesh.abstract_mesh
    types = [
        AxisType.Manual if name in manual else kind
        for name, kind in zip(abstract.axis_names, abstract.axis_types, strict=True)
    ]
    return abstract.update(axis_types=types)


def shard_aval(
    aval: ir.ShapedArray, mesh: AnyMesh, spec: PartitionSpec, manual: ir.AxisNames, check_vma: bool
) -> ir.ShapedArray:
    """Return the type of a shard of an array with sharding ``spec``.

    Args:
      aval: the type of the whole array.
      mesh: the mesh.
      spec: names manual axes only.
      manual: the axes that become manual.
      check_vma: whether the type records along which of them the value varies.
    """
    if isinstance(aval, ir.AbstractRef):
        reference: Any = aval
        inner = shard_aval(reference.inner_aval, mesh, spec, manual, check_vma)
        return reference.update(inner_aval=inner)
    shape = list(aval.shape)
    for i, part in enumerate(spec):
        # ``check_inputs`` has shown that the sizes divide evenly.
        shape[i] //= prod(mesh.shape[name] for name in spec_axes(part))
    outer = aval.type_sharding
    varying = named_axes_of(spec) if check_vma else ir.no_axes
    if outer is None:
        # A shard differs from device to device along the axes that split its array.
        sharding = ir.make_type_sharding(None, ((),) * len(shape), varying)
    else:
        sharding = outer.update(
            mesh=manual_mesh(mesh, manual),
            # Inside, an array is the shard that a manual axis has split off: it is not sharded
            # along that axis any more.
            parts=tuple(tuple(n for n in part if n not in manual) for part in outer.parts),
            varying=outer.varying | varying,
            unreduced=outer.unreduced | (spec.unreduced & manual),
            reduced=outer.reduced | (spec.reduced & manual),
        )
    return ir.ShapedArray(shape, aval.dtype, aval.weak_type, sharding=sharding)


def whole_aval(
    aval: ir.ShapedArray, mesh: AnyMesh, spec: PartitionSpec, manual: ir.AxisNames
) -> ir.ShapedArray:
    """Return the type of the array whose shards have a type, joined by ``spec``."""
    shape = list(aval.shape)
    parts: list[tuple[Hashable, ...]] = [()] * len(shape)
    explicit = frozenset(mesh.abstract_mesh.explicit_axes)
    for i, part in enumerate(spec):
        names = spec_axes(part)
        shape[i] *= prod(mesh.shape[name] for name in names)
        parts[i] = tuple(name for name in names if name in explicit)
    inner = aval.type_sharding
    sums = explicit.intersection(spec.unreduced), explicit.intersection(spec.reduced)
    if inner is None:
        sharding = ir.make_type_sharding(mesh.abstract_mesh, tuple(parts), (), *sums)
    else:
        sharding = ir.make_type_sharding(
            mesh.abstract_mesh,
            # A shard is a block of the array, and may be sharded further along other axes: these
            # are the minor ones.
            tuple((*new, *old) for new, old in zip(parts, inner.parts, strict=True)),
            inner.varying - manual,
            (inner.unreduced - manual) | sums[0],
            (inner.reduced - manual) | sums[1],
        )
    return ir.ShapedArray(shape, aval.dtype, aval.weak_type, sharding=sharding)


def with_dim(spec: PartitionSpec, dim: int | None, names: Hashable = None) -> PartitionSpec:
    """Return the spec of a batch, whose batch dimension is sharded over ``names``."""
    if dim is None:
        return spec
    parts = [*spec, *(None,) * max(0, dim - len(spec))]
    # The spec may be shorter than the rank: missing entries mean replicated.
    parts.insert(dim, names)
    return PartitionSpec(*parts, unreduced=spec.unreduced, reduced=spec.reduced)


def sharding_text(symbol: str, spec: PartitionSpec, ndim: int, closed: bool) -> str:
    """Return Shardy's text for a spec. Unless ``closed``, the compiler may shard it further."""
    parts = [*spec, *(None,) * (ndim - len(spec))]
    open_marker = [] if closed else ["?"]
    dims = ", ".join(
        f"{{{', '.join([*(string(str(name)) for name in spec_axes(part)), *open_marker])}}}"
        for part in parts
    )
    terms = ", ".join(string(str(name)) for name in sorted(spec.unreduced, key=str))
    return f"<@{symbol}, [{dims}]{f', unreduced={{{terms}}}' if terms else ''}>"


def check_inputs(
    function: str,
    specs: Sequence[PartitionSpec],
    avals: Sequence[ir.ShapedArray],
    names: Sequence[str],
    mesh: AnyMesh,
    manual: ir.AxisNames,
) -> None:
    """Check that specs fit the arguments that they split.

    Raises:
      ValueError: if a spec is longer than an argument's rank, names an axis that is not manual, or
        splits a dimension whose size is not a multiple.
    """
    for spec, aval, name in zip(specs, avals, names, strict=True):
        check_axes(function, f"the in_specs entry {spec} of {name}", spec, mesh, manual)
        if len(spec) > aval.ndim:
            raise ValueError(
                f"shard_map of {function}: the in_specs entry {spec} is too long for argument "
                f"{name} of type {aval.str_short(True)}: it has length {len(spec)}, and the "
                f"argument has rank {aval.ndim}. Shorten the spec."
            )
        for i, part in enumerate(spec):
            size = prod(mesh.shape[n] for n in spec_axes(part))
            if aval.shape[i] % size:
                axes = " and ".join(map(repr, spec_axes(part)))
                raise ValueError(
                    f"shard_map of {function}: axis {i} of argument {name}, of type "
                    f"{aval.str_short(True)}, has size {aval.shape[i]}, which is not evenly "
                    f"divisible by {size}, the size of mesh axis {axes} in its in_specs entry "
                    f"{spec}.\nPad the argument, or use a spec that fits: "
                    f"{_fitting(spec, aval.shape, mesh)}."
                )


def _fitting(spec: PartitionSpec, shape: ir.Shape, mesh: AnyMesh) -> PartitionSpec:
    """Drop the parts of a spec that do not divide a shape."""
    return PartitionSpec(
        *(
            part if shape[i] % prod(mesh.shape[n] for n in spec_axes(part)) == 0 else None
            for i, part in enumerate(spec)
        )
    )


def check_axes(
    function: str, what: str, spec: PartitionSpec, mesh: AnyMesh, manual: ir.AxisNames
) -> None:
    """Raise ``ValueError`` if a spec names an axis that is not manual, or one twice.

    ``what`` is the spec's name in errors.
    """
    named = [name for part in spec for name in spec_axes(part)]
    for name in dict.fromkeys(named):
        if named.count(name) > 1:
            raise DuplicateSpecError(
                f"shard_map of {function}: {what} uses the mesh axis {name!r} twice. A mesh axis "
                "shards one dimension: use it once, and None or another axis elsewhere."
            )
        if name not in manual:
            names = ", ".join(map(repr, sorted(manual, key=str))) or "none"
            if name not in mesh.axis_names:
                advice = f"The axes of the mesh are {mesh.axis_names}."
            elif name in mesh.abstract_mesh.manual_axes:
                advice = "It is a manual axis of an enclosing shard_map."
            else:
                advice = "Add it to axis_names."
            raise ValueError(
                f"shard_map of {function}: {what} refers to the axis {name!r}, but the axes that "
                f"are manual here are {names}. {advice}"
            )


def check_outputs(
    function: str,
    specs: Sequence[PartitionSpec],
    avals: Sequence[ir.ShapedArray],
    paths: Sequence[str],
    mesh: AnyMesh,
    manual: ir.AxisNames,
    check_vma: bool,
) -> None:
    """Check that specs fit the results that they join.

    Raises:
      ValueError: if a spec is longer than a result's rank, names an axis that is not manual, or
        leaves out an axis along which the result varies.
    """
    for spec, aval, path in zip(specs, avals, paths, strict=True):
        which = f"the out_specs entry {spec} of the result{path}"
        check_axes(function, which, spec, mesh, manual)
        if len(spec) > aval.ndim:
            scalar = " A scalar needs an axis to be joined along: return x[None]."
            raise ValueError(
                f"shard_map of {function}: the out_specs entry {spec} is too long for the result"
                f"{path} of type {aval.str_short(True)}: it has length {len(spec)}, and the "
                f"result has rank {aval.ndim}. Shorten the spec.{'' if aval.ndim else scalar}"
            )
        sharding = aval.type_sharding
        if not check_vma or sharding is None:
            continue
        named = named_axes_of(spec)
        # Axes over which shards may differ, although the spec claims that they are equal.
        claimed = [n for n in mesh.axis_names if n in (sharding.varying & manual) - named]
        if claimed:
            axes = claimed[0] if len(claimed) == 1 else tuple(claimed)
            raise ValueError(
                f"shard_map of {function}: the out_specs entry {spec} says that the result{path} "
                f"is replicated over {axes!r}, but it varies over that axis: its type on each "
                f"device is {aval.str_short(True)}, so replication can't be statically inferred.\n"
                f"Make it the same on all devices, with jax.lax.psum(x, {axes!r}), pmean or "
                f"all_gather(x, {axes!r}, to='invarying'); or join it along a dimension, with "
                f"out_specs P({claimed[0]!r}); or pass check_vma=False if you know that it is."
            )
        pending = (
            (sharding.unreduced - spec.unreduced) | (sharding.reduced - spec.reduced)
        ) & manual
        if pending:
            raise ValueError(
                f"shard_map of {function}: the result{path} has type {aval.str_short(True)}, but "
                f"the out_specs entry {spec} lacks its unreduced and reduced axes, so its "
                "replication can't be statically inferred. Finish it with psum or pcast, or name "
                "the axes with P(..., unreduced=..., reduced=...)."
            )


def in_scope[T](
    mesh: AnyMesh, manual: AxisNames, build: Callable[[], T], check_vma: bool = False
) -> T:
    """Call ``build`` with the axes and mesh of a ``shard_map`` in force.

    Args:
      mesh: the mesh.
      manual: the axes of the mesh that become manual.
      build: traces or transforms the jaxpr.
      check_vma: whether the types inside record along which axes values vary.
    """
    sizes = [(name, size) for name, size in mesh.shape.items() if name in manual]
    with extend_axes(sizes), current_mesh(manual_mesh(mesh, manual)), varying_axes(check_vma):
        return build()
