"""Derivatives of ``shard_map``.

With ``check_vma`` the types inside record which values are the same on several devices. Such a
value is cast where it meets varying ones, and the transpose of that cast sums the cotangents: no
other communication arises. Without it, only the specs are known: the cotangent of a replicated
result is divided by the number of devices, and that of a replicated argument is summed over them.
"""

from collections.abc import Callable, Hashable, Sequence
from itertools import compress
from math import prod
from typing import Any

import ricci_autodiff as ad
import ricci_ir as ir
from ricci_lax import div, reshape
from ricci_parallel.collectives import psum_invariant_p, psum_p
from ricci_xla import PartitionSpec

from ._specs import AnyMesh, Specs, in_scope, named_axes_of, replicated_axes


class Shards(ir.TupleRecord):
    """The parameters of ``shard_map``, except its jaxpr and specs."""

    mesh: AnyMesh
    manual: ir.AxisNames
    check_vma: bool

    @staticmethod
    def of(params: dict[str, Any]) -> "Shards":
        """Read them from an operation's parameters by name."""
        return Shards(params["mesh"], params["newly_manual_axes"], params["check_vma"])

    def bind(
        self,
        primitive: ir.Primitive,
        args: Sequence[ir.ArrayLike],
        jaxpr: ir.Jaxpr,
        in_specs: Sequence[PartitionSpec],
        out_specs: Sequence[PartitionSpec],
    ) -> list[ir.Array]:
        """Apply ``shard_map`` to another jaxpr."""
        return primitive.bind(*args, **self.params(jaxpr, in_specs, out_specs))

    def params(
        self, jaxpr: ir.Jaxpr, in_specs: Sequence[PartitionSpec], out_specs: Sequence[PartitionSpec]
    ) -> dict[str, Any]:
        """Return the parameters for another jaxpr."""
        return {
            "check_vma": self.check_vma,
            "in_specs": tuple(in_specs),
            "jaxpr": jaxpr,
            "mesh": self.mesh,
            "newly_manual_axes": self.manual,
            "out_specs": tuple(out_specs),
        }

    def inside[T](self, build: Callable[[], T]) -> T:
        """Call ``build`` with the axes and mesh of these shards in force."""
        return in_scope(self.mesh, self.manual, build, self.check_vma)


def jvp_rule(primitive: ir.Primitive) -> Callable[..., tuple[list[ir.Array], list[Any]]]:
    """Return the jvp rule of ``shard_map``."""

    def jvp(
        primals: Sequence[ir.ArrayLike], tangents: Sequence[Any], **params: Any
    ) -> tuple[list[ir.Array], list[Any]]:
        shards, in_specs, out_specs = Shards.of(params), params["in_specs"], params["out_specs"]
        nonzeros = [type(t) is not ad.Zero for t in tangents]
        jaxpr, out_nonzeros = shards.inside(lambda: ad.jvp_jaxpr(params["jaxpr"], nonzeros))
        outs = shards.bind(
            primitive,
            [*primals, *(t for t in tangents if type(t) is not ad.Zero)],
            jaxpr,
            (*in_specs, *compress(in_specs, nonzeros)),
            (*out_specs, *compress(out_specs, out_nonzeros)),
        )
        results, tangents_out = outs[: len(out_specs)], outs[len(out_specs) :]
        return results, ad.join_tangents(out_nonzeros, tangents_out, results)

    return jvp


def linearize_rule(primitive: ir.Primitive) -> Callable[..., tuple[list[ir.Array], list[Any]]]:
    """Return the linearize rule of ``shard_map``: each device keeps its own residuals."""

    def linearize(
        tape: ad.Tape, primals: Sequence[ir.ArrayLike], tangents: Sequence[Any], **params: Any
    ) -> tuple[list[ir.Array], list[Any]]:
        shards, in_specs, out_specs = Shards.of(params), params["in_specs"], params["out_specs"]
        nonzeros = tuple(type(t) is not ad.Zero for t in tangents)
        split, new_specs = shards.inside(lambda: _linearized(params["jaxpr"], nonzeros, shards))
        outputs = shards.bind(primitive, primals, split.forward, in_specs, (*out_specs, *new_specs))
        results = outputs[: len(out_specs)]
        # Residuals may be arguments or results, too; these have their specs already.
        specs = (*in_specs, *out_specs, *new_specs)
        values = (*primals, *outputs)
        if not split.tangent.outvars:
            return results, ad.join_tangents(split.nonzeros, (), results)
        recorded = tape.record(
            primitive,
            (
                *(values[i] for i in split.residuals),
                *(t for t in tangents if type(t) is not ad.Zero),
            ),
            shards.params(
                split.tangent,
                # A tangent is sharded as its primal.
                (*(specs[i] for i in split.residuals), *compress(in_specs, nonzeros)),
                tuple(compress(out_specs, split.nonzeros)),
            ),
        )
        return results, ad.join_tangents(split.nonzeros, recorded, results)

    return linearize


def _linearized(
    jaxpr: ir.Jaxpr, nonzeros: tuple[bool, ...], shards: Shards
) -> tuple[ad.Linearized, Specs]:
    """Linearize the jaxpr of shards; return the specs of its new residuals as well.

    The residuals of all devices are one array outside: joined along the first dimension, over the
    axes along which they vary. A scalar gets a dimension for that.
    """
    key = ("linearize on shards", nonzeros, shards)
    return jaxpr.derived(key, lambda: _make_linearized(jaxpr, nonzeros, shards))


def _make_linearized(
    jaxpr: ir.Jaxpr, nonzeros: tuple[bool, ...], shards: Shards
) -> tuple[ad.Linearized, Specs]:
    # Residuals leave the shards as results and enter the tangent program as arguments, so each has
    # a spec. One that differs between devices but has no first dimension free to be sharded travels
    # with another one of size 1, which the tangent program removes.
    split = ad.linearize_jaxpr(jaxpr, nonzeros)
    results = len(jaxpr.outvars)
    first_new = len(jaxpr.invars) + results
    specs = tuple(_residual_spec(a, shards) for a in split.forward.out_avals[results:])
    grown = [
        bool(len(spec)) and _needs_dimension(aval)
        for spec, aval in zip(specs, split.forward.out_avals[results:], strict=True)
    ]
    if not any(grown):
        return split, specs

    def forward(*args: ir.Array) -> list[ir.Array]:
        outs = ir.eval_jaxpr(split.forward, split.forward.consts, *args)
        return [
            *outs[:results],
            *(
                reshape(x, (1, *_aval(x).shape)) if grow else x
                for x, grow in zip(outs[results:], grown, strict=True)
            ),
        ]

    def tangent(*args: ir.Array) -> list[ir.Array]:
        count = len(split.residuals)
        residuals = [
            reshape(x, _aval(x).shape[1:]) if i >= first_new and grown[i - first_new] else x
            for x, i in zip(args[:count], split.residuals, strict=True)
        ]
        return ir.eval_jaxpr(split.tangent, split.tangent.consts, *residuals, *args[count:])

    forward_jaxpr = ir.trace_to_jaxpr(forward, jaxpr.in_avals, jaxpr.debug_info)
    avals = [*jaxpr.in_avals, *forward_jaxpr.out_avals]
    tangent_avals = [
        *(avals[i] for i in split.residuals),
        *(ad.tangent_aval(a) for a, nz in zip(jaxpr.in_avals, nonzeros, strict=True) if nz),
    ]
    tangent_jaxpr = ir.trace_to_jaxpr(tangent, tangent_avals, jaxpr.debug_info)
    return split._replace(forward=forward_jaxpr, tangent=tangent_jaxpr), specs


def _aval(x: ir.ArrayLike) -> ir.ShapedArray:
    return ir.get_aval(x)  # pyright: ignore[reportReturnType]


def _needs_dimension(aval: Any) -> bool:
    """Whether a residual has no first dimension to join along, or one that is sharded already."""
    return not aval.shape or (aval.type_sharding is not None and bool(aval.type_sharding.parts[0]))


def _residual_spec(aval: ir.AbstractValue, shards: Shards) -> PartitionSpec:
    if not isinstance(aval, ir.ShapedArray):
        return PartitionSpec()
    axes = shards.manual
    if shards.check_vma:
        sharding = aval.type_sharding
        axes = axes & (ir.no_axes if sharding is None else sharding.varying)
    # Without types that record it, a residual may differ on all devices, so it is joined over all
    # manual axes.
    names = tuple(name for name in shards.mesh.axis_names if name in axes)
    return PartitionSpec(names) if names else PartitionSpec()


def transpose_rule(primitive: ir.Primitive) -> Callable[..., list[ir.Array | None]]:
    """Return the transpose rule of ``shard_map``."""

    def transpose(cts: Sequence[Any], *args: Any, **params: Any) -> list[ir.Array | None]:
        shards, in_specs, out_specs = Shards.of(params), params["in_specs"], params["out_specs"]
        linear = [ad.is_undefined_primal(a) for a in args]
        nonzeros = [type(c) is not ad.Zero for c in cts]
        required = ad.required_operands(args)
        transposed, out_nonzeros = shards.inside(
            lambda: _transposed(
                params["jaxpr"], linear, nonzeros, required, shards, in_specs, out_specs
            )
        )
        # The transposed jaxpr takes the nonlinear operands, which are residuals, then the nonzero
        # cotangents of the results. It returns the nonzero ones of the linear operands. A cotangent
        # has the spec of its operand or result, with ``reduced`` and ``unreduced`` swapped.
        outs = iter(
            shards.bind(
                primitive,
                [
                    *(a for a in args if not ad.is_undefined_primal(a)),
                    *(c for c in cts if type(c) is not ad.Zero),
                ],
                transposed,
                (
                    *compress(in_specs, [not flag for flag in linear]),
                    *(_ct_spec(s) for s in compress(out_specs, nonzeros)),
                ),
                [_ct_spec(s) for s in compress(compress(in_specs, linear), out_nonzeros)],
            )
        )
        nonzero = iter(out_nonzeros)
        return [next(outs) if flag and next(nonzero) else None for flag in linear]

    return transpose


def _ct_spec(spec: PartitionSpec) -> PartitionSpec:
    """Return the spec of a cotangent: swap ``reduced`` and ``unreduced``."""
    if not (spec.unreduced or spec.reduced):
        return spec
    return PartitionSpec(*spec, unreduced=spec.reduced, reduced=spec.unreduced)


def _transposed(
    jaxpr: ir.Jaxpr,
    linear: Sequence[bool],
    nonzeros: Sequence[bool],
    required: tuple[bool, ...] | None,
    shards: Shards,
    in_specs: Specs,
    out_specs: Specs,
) -> tuple[ir.Jaxpr, list[bool]]:
    transposed, out_nonzeros = ad.transpose_jaxpr(jaxpr, linear, nonzeros, required=required)
    residual_count = len(linear) - sum(linear)
    ct_specs = list(compress(out_specs, nonzeros))
    result_specs = list(compress(compress(in_specs, linear), out_nonzeros))

    # Without types of varying values, specs alone say what differs between devices: a result that
    # is replicated over n devices enters each of them with 1/n of its cotangent, and the cotangent
    # of a replicated argument is the sum over them.
    def by_specs(*args: ir.Array) -> list[ir.Array]:
        cts = [
            _split_cotangent(ct, spec, shards)
            for ct, spec in zip(args[residual_count:], ct_specs, strict=True)
        ]
        outs = ir.eval_jaxpr(transposed, transposed.consts, *args[:residual_count], *cts)
        return [
            _sum_cotangents(x, spec, shards) for x, spec in zip(outs, result_specs, strict=True)
        ]

    # With types, the sums over devices are transposes of the casts that the jaxpr contains, so only
    # axes that the types leave varying but the specs do not are summed over here.
    sums = [
        _axes_to_sum(aval, named_axes_of(spec), shards)
        for aval, spec in zip(transposed.out_avals, result_specs, strict=True)
    ]

    def by_types(*args: ir.Array) -> list[ir.Array]:
        outs = ir.eval_jaxpr(transposed, transposed.consts, *args)
        return [
            psum_invariant_p.bind(x, axes=axes) if axes else x
            for x, axes in zip(outs, sums, strict=True)
        ]

    if shards.check_vma and not any(sums):
        return transposed, out_nonzeros
    fun = by_types if shards.check_vma else by_specs
    flags = (tuple(linear), tuple(nonzeros), required)
    key = ("transpose on shards", *flags, shards, in_specs, out_specs)
    return (
        jaxpr.derived(key, lambda: ir.trace_to_jaxpr(fun, transposed.in_avals, jaxpr.debug_info)),
        out_nonzeros,
    )


def _split_cotangent(ct: ir.Array, spec: PartitionSpec, shards: Shards) -> ir.Array:
    """Divide the cotangent of a replicated result by the number of devices that have it."""
    axes = replicated_axes(shards.mesh, spec, shards.manual)
    size = prod(shards.mesh.shape[name] for name in axes)
    return div(ct, _aval(ct).dtype.type(size)) if size > 1 else ct


def _sum_cotangents(x: ir.Array, spec: PartitionSpec, shards: Shards) -> ir.Array:
    """Sum the cotangents of a replicated argument over the devices that have it."""
    axes = replicated_axes(shards.mesh, spec, shards.manual)
    return psum_p.bind(x, axes=axes, axis_index_groups=None) if axes else x


def _axes_to_sum(
    aval: ir.AbstractValue, named: ir.AxisNames, shards: Shards
) -> tuple[Hashable, ...]:
    """Return the axes along which a cotangent varies and its argument does not."""
    sharding = aval.type_sharding
    extra = ir.no_axes if sharding is None else (sharding.varying & shards.manual) - named
    return tuple(n for n in shards.mesh.axis_names if n in extra)
