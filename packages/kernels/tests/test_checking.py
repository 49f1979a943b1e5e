"""Checks of kernels: each mistake is found, with operand, block, step and line; none in others."""

import re

import numpy as np
import pytest

pytest.importorskip("ricci_xla", reason="index maps are evaluated")

import ricci_ir as ir
import ricci_kernels as pl
import ricci_lax as lax
import ricci_numpy as jnp
from ricci_batching import vmap
from ricci_kernels import tpu as pltpu
from ricci_kernels.tools import check

F32 = np.float32
X = ir.ShapeDtypeStruct((8, 4), F32)
PARALLEL = {"compiler_params": pltpu.CompilerParams(dimension_semantics=["parallel"])}
PARALLEL_ROWS = {
    "compiler_params": pltpu.CompilerParams(dimension_semantics=["parallel", "arbitrary"])
}


def rows(index_map):
    return pl.BlockSpec((2, 4), index_map)


IDENTITY = rows(lambda i: (i, 0))


def kernel(*refs):
    refs[-1][...] = refs[0][...]


def call(grid=4, inputs=IDENTITY, outputs=IDENTITY, body=kernel, **options):
    return pl.pallas_call(
        body, X, grid=grid, in_specs=[inputs], out_specs=outputs, interpret=True, **options
    )


# By name: the call, the kind, the operand, the step, and a part of the message.
WRONG = {
    "negative": (
        call(inputs=rows(lambda i: (i - 1, 0))),
        ("negative index", "args[0]", (0,)),
        r"step \(0,\) the block begins at \(-2, 0\).*before its first element along dimension 0",
    ),
    "past the end": (
        call(inputs=rows(lambda i: (i + 2, 0))),
        ("past the end", "args[0]", (2,)),
        r"begins at \(8, 0\).*behind its end",
    ),
    "elements past the end": (
        call(inputs=pl.BlockSpec((pl.Element(2), 4), lambda i: (3 * i, 0))),
        ("past the end", "args[0]", (3,)),
        r"begins at \(9, 0\)",
    ),
    "a grid that is too large": (call(grid=5), ("past the end", "args[0]", (4,)), r"\(8, 0\)"),
    "a grid that is too small": (
        call(grid=3),
        ("not written", "outputs", None),
        r"no step of the grid \(3,\) writes the element \(6, 0\)",
    ),
    "no steps": (call(grid=0), ("not written", "outputs", None), r"the element \(0, 0\)"),
    "written again": (
        call(grid=(2, 4), inputs=rows(lambda i, j: (j, 0)), outputs=rows(lambda i, j: (j, 0))),
        ("written again", "outputs", (1, 0)),
        r"block at \(0, 0\) is written again, after others since step \(0, 0\)",
    ),
    "in parallel": (
        call(outputs=pl.BlockSpec((8, 4), lambda i: (0, 0)), body=lambda x, o: None, **PARALLEL),
        ("parallel writes", "outputs", (1,)),
        r"steps \(0,\) and \(1,\) write the block at \(0, 0\)",
    ),
}
RIGHT = {
    "rows": call(),
    "a sum": call(grid=(4, 2), inputs=rows(lambda i, j: (i, 0)), outputs=rows(lambda i, j: (i, 0))),
    "a sum, in parallel": call(
        grid=(4, 2),
        inputs=rows(lambda i, j: (i, 0)),
        outputs=rows(lambda i, j: (i, 0)),
        **PARALLEL_ROWS,
    ),
    "blocks over the end": pl.pallas_call(
        kernel,
        X,
        grid=3,
        in_specs=[pl.BlockSpec((3, 4), lambda i: (i, 0))],
        out_specs=pl.BlockSpec((3, 4), lambda i: (i, 0)),
        interpret=True,
    ),
    "padded windows": call(inputs=pl.BlockSpec((pl.Element(2, (1, 1)), 4), lambda i: (2 * i, 0))),
    "aliased": call(grid=2, input_output_aliases={0: 0}),
    "compiled": pl.pallas_call(kernel, X),
    "a batch": lambda x: vmap(call(), out_axes=0)(jnp.stack([x, x])),
}


def in_order():
    """A call whose index map reads a prefetched order."""
    spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=1,
        grid=4,
        in_specs=[pl.BlockSpec((2, 4), lambda i, order: (order[i], 0))],
        out_specs=pl.BlockSpec((2, 4), lambda i, order: (i, 0)),
    )
    return pl.pallas_call(lambda order, x, o: None, X, grid_spec=spec, interpret=True)


@pytest.mark.parametrize("name", WRONG)
def test_a_mistake_is_found_with_operand_block_step_and_line(name):
    run, expected, message = WRONG[name]
    findings = {(x.kind, x.operand, x.step): x for x in check(run, X)}
    assert expected in findings
    text = str(findings[expected])
    assert re.search(message, text), text
    assert re.search(r"test_checking.py:\d+, blocks of \[\d, 4\] of float32\[8,4\]", text), text
    if "index" in expected[0] or "end" in expected[0]:
        assert re.search(r"The index map is .*test_checking.py:\d+\.$", text), text


@pytest.mark.parametrize("name", RIGHT)
def test_nothing_is_found_in_kernels_that_are_right(name):
    assert check(RIGHT[name], X) == []
    assert check(RIGHT[name], np.zeros(X.shape, F32)) == []


def test_scalars_that_index_maps_read_are_followed():
    run = in_order()
    assert check(run, np.int32([3, 2, 1, 0]), X) == []
    (finding,) = check(run, np.int32([3, 2, 9, -1]), X)[:1]
    assert (finding.kind, finding.step) == ("negative index", (3,))
    with pytest.raises(ValueError, match="unknown value"):
        check(run, ir.ShapeDtypeStruct((4,), np.int32), X)


def accumulate(x, out, total):
    total[...] += x[...]
    out[...] = total[...]


def accumulate_selected(x, out, total):
    total[...] = jnp.where(pl.program_id(0) == 0, x[...], total[...] + x[...])
    out[...] = total[...]


def accumulate_from_zero(x, out, total):
    @pl.when(pl.program_id(0) == 0)
    def _():
        total[...] = jnp.zeros_like(total)

    accumulate(x, out, total)


def accumulate_from_zero_late(x, out, total):
    @pl.when(pl.program_id(0) == 1)
    def _():
        total[...] = jnp.zeros_like(total)

    accumulate(x, out, total)


def accumulate_in_branches(x, out, total):
    step = pl.program_id(0)
    out[...] = x[...]

    @pl.when(step < 2)
    def _():
        @pl.when(2 * step + 1 == 1)
        def _():
            total[...] += x[...]


def emit_in_first_step(x, out, total):
    out[...] = x[...]

    @pl.when(pl.program_id(0) == 0)
    def _():
        out[...] = total[...] * 2


def emit_after_first_step(x, out, total):
    out[...] = x[...]

    @pl.when(pl.program_id(0) > 0)
    def _():
        out[...] = total[...] * 2

    total[...] = x[...]


def accumulate_from_zero_by_data(x, out, total):
    @pl.when(x[0, 0] > 0)
    def _():
        total[...] = jnp.zeros_like(total)

    accumulate(x, out, total)


def select_in_branches(x, out, total):
    first = pl.program_id(0) == 0
    before = lax.cond(first, lambda: total[...] * 2, lambda: x[...])
    out[...] = jnp.where(first, x[...], before)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (accumulate, ["scratch_shapes[0]"]),
        (accumulate_from_zero_late, ["scratch_shapes[0]"]),
        (accumulate_in_branches, ["scratch_shapes[0]"]),
        (emit_in_first_step, ["scratch_shapes[0]"]),
        (emit_after_first_step, []),
        (accumulate_from_zero_by_data, []),
        (select_in_branches, []),
        (lambda x, out, total: out.__setitem__(..., out[...] * 2), ["outputs"]),
        (lambda x, out, total: out.addupdate(x[...]), ["outputs"]),
        (accumulate_selected, []),
        (accumulate_from_zero, []),
        (lambda x, out, total: out.__setitem__(..., jnp.zeros_like(total)), []),
    ],
)
def test_reads_ahead_of_any_write_are_found(body, expected):
    scratch = pltpu.VMEM((2, 4), F32)
    run = call(body=body, scratch_shapes=[scratch])
    findings = check(run, X)
    assert [x.operand for x in findings] == expected
    for finding in findings:
        assert finding.kind == "read before written"
        assert re.search(r"test_checking.py:\d+.*nothing was written to it", str(finding))
    empty = call(grid=0, body=body, scratch_shapes=[scratch])
    assert [x.kind for x in check(empty, X)] == ["not written"]


def test_an_output_that_begins_with_an_input_may_be_read():
    body = lambda x, out: out.addupdate(x[...])
    assert check(call(body=body, input_output_aliases={0: 0}), X) == []


def copying(body, kinds):
    anywhere = pl.BlockSpec(memory_space=pl.ANY)
    return pl.pallas_call(
        body,
        X,
        grid=2,
        in_specs=[anywhere],
        out_specs=anywhere,
        scratch_shapes=kinds,
        interpret=True,
    )


def test_copies_that_nothing_waits_for_are_found():
    def body(x, out, sems):
        first = pltpu.make_async_copy(x.at[:4], out.at[:4], sems.at[0])
        second = pltpu.make_async_copy(x.at[4:], out.at[4:], sems.at[1])
        first.start()
        second.start()
        first.wait()

        @pl.when(pl.program_id(0) == 0)
        def _():
            second.wait()

    (finding,) = check(copying(body, [pltpu.SemaphoreType.DMA((2,))]), np.zeros((8, 4), F32))
    assert (finding.kind, finding.operand) == ("copy not waited for", "scratch_shapes[0]")
    assert re.search(
        r"\[1\] of the kernel body at .*test_checking.py:\d+.*16 elements", str(finding)
    )


def test_semaphores_that_are_left_are_found():
    def body(x, out, sem, other):
        pltpu.sync_copy(x, out)
        pl.semaphore_signal(sem, 2)
        pl.semaphore_wait(sem, 1)
        pl.semaphore_signal(other, 1)
        pl.semaphore_wait(other, 1)

    kinds = [pltpu.SemaphoreType.REGULAR] * 2
    (finding,) = check(copying(body, kinds), np.zeros((8, 4), F32))
    assert (finding.kind, finding.operand) == ("semaphore left", "scratch_shapes[0]")
    assert "the count 2" in str(finding)


def test_a_function_without_kernels_is_refused():
    with pytest.raises(ValueError, match="calls no kernel"):
        check(lambda x: x + 1, X)
