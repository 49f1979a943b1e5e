"""Interpreted kernels are checked by default: mistakes raise, and correct kernels do not."""

import numpy as np
import pytest

pytest.importorskip("ricci_xla", reason="kernels are run")

import ricci_ir as ir
import ricci_kernels as pl
import ricci_lax as lax
import ricci_numpy as jnp
from ricci_autodiff import grad, jvp
from ricci_batching import vmap
from ricci_kernels import tpu as pltpu
from ricci_kernels import triton as plgpu
from ricci_kernels.calls._primitive import default_checks
from ricci_kernels.tools import check
from ricci_xla import jit

F32 = np.float32
X = np.arange(24, dtype=F32).reshape(6, 4)
behavior = ir.config.state("jax_error_checking_behavior_oob")
WAYS = {
    "eager": lambda f, *args: f(*args),
    "jit": lambda f, *args: jit(f)(*args),
    "vmap": lambda f, i, x: vmap(f, in_axes=(0, None))(jnp.stack([0 * i, i]), x),
    "vmap of the array": lambda f, i, x: vmap(f, in_axes=(None, 0))(i, jnp.stack([x, x])),
    "jvp": lambda f, i, x: jvp(lambda x: f(i, x), (x,), (x,)),
    "grad": lambda f, i, x: grad(lambda x: f(i, x).sum())(x),
    "jit of grad": lambda f, i, x: jit(grad(lambda x, i: f(i, x).sum()))(x, i),
    "grad of vmap": lambda f, i, x: grad(
        lambda x: vmap(f, in_axes=(0, None))(jnp.stack([0 * i, i]), x).sum()
    )(x),
    "scan": lambda f, i, x: jit(
        lambda i, x: lax.scan(lambda c, _: (c + f(i, x).sum(), None), F32(0), None, length=2)
    )(i, x),
    "cond": lambda f, i, x: jit(
        lambda i, x: lax.cond(x.sum() > 0, lambda: f(i, x).sum(), lambda: F32(0))
    )(i, x),
    "checkpoint": lambda f, i, x: jit(grad(lax.checkpoint(lambda x: f(i, x).sum())))(x),
}


def rows(index_map):
    return pl.BlockSpec((2, 4), index_map)


def call(body, grid=3, inputs=None, outputs=None, **options):
    """A call with an operand of indices and a matrix; by default each step writes two rows."""
    out = ir.ShapeDtypeStruct((6, 4), F32)
    outputs = rows(lambda i: (i, 0)) if outputs is None else outputs
    specs = [pl.BlockSpec(), pl.BlockSpec() if inputs is None else inputs]
    return pl.pallas_call(
        body, out, grid=grid, in_specs=specs, out_specs=outputs, interpret=True, **options
    )


def prefetched(body, index_map, size=2):
    spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=1,
        grid=(3,),
        in_specs=[pl.BlockSpec((size, 4), index_map)],
        out_specs=rows(lambda i, order: (i, 0)),
    )
    out = ir.ShapeDtypeStruct((6, 4), F32)
    return pl.pallas_call(body, out, grid_spec=spec, interpret=True)


def copy(i, x, out):
    out[...] = x[...]


def window(i, x, out):
    out[...] = x[pl.ds(i[pl.program_id(0)], 2), :]


# By name: a call, indices with which it is right, others, and the message.
BY_DATA = {
    "a read": (call(window), [0, 4, 1], [0, 5, 1], r"2 elements from 5 .*args\[1\].*step \(1,\)"),
    "a block": (
        prefetched(copy, lambda i, order: (order[i], 0)),
        [2, 1, 0],
        [0, 3, 1],
        r"args\[0\] .*blocks of \[(1, )?2, 4\].*step \(1,\) the block begins at 6 along",
    ),
    "a negative block": (
        prefetched(copy, lambda i, order: (order[i], 0)),
        [2, 1, 0],
        [0, 1, -1],
        r"step \(2,\) the block begins at -2 along .* is before",
    ),
    "an element": (
        prefetched(
            lambda i, x, out: out.__setitem__(..., x[1:]),
            lambda i, order: (order[i], 0),
            pl.Element(3, (1, 1)),
        ),
        [2, 7, 0],
        [8, 1, 1],
        r"args\[0\] .*step \(0,\) the block begins at 8 along",
    ),
}


@pytest.mark.sampled(13)  # of 44, among them every way
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", BY_DATA)
def test_indices_from_data_raise_in_every_way(name, way):
    run, right, wrong, message = BY_DATA[name]
    for _ in range(2):
        WAYS[way](run, np.int32(right), X)
        with pytest.raises(ValueError, match=message):
            WAYS[way](run, np.int32(wrong), X)
    WAYS[way](run, np.int32(right), X)


def static(i, x, out):
    out[...] = x[pl.ds(3 * pl.program_id(0), 2), :]


def counted(i, x, out):
    def body(k, total):
        return total + x[pl.program_id(0) * 2 + k, :]

    out[...] = jnp.broadcast_to(lax.fori_loop(0, 3, body, jnp.zeros(4, F32)), (2, 4))


def accumulate(i, x, out):
    @pl.when(pl.program_id(0) == 0)
    def _():
        out[...] = jnp.zeros_like(out)

    out[...] += x[...]


PARALLEL = {"compiler_params": pltpu.CompilerParams(dimension_semantics=["parallel"])}
# By name: a call that is wrong for all data, and the message.
AHEAD = {
    "a position": (call(static), r"elements from 6 .*args\[1\] of the kernel static.*step \(2,\)"),
    "a counter": (call(counted), r"index 6 is out of .*args\[1\] .*counted.*step \(2,\)"),
    "past the end": (call(copy, inputs=rows(lambda i: (i + 1, 0))), r"step \(2,\) .*6, 0\)"),
    "negative": (call(copy, inputs=rows(lambda i: (i - 1, 0))), r"-2, 0\).*before its first"),
    "ahead of the padding": (
        call(copy, inputs=pl.BlockSpec((pl.Element(2, (1, 1)), 4), lambda i: (2 * i - 1, 0))),
        r"-1, 0\).*before its first",
    ),
    "behind the padding": (
        call(copy, inputs=pl.BlockSpec((pl.Element(2, (1, 1)), 4), lambda i: (4 * i, 0))),
        r"step \(2,\) .*8, 0\).*behind its end",
    ),
    "not written beside the padding": (
        call(
            lambda i, x, out: out.__setitem__(..., jnp.zeros((3, 4))),
            grid=2,
            outputs=pl.BlockSpec((pl.Element(3, (2, 0)), 4), lambda i: (5 * i, 0)),
        ),
        r"writes the element .*1, 0\)",
    ),
    "not written": (
        call(copy, grid=2, inputs=rows(lambda i: (i, 0))),
        r"outputs .*no step of the grid \(2,\) writes the element .*4, 0\)",
    ),
    "written again": (
        call(
            accumulate,
            grid=(2, 3),
            inputs=rows(lambda i, j: (j, 0)),
            outputs=rows(lambda i, j: (j, 0)),
        ),
        r"outputs .*step \(1, 0\) the block at .*0, 0\) is written again",
    ),
    "in parallel": (
        call(window, outputs=rows(lambda i: (i // 2, 0)), **PARALLEL),
        r"steps \(0,\) and \(1,\) write the block at .*0, 0\)",
    ),
    "read ahead": (
        call(lambda i, x, out: out.addupdate(x[...]), inputs=rows(lambda i: (i, 0))),
        r"outputs .*nothing was written to it",
    ),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", AHEAD)
def test_mistakes_that_no_data_changes_raise_in_every_way(name, way):
    run, message = AHEAD[name]
    for _ in range(2):
        with pytest.raises(ValueError, match=message) as error:
            WAYS[way](run, np.zeros(3, np.int32), X)
        assert "test_default_checks.py:" in str(error.value)
        assert str(error.value).count("\n") < 12
    with behavior("ignore"):
        jit(run)(np.zeros(3, np.int32), X)


@pytest.mark.parametrize("name", ["a position", "a counter"])
def test_check_finds_indices_of_the_position_without_data(name):
    types = ir.ShapeDtypeStruct((3,), np.int32), ir.ShapeDtypeStruct((6, 4), F32)
    run, _ = AHEAD[name]
    for args in (types, (np.zeros(3, np.int32), X)):
        (finding,) = check(run, *args)
        assert (finding.kind, finding.operand, finding.step) == (
            "index out of bounds",
            "args[1]",
            (2,),
        )


def guarded(i, x, out):
    step = pl.program_id(0)
    out[...] = jnp.zeros_like(out)

    @pl.when(step > 0)
    def _():
        out[0, :] = x[step * 2 - 1, :]

    @pl.when(i[0] > 5)
    def _():
        out[0, :] = x[step * 9, :]


def masked(i, x, out):
    at = 3 * pl.program_id(0) + jnp.arange(2)
    out[0, :] = jnp.zeros(4, F32)
    out[1, :] = jnp.zeros(4, F32)
    out[0, :2] = plgpu.load(x.at[at, jnp.arange(2)], mask=at < 6, other=0.0)


def selected(i, x, out):
    # Positions that wrap are within bounds, as are those of a value, which are clamped.
    step = pl.program_id(0)
    out[...] = jnp.broadcast_to(x[(step + 4) % 6, :] + x[...][step + 5], (2, 4))


def countdown(i, x, out):
    total = lax.scan(
        lambda c, _: ((c[0] - 1, c[1] + x[c[0], :]), None), (5, jnp.zeros(4, F32)), None, length=6
    )[0][1]
    out[...] = jnp.broadcast_to(total, (2, 4))


RIGHT = {
    "guarded": call(guarded),
    "masked": call(masked),
    "selected": call(selected),
    "countdown": call(countdown),
    "partial blocks": call(
        copy,
        grid=2,
        inputs=pl.BlockSpec((4, 4), lambda i: (i, 0)),
        outputs=pl.BlockSpec((4, 4), lambda i: (i, 0)),
    ),
    "padded elements": call(
        lambda i, x, out: out.__setitem__(..., x[:2] + x[2:]),
        inputs=pl.BlockSpec((pl.Element(4, (1, 1)), 4), lambda i: (2 * i, 0)),
    ),
    # Indices count from the padding: these blocks begin at the elements 5, 2 and -1.
    "elements with more padding": call(
        lambda i, x, out: out.__setitem__(..., jnp.broadcast_to(x[2], (2, 4))),
        inputs=pl.BlockSpec((pl.Element(3, (2, 2)), 4), lambda i: (7 - 3 * i, 0)),
    ),
    "no steps": call(static, grid=0),
    "overwritten again": call(
        copy, grid=(2, 3), inputs=rows(lambda i, j: (j, 0)), outputs=rows(lambda i, j: (j, 0))
    ),
    "aliased": call(copy, grid=1, inputs=rows(lambda i: (i, 0)), input_output_aliases={1: 0}),
}


@pytest.mark.parametrize("x64", [False, True])
@pytest.mark.parametrize("name", RIGHT)
def test_correct_kernels_do_not_raise(name, x64):
    with ir.enable_x64(x64):
        indices = np.zeros(3, np.int32)
        out = RIGHT[name](indices, X)
        with behavior("ignore"):
            np.testing.assert_array_equal(out, jit(RIGHT[name])(indices, X))


@pytest.mark.parametrize("x64", [False, True])
def test_a_grid_of_traced_size_is_checked(x64):
    with ir.enable_x64(x64):
        run = jit(lambda n, i: call(window, grid=(n,))(i, X))
        assert run(2, np.int32([0, 4, 9])).shape == (6, 4)
        with pytest.raises(ValueError, match=r"2 elements from 9 .*step \(2,\)"):
            run(3, np.int32([0, 4, 9]))
        with pytest.raises(ValueError, match=r"2 elements from 7 .*step \(1,\)"):
            run(3, np.int32([0, 7, 9]))


def test_results_that_are_not_used_are_not_checked():
    run, _, wrong, _ = BY_DATA["a read"]
    assert float(jit(lambda i, x: (run(i, x), x.sum())[1])(np.int32(wrong), X)) == X.sum()


def test_functions_that_are_lowered_ahead_are_not_checked():
    run, right, wrong, message = BY_DATA["a read"]
    fun = jit(run)
    compiled = fun.lower(np.int32(right), X).compile()
    assert compiled(np.int32(wrong), X).shape == (6, 4)
    with pytest.raises(ValueError, match=message):
        fun(np.int32(wrong), X)


def test_an_inner_setting_holds_for_its_calls():
    run, _, wrong, message = BY_DATA["a read"]

    def fun(i, x):
        with behavior("ignore"):
            return run(i, x)

    assert jit(fun)(np.int32(wrong), X).shape == (6, 4)
    with pytest.raises(ValueError, match=message):
        jit(run)(np.int32(wrong), X)
    with behavior("ignore"):
        assert jit(run)(np.int32(wrong), X).shape == (6, 4)


def checked_program(run):
    """The program of a call with checks at run time, or None if it needs none."""
    jaxpr = ir.trace_to_jaxpr(
        lambda i, x: [run(i, x)], [ir.ShapedArray((3,), np.int32), ir.ShapedArray(X.shape, F32)]
    )
    (eqn,) = jaxpr.eqns
    return default_checks.call(eqn.params)


@pytest.mark.parametrize("name", RIGHT)
def test_indices_that_are_known_ahead_are_not_checked_at_run_time(name):
    assert (checked_program(RIGHT[name]) is None) == (name not in ("guarded", "masked"))


def copied(i, x, out, sem):
    copy = pltpu.make_async_copy(x, out, sem)
    copy.start()
    copy.wait()
    # Whether something else waits for it depends on data.
    pl.when(i[0] == 1)(copy.wait)


def signalled(i, x, out, sem):
    out[...] = x[...]
    pl.semaphore_signal(sem.at[1], 2)
    pl.when(i[0] == 0)(lambda: pl.semaphore_wait(sem.at[1], 2))


SEMAPHORES = {
    "copy": (
        copied,
        pltpu.SemaphoreType.DMA,
        r"scratch_shapes\[0\]\[0\] .*copied.* the count -\d+, of which",
    ),
    "signal": (
        signalled,
        pltpu.SemaphoreType.REGULAR((3,)),
        r"scratch_shapes\[0\]\[1\] .*signalled.* the count \d+, of which",
    ),
}


@pytest.mark.sampled(11)  # of 22: every way, each for one of the two
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", SEMAPHORES)
def test_semaphores_that_are_not_0_at_the_end_raise_in_every_way(name, way):
    body, scratch, message = SEMAPHORES[name]
    run = call(body, inputs=rows(lambda i: (i, 0)), scratch_shapes=[scratch])
    right, wrong = np.zeros(3, np.int32), np.ones(3, np.int32)
    for _ in range(2):
        WAYS[way](run, right, X)
        with pytest.raises(ValueError, match=message):
            WAYS[way](run, wrong, X)
    np.testing.assert_array_equal(run(right, X), X)


def test_a_traced_grid_is_checked_for_semaphores_after_its_last_step():
    run = lambda i, x, n: call(
        copied, n, rows(lambda i: (i, 0)), scratch_shapes=[pltpu.SemaphoreType.DMA]
    )(i, x)
    right, wrong = np.zeros(3, np.int32), np.ones(3, np.int32)
    np.testing.assert_array_equal(jit(run)(right, X, 3), X)
    with pytest.raises(ValueError, match="the count -24, of which a next call would begin"):
        jit(run)(wrong, X, 3)


def test_a_copy_at_the_end_that_nothing_waits_for_is_found_by_check_alone():
    def started(i, x, out, sem):
        pltpu.make_async_copy(x, out, sem).start()

    run = call(started, inputs=rows(lambda i: (i, 0)), scratch_shapes=[pltpu.SemaphoreType.DMA])
    args = np.zeros(3, np.int32), X
    np.testing.assert_array_equal(run(*args), X)
    (finding,) = check(run, *args)
    assert finding.kind == "copy not waited for"
