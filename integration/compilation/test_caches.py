"""Caches of the whole: what ``clear_caches`` frees, that all works afterwards, and their bounds."""

import gc
import os
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import ricci
import ricci.numpy as jnp
from ricci import debug, lax
from ricci_ir import Cache, cache_sizes


class Model:
    """A solver whose method is the body of a loop."""

    def __init__(self, rate):
        self.rate = rate

    def step(self, carry, x):
        return carry * self.rate + x, carry


@ricci.custom_jvp
def squared(x):
    return x * x


squared.defjvp(lambda primals, tangents: (squared(primals[0]), 2 * primals[0] * tangents[0]))


@ricci.custom_vjp
def cubed(x):
    return x * x * x


cubed.defvjp(lambda x: (cubed(x), x), lambda x, ct: (3 * x * x * ct,))


def _body(carry, x):
    return carry + x, carry


USES = {
    "operator": lambda x: x + x,
    "row": lambda x: x[1],
    "slice": lambda x: x[1:3],
    "gather": lambda x: x[jnp.array([0, 2])],
    "at": lambda x: x.at[1].add(2.0),
    "apply": lambda x: x + lax.stop_gradient(x).at[1].apply(jnp.sin),
    "ufunc": lambda x: jnp.sin(x),
    "sum": lambda x: jnp.sum(x),
    "var": lambda x: jnp.var(x),
    "sort": lambda x: jnp.sort(x),
    "product": lambda x: x @ x,
    "einsum": lambda x: jnp.einsum("i,i->", x, x),
    "where": lambda x: jnp.where(x > 1, x, 0.0),
    "solve": lambda x: jnp.linalg.solve(jnp.eye(4) + x * x[:, None], x),
    "custom_jvp": squared,
    "custom_vjp": cubed,
    "scan": lambda x: lax.scan(_body, jnp.float32(0), x)[1],
    "method": lambda x: lax.scan(Model(2.0).step, jnp.float32(0), x)[1],
    "while": lambda x: lax.fori_loop(0, 3, lambda i, y: y * 2, x),
    "cond": lambda x: lax.cond(x[0] > 0, jnp.sin, jnp.cos, x),
    "checkpoint": lambda x: ricci.checkpoint(jnp.sin)(x),
    "normal": lambda x: x + ricci.random.normal(ricci.random.key(0), (4,)),
    "top_k": lambda x: lax.approx_max_k(x, 2)[0],
    "softmax": lambda x: ricci.nn.softmax(x),
}
if os.environ.get("RICCI_SAMPLE"):
    LEFT_OUT = ("slice", "sum", "einsum", "where", "while", "checkpoint", "top_k", "softmax")
    USES = {name: use for name, use in USES.items() if name not in LEFT_OUT}
DATA = np.array([3.0, 1.0, 2.0, 5.0], np.float32)


def _values(f, x):
    """The value of a function and of its gradient, called in several ways."""
    total = lambda x: jnp.sum(f(x))
    return [f(x), ricci.grad(total)(x), ricci.jit(ricci.value_and_grad(total))(x)[1]]


def _executables():
    gc.collect()
    return len(ricci.devices()[0].client.live_executables())


@pytest.mark.frees_executables
@pytest.mark.sampled(1)
@pytest.mark.parametrize("x64", [False, True])
def test_clearing_frees_every_executable_and_all_works_afterwards(x64):
    ricci.clear_caches()
    of_others = _executables()  # that a test before this one may still hold
    with ricci.enable_x64(x64):
        x = jnp.asarray(DATA)
        before = {name: _values(use, x) for name, use in USES.items()}
        for use in USES.values():
            for _ in range(3):  # NumPy computed the first call
                use(x)
        assert _executables() > of_others + 30
        ricci.clear_caches()
        assert _executables() <= of_others
        assert {name: size.entries for name, size in cache_sizes().items() if size.entries} == {}
        for name, use in USES.items():
            compiled = ricci.jit(use)(x)  # traced before it is called eagerly this time
            np.testing.assert_allclose(compiled, before[name][0], rtol=1e-6, err_msg=name)
            for one, other in zip(before[name], _values(use, x), strict=True):
                np.testing.assert_array_equal(one, other, err_msg=name)


def test_other_threads_may_clear_while_programs_run():
    x = jnp.asarray(DATA)
    uses = [USES[name] for name in ("row", "gather", "at", "var", "scan", "custom_vjp", "normal")]
    expected = [np.asarray(use(x)) for use in uses]

    def run(i):
        for _ in range(6):
            for use, value in zip(uses, expected, strict=True):
                np.testing.assert_array_equal(use(x), value)
                np.testing.assert_array_equal(ricci.jit(use)(x), value)
            if i == 0:
                ricci.clear_caches()

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(run, range(3)))


def test_a_compiled_program_of_the_users_outlives_clearing():
    compiled = ricci.jit(lambda x: x * 2).lower(jnp.asarray(DATA)).compile()
    ricci.clear_caches()
    np.testing.assert_array_equal(compiled(jnp.asarray(DATA)), DATA * 2)


# Growth


def _lower_limits(monkeypatch, limit):
    """Give all caches that are made, and all that are there, a low limit."""
    ricci.clear_caches()
    make = Cache.__init__
    monkeypatch.setattr(
        Cache, "__init__", lambda self, name, most: make(self, name, min(most, limit))
    )
    found = [x for x in gc.get_objects() if isinstance(x, Cache)]
    before = [cache.limit for cache in found]
    for cache in found:
        cache.limit = min(cache.limit, limit)
    return lambda: [setattr(c, "limit", b) for c, b in zip(found, before, strict=True)]


@pytest.fixture
def low_limit(monkeypatch):
    """A limit of 8 entries for every cache."""
    restore = _lower_limits(monkeypatch, 8)
    yield 8
    restore()
    ricci.clear_caches()


def _operations(x):
    y = jnp.sin(x[1:]) * 2.0 + jnp.var(x)
    return jnp.sum(y @ y) + cubed(squared(x[0])) + lax.scan(_body, x[0], x)[0]


def test_tracing_many_shapes_does_not_grow_the_caches(low_limit):
    f = ricci.jit(_operations)
    for n in range(2, 60):
        x = np.ones(n, np.float32)
        ricci.make_jaxpr(ricci.grad(_operations))(x)
        f.eval_shape(x)
    sizes = cache_sizes()
    assert all(size.entries <= size.caches * low_limit for size in sizes.values())
    grown = {name for name, size in sizes.items() if size.dropped}
    assert {"array types", "composite functions", "types of results", "programs of jit"} <= grown


def test_programs_of_shapes_that_were_dropped_are_freed(low_limit):
    f = ricci.jit(lambda x: x * 2)
    watch = []
    for n in range(60):
        watch.append(weakref.ref(f.trace(np.ones(n, np.float32)).jaxpr))
    gc.collect()
    assert sum(reference() is not None for reference in watch) <= low_limit
    for n in (0, 30, 59):
        assert f(np.ones(n, np.float32)).shape == (n,)


def test_calls_are_right_when_caches_overflow(low_limit):
    expected = [float(_operations(jnp.arange(n, dtype=jnp.float32))) for n in (2, 12)]
    for _ in range(2):
        for n in range(2, 13):
            found = float(_operations(jnp.arange(n, dtype=jnp.float32)))
            if n in (2, 12):
                assert found == expected[n == 12]


def test_a_shape_in_use_is_traced_once_whatever_else_is_traced(low_limit):
    traces = []
    f = ricci.jit(lambda x: (traces.append(x.shape), x * 2)[1])
    for n in range(2, 60):
        f(np.ones(1, np.float32))
        f.eval_shape(np.ones(1, np.float32))
        f.eval_shape(np.ones(n, np.float32))
    assert traces.count((1,)) == 1


def test_the_sizes_of_caches_are_shown():
    f = ricci.jit(lambda x: x * 2)
    assert f(1.0) == 2.0
    sizes = debug.caches()
    assert sizes["programs of jit"].entries >= 1
    assert 0 < sizes["array types"].entries <= sizes["array types"].limit
    assert list(sizes) == sorted(sizes)
