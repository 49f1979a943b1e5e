"""Callbacks on devices: their output, results and order, as in real JAX."""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import ricci
import ricci.numpy as jnp
from ricci import debug, lax
from ricci.experimental import io_callback
from ricci_testing import assert_same
from ricci_testing.pytest_plugin import oracle as oracle

F32 = ricci.ShapeDtypeStruct((), np.float32)


# As JAX does: the results of each program, with its output.

PREAMBLE = """
import io, contextlib
import numpy as np
io_callback = jax.experimental.io_callback
def printed(fun, *args):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        result = fun(*args)
        jax.block_until_ready(result)
        jax.effects_barrier()
    return result, out.getvalue().splitlines()
def unordered(fun, *args):
    result, lines = printed(fun, *args)
    return result, sorted(lines)
one = jax.ShapeDtypeStruct((), jnp.float32)
def pure(x, **o): return jax.pure_callback(lambda x: np.sin(x), one, x, **o)
def do(x): return io_callback(lambda x: (print("do", x), np.sin(x))[1], one, x, ordered=True)
def show(x):
    jax.debug.print("x={}", x, ordered=True)
    return x * x
def tell(x):
    jax.debug.callback(lambda x: print("tell", x), x, ordered=True)
    return jnp.sin(x)
def shout(x):
    jax.debug.print("x={x} {y}", x=x, y="s")
    return x + 1
def both(x):
    show(x), tell(x + 1)
    return do(x + 2)
@jax.custom_vjp
def watched(x): return jnp.sin(x)
def watched_fwd(x):
    jax.debug.print("there {}", x, ordered=True)
    return jnp.sin(x), x
def watched_bwd(x, ct):
    jax.debug.print("back {} {}", x, ct, ordered=True)
    return (ct * jnp.cos(x),)
watched.defvjp(watched_fwd, watched_bwd)
"""

CASES = [
    "printed(show, x)",
    "printed(jax.jit(show), x)",
    "unordered(jax.jit(both), x)",
    "unordered(jax.jit(lambda x: jax.jit(both)(jax.jit(show)(x))), x)",
    "unordered(jax.jit(lambda x: jax.vmap(shout)(x)), xs)",
    "printed(jax.vmap(show), xs)",
    "printed(jax.grad(show), x)",
    "printed(jax.grad(tell), x)",
    "printed(jax.jit(jax.grad(lambda x: tell(show(x)))), x)",
    "printed(lambda x: jax.jvp(show, (x,), (x,)), x)",
    "printed(lambda x: jax.linearize(show, x)[1](x), x)",
    "printed(jax.grad(jax.checkpoint(show)), x)",
    "printed(jax.jit(jax.grad(jax.checkpoint(tell))), x)",
    "printed(jax.grad(watched), x)",
    "printed(jax.jit(jax.vmap(jax.grad(watched))), xs)",
    "printed(lambda x: lax.scan(lambda c, x: (show(c) + x, tell(c)), x, xs), x)",
    "printed(jax.grad(lambda x: lax.scan(lambda c, x: (tell(c) + x, None), x, xs)[0]), x)",
    "printed(lambda x: lax.scan(lambda c, x: (c, show(x)), x, xs, reverse=True), x)",
    "printed(lambda x: lax.scan(lambda c, x: (c, show(x)), x, xs, unroll=2), x)",
    "printed(lambda x: lax.while_loop(lambda x: x < 3, lambda x: tell(x) + x + 1, x), x)",
    "printed(lambda x: lax.while_loop(lambda x: show(x) < 3, lambda x: x + 1, x), x)",
    "printed(lambda x: lax.while_loop(lambda x: show(x) < 3, lambda x: tell(x) + 2, x), x)",
    "printed(lambda x: lax.fori_loop(0, 3, lambda i, x: do(x) + i, x), x)",
    "printed(jax.jit(lambda x: lax.cond(x < 1, do, show, x)), x)",
    "printed(jax.jit(lambda x: lax.cond(x > 1, show, lambda x: x, x)), x)",
    "printed(jax.grad(lambda x: lax.cond(x < 1, show, lambda x: x, x)), x)",
    "printed(jax.jit(lambda x: lax.switch(1, [do, show, tell], x)), x)",
    "printed(jax.jit(lambda x: (do(x), x)[1]), x)",
    "pure(x)",
    "jax.jit(pure)(x)",
    "jax.jit(lambda x: pure(x) + pure(x + 1))(x)",
    "lax.scan(lambda c, x: (c + pure(x), c), x, xs)",
    "jax.grad(lambda x: x * pure(lax.stop_gradient(x)))(x)",
    *(
        f"jax.vmap(lambda x, y: jax.pure_callback(lambda x, y: np.sin(x) + y, one, x, y, "
        f"vmap_method={method!r}), (0, None))(xs, x)"
        for method in (
            "sequential",
            "sequential_unrolled",
            "expand_dims",
            "broadcast_all",
            "legacy_vectorized",
        )
    ),
    "jax.jit(lambda m: jax.pure_callback(lambda m: (m.T, {'n': m.sum(0)}), "
    "(jax.ShapeDtypeStruct((3, 2), m.dtype), {'n': jax.ShapeDtypeStruct((3,), m.dtype)}), m))(m)",
    "jax.jit(lambda m: jax.pure_callback(lambda m: m, m, m.astype(jnp.bfloat16)))"
    "(jnp.zeros((2, 3), jnp.bfloat16))",
    "jax.jit(lambda m: jax.pure_callback(lambda m: m > 0, jnp.zeros((2, 3), bool), m))(m)",
    "jax.jit(lambda m: jax.pure_callback(lambda m: m, m, m))(jnp.zeros((0, 3)))",
    "jax.jit(lambda m: jax.pure_callback(lambda m: m + 1j, m + 1j, m))(m)",
    "pure(x, vmap_method='bogus')",
    "jax.jit(lambda x: jax.pure_callback(lambda x: np.zeros(3), one, x))(x)",
    "jax.jit(lambda x: jax.pure_callback(lambda x: np.zeros((), int), one, x))(x)",
    "jax.pure_callback(lambda x: (x, x), one, x)",
    "jax.jit(lambda x: jax.pure_callback(lambda x: 1 / 0, one, x))(x)",
    "jax.debug.callback(lambda x: 1 / 0, x)",
    "jax.jit(lambda x: jax.debug.print('{} {}', x))(x)",
    "jax.jit(lambda x: jax.debug.print('{}', x, x))(x)",
    "jax.jit(lambda x: jax.debug.print('{y}', x=x))(x)",
]

INPUTS = {
    "x": np.float32(0.5),
    "xs": np.array([0.0, 1.0, 2.0], np.float32),
    "m": np.arange(6, dtype=np.float32).reshape(2, 3) - 2,
}


@pytest.mark.sampled(26)
@pytest.mark.parametrize("source", CASES)
def test_as_in_jax(oracle, source):
    assert_same(PREAMBLE + source, oracle=oracle, **INPUTS)


# Order


def test_order_holds_from_call_to_call():
    seen = []

    @ricci.jit
    def step(i, m):
        io_callback(lambda i: seen.append(int(i)), None, i, ordered=True)
        return m @ m / 100

    m = jnp.ones((100, 100))
    for i in range(100):
        m = step(i, m)
    ricci.effects_barrier()
    assert seen == list(range(100))


def test_order_holds_between_programs_and_eager_calls():
    seen = []
    note = lambda i: io_callback(lambda i: seen.append(int(i)), None, i, ordered=True)
    first, second = ricci.jit(note), ricci.jit(lambda i: note(i + 1))
    for i in range(0, 30, 3):
        first(i)
        second(i)
        note(i + 2)
    ricci.effects_barrier()
    assert seen == list(range(30))


def test_the_barrier_waits():
    seen = []
    work = ricci.jit(lambda m: io_callback(lambda s: seen.append(float(s)), None, (m @ m).sum()))
    work(jnp.ones((1000, 1000)))
    ricci.effects_barrier()
    assert seen == [1e9]


def test_batched_conditions_are_asked_once_an_iteration(capsys):
    """JAX asks twice, and lets examples that have ended go on if the effect is ordered."""

    def condition(x):
        debug.print("{}", x, ordered=True)
        return x < 2

    loop = ricci.vmap(lambda x: lax.while_loop(condition, lambda x: x + 1, x))
    assert loop(jnp.arange(2.0)).tolist() == [2.0, 2.0]
    ricci.effects_barrier()
    assert capsys.readouterr().out.split() == ["0.0", "1.0", "1.0", "2.0", "2.0", "2.0"]


# Callbacks that compute


@pytest.mark.parametrize("size", [1, 1000])
def test_callbacks_compute(size):
    shape = ricci.ShapeDtypeStruct((size, size), np.float32)
    inner = ricci.jit(lambda x: x @ x)
    outer = ricci.jit(lambda x: ricci.pure_callback(inner, shape, x) + x)
    x = jnp.ones((size, size))
    outs = [outer(x @ x / size) for _ in range(3)]
    assert [float(out[0, 0]) for out in outs] == [size + 1] * 3


@pytest.mark.parametrize("size", [1, 1000])
def test_ordered_effects_inside_a_callback_do_not_wait_for_the_outer_program(size):
    """An ordered effect inside of a callback does not wait for the program around it."""
    seen = []

    def note(x):
        io_callback(lambda x: seen.append(float(x)), None, x[0, 0], ordered=True)
        return x @ x

    inner = ricci.jit(note)
    outer = ricci.jit(
        lambda x: io_callback(inner, ricci.ShapeDtypeStruct(x.shape, x.dtype), x, ordered=True)
    )
    for i in range(3):
        outer(jnp.full((size, size), float(i)) @ jnp.eye(size))
    ricci.effects_barrier()
    assert seen == [0.0, 1.0, 2.0]


def test_a_callback_can_trace_and_differentiate():
    slope = lambda x: ricci.grad(lambda y: y**3)(x)
    assert float(ricci.jit(lambda x: ricci.pure_callback(slope, F32, x))(2.0)) == 12.0


def test_jaxpr_keeps_its_callbacks_alive():
    def make(number):
        return ricci.jit(lambda x: ricci.pure_callback(lambda x: x + number, F32, x))

    fun = make(np.float32(5))
    assert [float(fun(1.0)) for _ in range(3)] == [6.0] * 3


def test_callbacks_are_given_arrays():
    kinds: list[Any] = []
    ricci.jit(lambda x: debug.callback(lambda x: kinds.append(x), x))(1)
    ricci.effects_barrier()
    (x,) = kinds
    assert repr(x) == "Array(1, dtype=int32)"


# Failures


def boom(*args):
    raise ValueError("boom")


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("size", [1, 1000])
def test_failures_reach_the_user_and_the_process_goes_on(ordered, size):
    @ricci.jit
    def fail(m):
        io_callback(boom, None, m, ordered=ordered)
        return m @ m

    m = jnp.ones((size, size))
    with pytest.raises(ricci.errors.JaxRuntimeError, match="ValueError: boom"):
        fail(m @ m).block_until_ready()
    try:
        ricci.effects_barrier()
    except ricci.errors.JaxRuntimeError as error:  # what the program left to report
        assert "boom" in str(error)
    seen = []
    ricci.jit(lambda x: io_callback(lambda x: seen.append(float(x)), None, x, ordered=ordered))(3.0)
    ricci.effects_barrier()
    assert seen == [3.0]


def test_eager_failures_keep_their_cause():
    with pytest.raises(ricci.errors.JaxRuntimeError, match="boom failed. ValueError: boom") as info:
        ricci.pure_callback(boom, F32, 1.0)
    assert isinstance(info.value.__cause__, ValueError)


def test_debug_print_is_flushed_at_exit():
    program = (
        "import ricci, ricci.numpy as jnp\n"
        "ricci.jit(lambda m: ricci.debug.print('{}', (m @ m).sum()))(jnp.ones((1000, 1000)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout == "1000000000.0\n"


# Several devices


@pytest.fixture
def spread(eight_devices):
    mesh = ricci.make_mesh((8,), ("i",))
    return ricci.device_put(jnp.arange(16.0), ricci.NamedSharding(mesh, ricci.P("i")))


@pytest.mark.parametrize("ordered", [False, True])
def test_one_device_calls_with_the_whole(spread, ordered):
    seen = []

    @ricci.jit
    def fun(x):
        debug.callback(lambda x: seen.append(x.tolist()), x, ordered=ordered)
        return io_callback(lambda x: x + 1, x, x, ordered=ordered)

    assert fun(spread).tolist() == list(range(1, 17))
    ricci.effects_barrier()
    assert seen == [list(range(16))]


def test_each_device_calls_with_its_part(spread):
    seen = []
    fun = lambda x: debug.callback(lambda x: seen.append(x.tolist()), x, partitioned=True)
    ricci.jit(fun)(spread)
    ricci.effects_barrier()
    assert sorted(seen) == [[i, i + 1] for i in range(0, 16, 2)]


def test_order_holds_from_call_to_call_on_several_devices(spread):
    seen = []
    fun = ricci.jit(
        lambda x, i: io_callback(lambda x, i: seen.append(int(i)), None, x, i, ordered=True)
    )
    for i in range(20):
        fun(spread, i)
    ricci.effects_barrier()
    assert seen == list(range(20))


@pytest.mark.parametrize("count", [1, 8])
@pytest.mark.parametrize("ordered", [False, True])
def test_pmap(eight_devices, count, ordered, capsys):
    def fun(x):
        debug.print("{} {}", x, lax.axis_index("i"), ordered=ordered)
        return ricci.pure_callback(lambda x: x * 2, F32, x)

    out = ricci.pmap(fun, axis_name="i", devices=eight_devices[:count])(jnp.arange(float(count)))
    assert out.tolist() == [2.0 * i for i in range(count)]
    ricci.effects_barrier()
    lines = sorted(capsys.readouterr().out.splitlines())
    assert lines == [f"{float(i)} {i}" for i in range(count)]


def over_rows(fun, sizes):
    """A function on shards along `x`; the compiler divides work over the other axes."""
    auto = (ricci.sharding.AxisType.Auto,) * len(sizes)
    mesh = ricci.make_mesh(sizes, ("x", "y", "z")[: len(sizes)], axis_types=auto)
    spec = ricci.P("x")
    return ricci.shard_map(fun, mesh=mesh, in_specs=spec, out_specs=spec, axis_names={"x"})


@pytest.mark.parametrize("wrap", [lambda f: f, ricci.jit, lambda f: lambda x: ricci.vjp(f, x)[0]])
@pytest.mark.parametrize("sizes", [(4, 2), (2, 2, 2), (1, 8), (8, 1)])
def test_a_shard_is_shown_once_where_the_mesh_is_partly_manual(eight_devices, sizes, wrap):
    seen = []

    def fun(x):
        debug.callback(lambda x: seen.append(x.tolist()), x)
        return x + 1

    run = wrap(over_rows(fun, sizes))
    size = 16 // sizes[0]
    for _ in range(2):
        assert run(jnp.arange(16.0)).tolist() == list(range(1, 17))
        ricci.effects_barrier()
        assert sorted(seen) == [list(range(i, i + size)) for i in range(0, 16, size)]
        seen.clear()


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda x: ricci.pure_callback(lambda x: x, x, x), NotImplementedError),
        (lambda x: io_callback(lambda x: x, x, x), NotImplementedError),
        (lambda x: io_callback(lambda x: x, x, x, ordered=True), NotImplementedError),
        (lambda x: (debug.print("{}", x, ordered=True), x)[1], ValueError),
    ],
)
@pytest.mark.parametrize("wrap", [lambda f: f, ricci.jit])
def test_callbacks_with_results_are_refused_where_the_mesh_is_partly_manual(
    eight_devices, wrap, call, error
):
    run = wrap(over_rows(lambda x: call(x) if x.ndim == 1 else x * 2, (4, 2)))
    for _ in range(2):
        with pytest.raises(error, match="'y'"):
            run(jnp.arange(16.0))
        assert run(jnp.ones((8, 2))).sum() == 32


# Shardings


def test_shardings_are_told_while_compiling(spread):
    """The sharding that XLA chooses inside of an executable is expressed on its mesh."""
    seen = []

    @ricci.jit
    def fun(x):
        debug.inspect_array_sharding(x * 2, callback=seen.append)
        return x

    fun(spread)
    fun(spread)
    assert [s.spec for s in seen] == [ricci.P("i")]


@pytest.mark.parametrize("wrap", [lambda f: f, ricci.jit, ricci.grad, ricci.vmap])
def test_shardings_of_arrays(wrap):
    seen = []

    def fun(x):
        debug.inspect_array_sharding(x, callback=seen.append)
        return x.sum()

    x = jnp.arange(3.0)
    wrap(fun)(x)
    assert seen == [x.sharding]


# Functions that combine elements, by the operation that is given them.
COMBINE = {
    "reduce": lambda f: lambda x: lax.reduce(x, np.float32(0), f, (0,)),
    "reduce of a pair": lambda f: (
        lambda x: lax.reduce(
            (x, x), (np.float32(0), np.float32(0)), lambda a, b: (f(a[0], b[0]), a[1]), (0,)
        )
    ),
    "reduce_window": lambda f: lambda x: lax.reduce_window(x, np.float32(0), f, (2,)),
    "apply": lambda f: lambda x: x.at[0].apply(lambda y: f(y, y)),
}
CALLS = {
    "print": lambda a, b: [debug.print("{}", a), a + b][1],
    "ordered print": lambda a, b: [debug.print("{}", a, ordered=True), a + b][1],
    "io_callback": lambda a, b: [io_callback(lambda: None, None), a + b][1],
    "pure_callback": lambda a, b: ricci.pure_callback(np.add, F32, a, b),
    "jitted": ricci.jit(lambda a, b: ricci.pure_callback(np.add, F32, a, b)),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=list(CALLS))
@pytest.mark.parametrize("operation", COMBINE.values(), ids=list(COMBINE))
def test_functions_that_combine_elements_call_no_python(operation, call):
    fun = operation(call)
    x = jnp.ones(3)
    ricci.make_jaxpr(fun)(x)
    for run in (fun, ricci.jit(fun), lambda x: ricci.vmap(fun)(x[None])):
        with pytest.raises(NotImplementedError, match="combines elements"):
            run(x)
