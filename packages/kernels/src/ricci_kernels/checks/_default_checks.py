"""The checks of interpreted kernels that are on by default.

Blocks and indices that depend on the position alone are checked ahead, for all steps, and cost
nothing at run time. For those that depend on data, and for the counts of semaphores at the end, the
kernel gets one output more: each step writes a row, which is an error if its first number is
positive. So steps stay independent of each other.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
from ricci_kernels.blocks._grid_mapping import BlockMapping, GridMapping
from ricci_kernels.blocks._memory_spaces import MemorySpace, SemaphoreType
from ricci_kernels.blocks._programs import num_programs_p, program_id_p
from ricci_kernels.blocks._specs import Blocked, Element, squeezed
from ricci_kernels.calls._interpreter import varying_aval, varying_ref
from ricci_kernels.calls._primitive import default_checks, pallas_call_p
from ricci_lax.authoring import CheckLog, host_check_p
from ricci_lax.checkify import FailedCheckError, OOBError

from ._block_checks import first_mistake, is_known, outside_text
from ._index_checks import KernelIndexError, error_ahead, place_in_kernel
from ._semaphores import Semaphores, scratch_semaphores
from ._static_indices import IndexSurvey

__all__: list[str] = []

_behavior = ir.config.state("jax_error_checking_behavior_oob")
_FACTS = 4  # numbers of an error: the site from 1 on, the index, the axis and its size


@default_checks.provide
def _checked_program(params: Mapping[str, Any]) -> ir.Jaxpr | None:
    """The jaxpr of an interpreted call with its checks; ``None`` if no index depends on data."""
    mapping: GridMapping = params["grid_mapping"]
    if mapping.checked or _behavior.value != "kernels":
        return None
    names = ("grid_mapping", "input_output_aliases", "out_avals", "compiler_params", "name")
    key = ("default checks", *(params[name] for name in names))
    return params["jaxpr"].derived(key, lambda: _check(params))


def _check(params: Mapping[str, Any]) -> ir.Jaxpr | None:
    jaxpr, mapping = params["jaxpr"], params["grid_mapping"]
    if 0 in mapping.grid:
        return None
    mistake = first_mistake(params)
    if mistake is not None:
        raise ValueError(str(mistake))
    blocks = [m for m in mapping.block_mappings if not is_known(m, mapping.grid)]
    indices = IndexSurvey(jaxpr, mapping.grid, mapping.vmapped)
    if indices.outside is not None:
        raise _raised(error_ahead(params, indices.outside))
    log = CheckLog(frozenset({OOBError, FailedCheckError}), equations=frozenset(indices.unknown))
    checked = log.checked(jaxpr, collapse=True)
    semaphores = scratch_semaphores(params)
    if not (checked.effects or blocks or semaphores) or not params["out_avals"]:
        return None
    return _program(params, checked, blocks, semaphores)


def _raised(error: KernelIndexError) -> ValueError:
    return ValueError(f"{error}.")


class _Failure:
    """The exceptions of the rows that a checked kernel writes."""

    def __init__(
        self,
        params: Mapping[str, Any],
        sites: Sequence[Any],
        blocks: Sequence[BlockMapping],
        semaphores: Sequence[Semaphores],
    ):
        self.sites = list(sites)
        self.place = place_in_kernel(params)
        self.blocks = list(blocks)
        self.semaphores = list(semaphores)
        self.kernel: str = params["jaxpr"].debug_info.func_name

    def __call__(self, row: np.ndarray) -> Exception:
        """The exception of a row."""
        site, index, axis, size, *step = map(int, row)
        if site <= len(self.sites):
            failed = self.sites[site - 1]
            if failed.error_type is FailedCheckError:
                place = f"\nIt is at {ir.Source(*failed.source)}" if failed.source[0] else ""
                return ValueError(
                    f"debug_check of the kernel {self.kernel} failed in step {tuple(step)} of the "
                    f"grid: {failed.facts[0].format()}{place}"
                )
            payload = (np.array([index, axis, size]), np.array(step, int))
            return _raised(KernelIndexError((*failed.facts, self.place(failed.source)), payload))
        number = site - 1 - len(self.sites)
        if number >= len(self.blocks):
            _, text = self.semaphores[number - len(self.blocks)].finding(index, size)
            return ValueError(text)
        return ValueError(outside_text(self.blocks[number], self.kernel, axis, index, tuple(step)))


def _program(
    params: Mapping[str, Any],
    checked: Any,
    blocks: Sequence[BlockMapping],
    semaphores: Sequence[Semaphores],
) -> ir.Jaxpr:
    jaxpr, mapping, out_avals = params["jaxpr"], params["grid_mapping"], params["out_avals"]
    axes = ir.varying(out_avals[0])
    rank = len(mapping.grid)
    size = _FACTS + rank - mapping.vmapped
    dynamic = None in mapping.grid
    outer = () if dynamic else mapping.grid
    array_aval = ir.ShapedArray((*outer, size), np.dtype(np.int32))
    place = mapping.num_index_operands + mapping.num_inputs + mapping.num_outputs

    def index_map(*args: ir.Array) -> list[Any]:
        return [*([] if dynamic else args[:rank]), np.int32(0)]

    map_avals = [ir.ShapedArray((), np.dtype(np.int32))] * rank
    map_avals += jaxpr.in_avals[: mapping.num_index_operands]
    errors = BlockMapping(
        (*[squeezed] * len(outer), Blocked(size)),
        ir.trace_to_jaxpr(index_map, map_avals, ir.DebugInfo("index_map", "errors")),
        array_aval,
        MemorySpace.DEFAULT,
        "errors",
    )

    def kernel(*refs: ir.Ref) -> list[Any]:
        user_refs = [*refs[:place], *refs[place + 1 :]]
        positions = [program_id_p.bind(axis=a - mapping.vmapped) for a in range(rank)]
        scalars = refs[: mapping.num_index_operands]
        row = _no_error()
        for number, block in enumerate(blocks, len(checked.sites) + 1):
            row = _earlier(row, _block_row(block, number, positions, scalars))
        leaves = ir.eval_jaxpr(checked.jaxpr, checked.jaxpr.consts, *user_refs)
        # Within a shard_map, errors whose values vary along other axes are another effect.
        for effect in checked.effects:
            failed, code, *entry = leaves[: 2 + len(effect.shape_dtypes)]
            del leaves[: 2 + len(entry)]
            site = lax.select(failed, lax.add(code, np.int32(1)), np.int32(0))
            # An index, its axis and the size; a check has no numbers.
            numbers = [lax.index_in_dim(x, i, 0, False) for x in entry for i in range(3)]
            row = _earlier(row, [site, *(numbers or _no_error()[1:])])
        if semaphores:
            is_last = _is_last_step(mapping)
            for number, array in enumerate(semaphores, len(checked.sites) + len(blocks) + 1):
                counts = user_refs[array.number][...]
                # Kernels of JAX's own end with copies that nothing waits for.
                is_wrong = lax.lt if array.kind is SemaphoreType.DMA else lax.ne
                row = _earlier(row, _semaphore_row(counts, number, is_last, is_wrong))
        row = [*row, *positions[mapping.vmapped :]]
        values = lax.concatenate(
            [lax.reshape(lax.convert_element_type(x, np.int32), (1,)) for x in row], 0
        )
        if dynamic:
            before = refs[place][...]
            has_error = lax.gt(lax.index_in_dim(before, 0, 0, False), np.int32(0))
            values = lax.select(lax.full((size,), has_error), before, values)
        refs[place][...] = values
        return []

    in_avals = list(jaxpr.in_avals)
    in_avals.insert(place, varying_ref(errors.ref_aval, axes))
    maps = list(mapping.block_mappings)
    maps.append(errors)
    unbound = {name: 1 for name in axes if name not in ir.axis_sizes.value}
    with ir.extend_axes(unbound.items()):
        changed: dict[str, Any] = {
            **params,
            "jaxpr": ir.trace_to_jaxpr(kernel, in_avals, jaxpr.debug_info),
            "grid_mapping": mapping._replace(
                block_mappings=tuple(maps), num_outputs=mapping.num_outputs + 1, checked=True
            ),
            "out_avals": (*out_avals, varying_aval(array_aval, axes)),
        }
        return _call(params, changed, _Failure(params, checked.sites, blocks, semaphores))


def _call(
    params: Mapping[str, Any], changed: dict[str, Any], failure: Callable[..., Exception]
) -> ir.Jaxpr:
    """The jaxpr of the call with an output more, which is checked."""
    jaxpr, mapping = params["jaxpr"], params["grid_mapping"]
    axes = ir.varying(params["out_avals"][0])

    def run(*operands: ir.Array) -> list[Any]:
        outs: Any = pallas_call_p.bind(*operands, **changed)
        return host_check_p.bind(outs[-1], *outs[:-1], failure=failure)  # pyright: ignore

    sizes = [ir.ShapedArray((), np.dtype(np.int32))] * mapping.num_dynamic_grid_bounds
    scalars = [ref.inner_aval for ref in jaxpr.in_avals[: mapping.num_index_operands]]
    inputs = [m.array_aval for m in mapping.block_mappings[: mapping.num_inputs]]
    avals = [varying_aval(aval, axes) for aval in (*sizes, *scalars, *inputs)]
    return ir.trace_to_jaxpr(run, avals, jaxpr.debug_info)


def _no_error() -> list[Any]:
    return [np.int32(0)] * _FACTS


def _earlier(first: list[Any], second: list[Any]) -> list[Any]:
    """The first of two rows that is an error."""
    if type(first[0]) is np.int32 and not first[0]:
        return second
    failed = lax.gt(first[0], np.int32(0))
    return [lax.select(failed, a, b) for a, b in zip(first, second, strict=True)]


def _is_last_step(mapping: GridMapping) -> ir.Array:
    result: Any = np.bool_(True)
    for axis, size in enumerate(mapping.grid, -mapping.vmapped):
        count: Any = num_programs_p.bind(axis=axis) if size is None else np.int32(size)
        last = lax.eq(program_id_p.bind(axis=axis), lax.sub(count, np.int32(1)))
        result = lax.bitwise_and(result, last)
    return result


def _semaphore_row(
    counts: ir.Array, number: int, is_last: ir.Array, is_wrong: Callable[[Any, Any], Any]
) -> list[Any]:
    """A row, which is an error if the count of a semaphore is wrong after the last step."""
    counts = lax.reshape(counts, (counts.size,))
    zeros = lax.full(counts.shape, 0, counts.dtype)
    place = lax.argmax(is_wrong(counts, zeros), 0, np.int32)
    count = lax.squeeze(lax.dynamic_slice(counts, [place], (1,)), [0])
    is_left = lax.bitwise_and(is_last, is_wrong(count, np.int32(0)))
    return [lax.select(is_left, np.int32(number), np.int32(0)), place, np.int32(0), count]


def _block_row(
    block: BlockMapping, number: int, positions: Sequence[Any], scalars: Sequence[Any]
) -> list[Any]:
    """A row, which is an error if a block has no element of its array."""
    program = block.index_map_jaxpr
    index = ir.eval_jaxpr(program, program.consts, *positions, *scalars)
    row = _no_error()
    dims = zip(index, block.block_shape, block.sizes, block.array_aval.shape, strict=True)
    for axis, (i, dim, size, length) in enumerate(dims):
        start = i if isinstance(dim, Element) or size == 1 else lax.mul(i, np.int32(size))
        before = lax.lt(start, np.int32(0))
        behind = lax.ge(start, np.int32(block.ends[axis]))
        site = lax.select(lax.bitwise_or(before, behind), np.int32(number), np.int32(0))
        row = _earlier(row, [site, start, np.int32(axis), np.int32(length)])
    return row
