"""Checks of the indices of interpreted kernels at run time, for ``checkify``.

The kernel is checked as a function of references, ahead of their discharge: an index is then that
of a reference, whose name is known, and blocks that the interpreter reads are not indexed by the
user. The first error of all steps is in further scratch buffers.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
import ricci_numpy as jnp
from ricci_kernels.blocks._grid_mapping import GridMapping
from ricci_kernels.blocks._programs import program_id_p
from ricci_kernels.body._control import run_scoped_p
from ricci_kernels.calls._interpreter import checked_outputs
from ricci_kernels.calls._primitive import checked_call
from ricci_kernels.primitives._accesses import (
    atomic_cas_p,
    atomic_rmw_p,
    masked_load_p,
    masked_store_p,
    optional,
    positions_of_elements,
)
from ricci_kernels.primitives._copies import dma_start_p, indexed_references, split_references
from ricci_kernels.primitives._debug_checks import debug_check_p
from ricci_lax.authoring import CheckLog, repeated_checks, report_axis, report_positions
from ricci_lax.checkify import FailedCheckError, OOBError

from ._static_indices import Outside

__all__: list[str] = []

_scoped_buffer = "a buffer of run_scoped"


class KernelIndexError(OOBError):
    """An index in a kernel was out of bounds.

    Facts: those of an ``OOBError``, and the place. Payload: that of an ``OOBError``, and the step
    of the grid.
    """

    @property
    def operand(self) -> str:
        """The name of the reference."""
        return self.facts[3].partition(" of the kernel ")[0]

    @property
    def step(self) -> tuple[int, ...]:
        """The step of the grid."""
        return tuple(np.asarray(self.payload[1]).tolist())  # pyright: ignore

    def __str__(self) -> str:
        index, axis, size = np.asarray(self.payload[0]).tolist()  # pyright: ignore
        _, shape, sizes, place = self.facts
        window = sizes[axis]
        what = "index" if window == 1 else f"a window of {window} elements from"
        return (
            f"{what} {index} is out of bounds for axis {axis} of size {size} of the shape {shape}: "
            f"{place}, in step {self.step} of the grid"
        )


def _bound(primitive: ir.Primitive, operands: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    results: Any = primitive.bind(*operands, **params)
    return results if primitive.multiple_results else [results]


@checked_call.provide
def _checked_call(
    log: CheckLog, primitive: ir.Primitive, operands: list[Any], params: dict[str, Any]
) -> list[Any]:
    if not params["interpret"]:
        return _bound(primitive, operands, params)
    jaxpr: ir.Jaxpr = params["jaxpr"]
    mapping: GridMapping = params["grid_mapping"]
    rank = len(mapping.grid) - mapping.vmapped

    def position() -> ir.ArrayLike:
        # Equations of the outermost jaxpr: the interpreter replaces those there alone.
        indices = [program_id_p.bind(axis=axis) for axis in range(rank)]
        return jnp.stack(indices) if indices else np.zeros(0, np.int32)

    checks = repeated_checks(log, jaxpr, position, KernelIndexError, place_in_kernel(params))
    if checks is None:
        return _bound(primitive, operands, params)
    errors, outs = checked_outputs({**params, "jaxpr": checks.jaxpr}, len(jaxpr.invars), operands)
    checks.absorb(log, errors)
    return outs


def _debug_check(
    log: CheckLog, primitive: ir.Primitive, operands: Sequence[Any], params: dict[str, Any]
) -> list[Any]:
    if FailedCheckError in log.enabled:
        # Messages of users' checks are format strings, and this one is a text.
        message = params["message"].replace("{", "{{").replace("}", "}}")
        log.report(FailedCheckError, lax.bitwise_not(operands[0]), (message,), ((), {}))
    return []


lax.check_rules.define(debug_check_p, _debug_check)


def error_ahead(params: Mapping[str, Any], outside: Outside) -> KernelIndexError:
    """The error of an index that is out of bounds whatever the data are.

    Args:
      params: the parameters of the call.
      outside: the index.
    """
    use, eqn = outside.use, outside.eqn
    sizes = tuple([use.span if axis == use.axis else 1 for axis in range(len(use.shape))])
    place = place_in_kernel(params)(eqn.raw_source)
    facts = (eqn.primitive.name, tuple(use.shape), sizes, place)
    entry = np.array([outside.value, use.axis, use.shape[use.axis]])
    return KernelIndexError(facts, (entry, np.array(outside.step, int)))


def place_in_kernel(params: Mapping[str, Any]) -> Callable[[tuple[Any, ...]], str]:
    """A function that describes a place in a kernel: the reference's name and the line.

    Args:
      params: the parameters of the call.
    """
    jaxpr: ir.Jaxpr = params["jaxpr"]
    names = dict(_reference_names(jaxpr, dict(zip(jaxpr.invars, _names(params), strict=True))))
    kernel = jaxpr.debug_info.func_name

    def place(source: tuple[Any, ...]) -> str:
        code, offset, *_ = source
        name = names.get((code, offset), "a value")
        line = "" if code is None else f", at {ir.Source(*source)}"
        return f"{name} of the kernel {kernel}{line}"

    return place


def _names(params: Mapping[str, Any]) -> list[str]:
    """The names of a kernel's references."""
    jaxpr, mapping = params["jaxpr"], params["grid_mapping"]
    names = [f"prefetched scalars {i}" for i in range(mapping.num_index_operands)]
    names += [m.origin for m in mapping.block_mappings]
    scratch = len(jaxpr.invars) - len(names)
    return names + [f"scratch_shapes[{i}]" for i in range(scratch)]


def _reference_names(jaxpr: ir.Jaxpr, names: dict[Any, str]) -> Iterator[tuple[Any, str]]:
    """The place of each equation that indexes named references, and their names."""
    for eqn in jaxpr.eqns:
        read = [names.get(v) if type(v) is ir.Var else None for v in eqn.invars]
        indexed = dict.fromkeys(names[ref] for ref in indexed_references(eqn) if ref in names)
        if indexed:
            yield eqn.raw_source[:2], " or ".join(indexed)
        for inner in ir.jaxprs_in_params(eqn.params):
            count = len(inner.invars)
            # The arguments of a branch or a body are the last operands; buffers follow all of them.
            new = [_scoped_buffer] * (count - len(read)) if eqn.primitive is run_scoped_p else []
            pairs = zip(inner.invars, [*read, *new][-count:] if count else [], strict=False)
            yield from _reference_names(inner, {v: n for v, n in pairs if n is not None})


def _report_masked(
    log: CheckLog,
    primitive: ir.Primitive,
    ref: ir.Ref,
    forms: Sequence[Any],
    positions: Sequence[Any],
    mask: ir.Array | None,
) -> None:
    """Report positions out of bounds where a mask holds."""
    if mask is None:
        report_positions(log, primitive, ref.shape, forms, positions)
        return
    places = positions_of_elements(lax.refs.TransformedRef(ref, tuple(forms), tuple(positions)))
    for axis, place in enumerate(places or ()):
        report_axis(log, primitive, ref.shape, axis, jnp.where(mask, place, np.int32(0)))


def _load(
    log: CheckLog, primitive: ir.Primitive, operands: list[Any], params: dict[str, Any]
) -> list[Any]:
    ref, *others = operands
    flags = params["has_mask"], params["has_other"]
    (mask, _), positions = optional(others, *flags)
    _report_masked(log, primitive, ref, params["transforms"], positions, mask)
    return _bound(primitive, operands, params)


def _store(
    log: CheckLog, primitive: ir.Primitive, operands: list[Any], params: dict[str, Any]
) -> list[Any]:
    ref, _, *others = operands
    (mask,), positions = optional(others, params["has_mask"])
    _report_masked(log, primitive, ref, params["transforms"], positions, mask)
    return _bound(primitive, operands, params)


def _compare_and_swap(
    log: CheckLog, primitive: ir.Primitive, operands: list[Any], params: dict[str, Any]
) -> list[Any]:
    ref, _, _, *positions = operands
    report_positions(log, primitive, ref.shape, params["transforms"], positions)
    return _bound(primitive, operands, params)


def _run_scoped(
    log: CheckLog, primitive: ir.Primitive, operands: list[Any], params: dict[str, Any]
) -> list[Any]:
    checked = log.checked(params["jaxpr"], collapse=True)
    return log.absorb(checked, primitive.bind(*operands, **{**params, "jaxpr": checked.jaxpr}))


def _copy(
    log: CheckLog, primitive: ir.Primitive, operands: list[Any], params: dict[str, Any]
) -> list[Any]:
    forms = params["forms"]
    parts = zip(split_references(operands, forms), forms, strict=True)
    for (ref, positions), (_, transforms) in parts:
        report_positions(log, primitive, ref.shape, transforms, positions)
    return _bound(primitive, operands, params)


lax.check_rules.define(run_scoped_p, _run_scoped)
lax.check_rules.define(masked_load_p, _load)
lax.check_rules.define(masked_store_p, _store)
lax.check_rules.define(atomic_rmw_p, _store)
lax.check_rules.define(atomic_cas_p, _compare_and_swap)
lax.check_rules.define(dma_start_p, _copy)
