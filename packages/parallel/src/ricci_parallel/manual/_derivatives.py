"""Derivatives of programs on shards.

With ``check_vma`` the types inside say which values are the same on several devices. A value that
is the same is cast where it meets others, and the transpose of that cast sums the cotangents: no
other communication arises. Without it, what a spec says is all that is known: the cotangent of a
result that devices share is divided among them, and an argument that they share collects the
cotangents of all.
"""

from collections.abc import Callable, Hashable, Sequence
from math import prod
from typing import Any

from ricci_autodiff import (
    Linearized,
    Tape,
    Zero,
    join_tangents,
    jvp_jaxpr,
    linearize_jaxpr,
    tangent_aval,
    transpose_jaxpr,
)
from ricci_autodiff import is_undefined_primal as is_linear
from ricci_ir import (
    AbstractValue,
    Array,
    ArrayLike,
    AxisNames,
    Jaxpr,
    Primitive,
    ShapedArray,
    TupleRecord,
    eval_jaxpr,
    get_aval,
    no_axes,
    trace_to_jaxpr,
)
from ricci_lax import div, reshape
from ricci_parallel.collectives import psum_invariant_p, psum_p
from ricci_xla import PartitionSpec

from ._scope import in_scope
from ._specs import AnyMesh, Specs, named_axes_of, replicated_axes


class Shards(TupleRecord):
    """The parameters of ``shard_map``, except its program and specs."""

    mesh: AnyMesh
    manual: AxisNames
    check_vma: bool

    @staticmethod
    def of(params: dict[str, Any]) -> "Shards":
        """Those of an operation, from its parameters by name."""
        return Shards(params["mesh"], params["newly_manual_axes"], params["check_vma"])

    def bind(
        self,
        primitive: Primitive,
        args: Sequence[ArrayLike],
        jaxpr: Jaxpr,
        in_specs: Sequence[PartitionSpec],
        out_specs: Sequence[PartitionSpec],
    ) -> list[Array]:
        """Apply ``shard_map`` to another program."""
        return primitive.bind(*args, **self.params(jaxpr, in_specs, out_specs))

    def params(
        self, jaxpr: Jaxpr, in_specs: Sequence[PartitionSpec], out_specs: Sequence[PartitionSpec]
    ) -> dict[str, Any]:
        """The parameters for another program."""
        return {
            "check_vma": self.check_vma,
            "in_specs": tuple(in_specs),
            "jaxpr": jaxpr,
            "mesh": self.mesh,
            "newly_manual_axes": self.manual,
            "out_specs": tuple(out_specs),
        }

    def inside[T](self, build: Callable[[], T]) -> T:
        """The result of ``build``, called inside a program on these shards."""
        return in_scope(self.mesh, self.manual, build, self.check_vma)


def where[T](items: Sequence[T], flags: Sequence[bool]) -> tuple[T, ...]:
    """The items whose flag is set."""
    return tuple(item for item, flag in zip(items, flags, strict=True) if flag)


def jvp_rule(primitive: Primitive) -> Callable[..., tuple[list[Array], list[Any]]]:
    """The jvp rule of ``shard_map``."""

    def jvp(
        primals: Sequence[ArrayLike], tangents: Sequence[Any], **params: Any
    ) -> tuple[list[Array], list[Any]]:
        shards, in_specs, out_specs = Shards.of(params), params["in_specs"], params["out_specs"]
        nonzeros = [type(t) is not Zero for t in tangents]
        program, out_nonzeros = shards.inside(lambda: jvp_jaxpr(params["jaxpr"], nonzeros))
        outs = shards.bind(
            primitive,
            [*primals, *(t for t in tangents if type(t) is not Zero)],
            program,
            (*in_specs, *where(in_specs, nonzeros)),
            (*out_specs, *where(out_specs, out_nonzeros)),
        )
        results, found = outs[: len(out_specs)], outs[len(out_specs) :]
        return results, join_tangents(out_nonzeros, found, results)

    return jvp


def linearize_rule(primitive: Primitive) -> Callable[..., tuple[list[Array], list[Any]]]:
    """The linearize rule of ``shard_map``: each device keeps its own residuals."""

    def linearize(
        tape: Tape, primals: Sequence[ArrayLike], tangents: Sequence[Any], **params: Any
    ) -> tuple[list[Array], list[Any]]:
        shards, in_specs, out_specs = Shards.of(params), params["in_specs"], params["out_specs"]
        nonzeros = tuple(type(t) is not Zero for t in tangents)
        split, new_specs = shards.inside(lambda: _linearized(params["jaxpr"], nonzeros, shards))
        outputs = shards.bind(primitive, primals, split.forward, in_specs, (*out_specs, *new_specs))
        results = outputs[: len(out_specs)]
        # Residuals may be arguments or results, too; these keep their specs.
        specs = (*in_specs, *out_specs, *new_specs)
        values = (*primals, *outputs)
        if not split.tangent.outvars:
            return results, join_tangents(split.nonzeros, (), results)
        recorded = tape.record(
            primitive,
            (
                *(values[i] for i in split.residuals),
                *(t for t in tangents if type(t) is not Zero),
            ),
            shards.params(
                split.tangent,
                (*(specs[i] for i in split.residuals), *where(in_specs, nonzeros)),
                where(out_specs, split.nonzeros),
            ),
        )
        return results, join_tangents(split.nonzeros, recorded, results)

    return linearize


def _linearized(
    jaxpr: Jaxpr, nonzeros: tuple[bool, ...], shards: Shards
) -> tuple[Linearized, Specs]:
    """The linearization of a program on shards, and the specs of its new residuals.

    The residuals of all devices are one array outside: joined along the first dimension, by the
    axes along which they vary. A scalar gets a dimension for that.
    """
    key = ("linearize on shards", nonzeros, shards)
    return jaxpr.derived(key, lambda: _make_linearized(jaxpr, nonzeros, shards))


def _make_linearized(
    jaxpr: Jaxpr, nonzeros: tuple[bool, ...], shards: Shards
) -> tuple[Linearized, Specs]:
    split = linearize_jaxpr(jaxpr, nonzeros)
    results = len(jaxpr.outvars)
    first_new = len(jaxpr.invars) + results
    specs = tuple(_residual_spec(a, shards) for a in split.forward.out_avals[results:])
    grown = [
        bool(len(spec)) and _lacks_dimension(aval)
        for spec, aval in zip(specs, split.forward.out_avals[results:], strict=True)
    ]
    if not any(grown):
        return split, specs

    def forward(*args: Array) -> list[Array]:
        outs = eval_jaxpr(split.forward, split.forward.consts, *args)
        return [
            *outs[:results],
            *(
                reshape(x, (1, *_aval(x).shape)) if grow else x
                for x, grow in zip(outs[results:], grown, strict=True)
            ),
        ]

    def tangent(*args: Array) -> list[Array]:
        count = len(split.residuals)
        residuals = [
            reshape(x, _aval(x).shape[1:]) if i >= first_new and grown[i - first_new] else x
            for x, i in zip(args[:count], split.residuals, strict=True)
        ]
        return eval_jaxpr(split.tangent, split.tangent.consts, *residuals, *args[count:])

    forward_jaxpr = trace_to_jaxpr(forward, jaxpr.in_avals, jaxpr.debug_info)
    avals = [*jaxpr.in_avals, *forward_jaxpr.out_avals]
    tangent_avals = [
        *(avals[i] for i in split.residuals),
        *(tangent_aval(a) for a, nz in zip(jaxpr.in_avals, nonzeros, strict=True) if nz),
    ]
    tangent_jaxpr = trace_to_jaxpr(tangent, tangent_avals, jaxpr.debug_info)
    return split._replace(forward=forward_jaxpr, tangent=tangent_jaxpr), specs


def _aval(x: ArrayLike) -> ShapedArray:
    return get_aval(x)  # pyright: ignore[reportReturnType]


def _lacks_dimension(aval: Any) -> bool:
    """Whether the first dimension cannot be joined: there is none, or it is divided already."""
    return not aval.shape or (aval.type_sharding is not None and bool(aval.type_sharding.parts[0]))


def _residual_spec(aval: AbstractValue, shards: Shards) -> PartitionSpec:
    if not isinstance(aval, ShapedArray):
        return PartitionSpec()
    axes = shards.manual
    if shards.check_vma:
        found = aval.type_sharding
        axes = axes & (no_axes if found is None else found.varying)
    names = tuple(name for name in shards.mesh.axis_names if name in axes)
    return PartitionSpec(names) if names else PartitionSpec()


def transpose_rule(primitive: Primitive) -> Callable[..., list[Array | None]]:
    """The transpose rule of ``shard_map``."""

    def transpose(cts: Sequence[Any], *args: Any, **params: Any) -> list[Array | None]:
        shards, in_specs, out_specs = Shards.of(params), params["in_specs"], params["out_specs"]
        linear = [is_linear(a) for a in args]
        nonzeros = [type(c) is not Zero for c in cts]
        program, out_nonzeros = shards.inside(
            lambda: _transposed(params["jaxpr"], linear, nonzeros, shards, in_specs, out_specs)
        )
        outs = iter(
            shards.bind(
                primitive,
                [
                    *(a for a in args if not is_linear(a)),
                    *(c for c in cts if type(c) is not Zero),
                ],
                program,
                (
                    *where(in_specs, [not flag for flag in linear]),
                    *(_ct_spec(s) for s in where(out_specs, nonzeros)),
                ),
                [_ct_spec(s) for s in where(where(in_specs, linear), out_nonzeros)],
            )
        )
        found = iter(out_nonzeros)
        return [next(outs) if flag and next(found) else None for flag in linear]

    return transpose


def _ct_spec(spec: PartitionSpec) -> PartitionSpec:
    """The spec of cotangents: ``reduced`` and ``unreduced`` change places."""
    if not (spec.unreduced or spec.reduced):
        return spec
    return PartitionSpec(*spec, unreduced=spec.reduced, reduced=spec.unreduced)


def _transposed(
    jaxpr: Jaxpr,
    linear: Sequence[bool],
    nonzeros: Sequence[bool],
    shards: Shards,
    in_specs: Specs,
    out_specs: Specs,
) -> tuple[Jaxpr, list[bool]]:
    program, out_nonzeros = transpose_jaxpr(jaxpr, linear, nonzeros)
    known = len(linear) - sum(linear)
    ct_specs = where(out_specs, nonzeros)
    result_specs = where(where(in_specs, linear), out_nonzeros)

    def by_specs(*args: Array) -> list[Array]:
        cts = [_shared(ct, spec, shards) for ct, spec in zip(args[known:], ct_specs, strict=True)]
        outs = eval_jaxpr(program, program.consts, *args[:known], *cts)
        return [_collected(x, spec, shards) for x, spec in zip(outs, result_specs, strict=True)]

    sums = [
        _axes_to_sum(aval, named_axes_of(spec), shards)
        for aval, spec in zip(program.out_avals, result_specs, strict=True)
    ]

    def by_types(*args: Array) -> list[Array]:
        outs = eval_jaxpr(program, program.consts, *args)
        return [
            psum_invariant_p.bind(x, axes=axes) if axes else x
            for x, axes in zip(outs, sums, strict=True)
        ]

    if shards.check_vma and not any(sums):
        return program, out_nonzeros
    fun = by_types if shards.check_vma else by_specs
    key = ("transpose on shards", tuple(linear), tuple(nonzeros), shards, in_specs, out_specs)
    return (
        jaxpr.derived(key, lambda: trace_to_jaxpr(fun, program.in_avals, jaxpr.debug_info)),
        out_nonzeros,
    )


def _shared(ct: Array, spec: PartitionSpec, shards: Shards) -> Array:
    axes = replicated_axes(shards.mesh, spec, shards.manual)
    size = prod(shards.mesh.shape[name] for name in axes)
    return div(ct, _aval(ct).dtype.type(size)) if size > 1 else ct


def _collected(x: Array, spec: PartitionSpec, shards: Shards) -> Array:
    axes = replicated_axes(shards.mesh, spec, shards.manual)
    return psum_p.bind(x, axes=axes, axis_index_groups=None) if axes else x


def _axes_to_sum(aval: AbstractValue, named: AxisNames, shards: Shards) -> tuple[Hashable, ...]:
    """The axes along which a cotangent varies and its argument does not."""
    found = aval.type_sharding
    extra = no_axes if found is None else (found.varying & shards.manual) - named
    return tuple(n for n in shards.mesh.axis_names if n in extra)
