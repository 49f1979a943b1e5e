"""Stacking of layers' parameters outside of the executable: values, placement, donation, memory."""

import threading
import warnings
from typing import Any

import numpy as np
import pytest

import ricci
import ricci.numpy as jnp
from ricci import roll
from ricci_xla.arrays._placement import rows_in_place
from ricci_xla.compile import _packing

SIZE, DEPTH = 4, 12
pytestmark = pytest.mark.skipif(ricci.default_backend() != "cpu", reason="for CPUs alone")


@pytest.fixture(autouse=True)
def programs(monkeypatch):
    """The packed programs of calls, of any size."""
    programs, packing_for = [], _packing.packing_for

    def found(program, leaves, options):
        packing = packing_for(program, leaves, options)
        programs.extend([packing] if packing is not None else [])
        return packing

    monkeypatch.setattr(_packing, "_LEAST_ELEMENTS", 0)
    monkeypatch.setattr(_packing, "packing_for", found)
    ricci.clear_caches()
    yield programs
    ricci.clear_caches()


def _layers(count=DEPTH, dtype=np.float32):
    draw = np.random.default_rng(0).normal
    shapes = {"w": (SIZE, SIZE), "b": (SIZE,)}
    return [{k: (draw(size=s) / 2).astype(dtype) for k, s in shapes.items()} for _ in range(count)]


def _loss(layers, x):
    for p in layers:
        h = jnp.tanh(x @ p["w"] + p["b"])
        x = x + h / jnp.sqrt(1 + jnp.mean(x**2))
    return jnp.sum(x**2)


def step(layers, x):
    value, slopes = ricci.value_and_grad(_loss)(layers, x)
    return value, ricci.tree.map(lambda p, g: p - 0.1 * g, layers, slopes)


def _assert_alike(one, other):
    for a, b in zip(ricci.tree.leaves(one), ricci.tree.leaves(other), strict=True):
        np.testing.assert_allclose(
            np.asarray(a, np.float64),
            np.asarray(b, np.float64),
            rtol=2e-2 if a.dtype == jnp.bfloat16 else 1e-4,
            atol=1e-4,
        )
        assert (a.aval, a.committed, a.sharding) == (b.aval, b.committed, b.sharding)


@pytest.mark.sampled(7)  # of 18, by which every width, dtype and place is among them
@pytest.mark.parametrize(
    "place",
    [np.asarray, jnp.asarray, lambda x: ricci.device_put(x, ricci.devices()[0])],
    ids=["numpy", "uncommitted", "committed"],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, jnp.bfloat16])
@pytest.mark.parametrize("wide", [False, True])
def test_results_are_those_of_the_function_and_placed_alike(programs, place, dtype, wide):
    with ricci.enable_x64(wide):
        layers, x = ricci.tree.map(place, _layers(dtype=dtype)), place(np.ones(SIZE, dtype))
        expected = ricci.jit(step)(layers, x)
        rolled = ricci.jit(roll(step))
        for _ in range(2):
            _assert_alike(rolled(layers, x), expected)
        assert programs
        # The result's rows are the next call's arguments.
        _assert_alike(rolled(rolled(layers, x)[1], x), ricci.jit(step)(expected[1], x))


def test_executables_take_one_argument_for_all_layers(programs):
    layers, x = _layers(), jnp.ones(SIZE)
    ricci.jit(roll(step))(layers, x)
    jaxpr = programs[0].program.jaxpr
    assert len(jaxpr.invars) == len(jaxpr.outvars) == 3


def test_rows_of_a_result_are_stacked_without_a_copy():
    stack: Any = jnp.arange(160.0).reshape(5, 32)
    rows = rows_in_place(stack, False)
    assert np.shares_memory(np.asarray(_packing._stack(rows)), np.asarray(stack))
    np.testing.assert_array_equal(_packing._stack(rows), stack)
    for others in (rows[::-1], [*rows[:2], rows[4]], [rows[0], rows[0]], [jnp.ones(32), rows[1]]):
        np.testing.assert_array_equal(_packing._stack(others), np.stack(others))


def test_stacked_rows_are_copied_once():
    rows = [jnp.full(32, float(i)) for i in range(5)]
    made = []
    empty = np.empty
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(np, "empty", lambda *args: made.append(empty(*args)) or made[-1])
        stack = _packing._stack(rows)
    assert np.shares_memory(np.asarray(stack), made[0])


def test_rows_outlive_the_array():
    stack: Any = jnp.arange(1024.0).reshape(4, 256) + 0
    rows = rows_in_place(stack, False)
    again = _packing._stack(rows[1:3])
    expected = np.arange(256.0, 768.0).reshape(2, 256)
    del rows, stack
    blocks = [jnp.zeros((4, 256)) for _ in range(20)]
    np.testing.assert_array_equal(again, expected)
    del blocks


def test_donated_layers_are_deleted_and_named_when_passed_again():
    layers, x = ricci.tree.map(jnp.asarray, _layers()), jnp.ones(SIZE)
    expected = ricci.jit(step)(layers, x)
    rolled = ricci.jit(roll(step), donate_argnums=0)
    _, new = rolled(layers, x)
    assert all(leaf.is_deleted() for leaf in ricci.tree.leaves(layers))
    with pytest.raises(RuntimeError, match=r"deleted: argument layers\[0\]\['b'\]"):
        rolled(layers, x)
    for _ in range(3):
        _, new = rolled(new, x)
        expected = ricci.jit(step)(expected[1], x)
    for a, b in zip(ricci.tree.leaves(new), ricci.tree.leaves(expected[1]), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-5)


def test_layers_that_a_later_call_donates_do_not_change_the_others():
    layers, x = ricci.tree.map(jnp.asarray, _layers()), jnp.ones(SIZE)
    _, new = ricci.jit(roll(step))(layers, x)
    before = [np.array(leaf) for leaf in ricci.tree.leaves(new)]
    ricci.jit(lambda x: x * 0, donate_argnums=0)(new[3]["w"])
    for i, leaf in enumerate(ricci.tree.leaves(new)):
        if not leaf.is_deleted():
            np.testing.assert_array_equal(leaf, before[i])


def test_checked_and_sharded_calls_stack_in_the_executable(programs):
    layers, x = _layers(), jnp.ones(SIZE)
    expected = ricci.jit(step)(layers, x)
    with ricci.debug_nans(True):
        _assert_alike(ricci.jit(roll(step))(layers, x), expected)
    mesh = ricci.make_mesh((ricci.device_count(),), ("x",))
    replicated = ricci.sharding.NamedSharding(mesh, ricci.P())
    on_all = ricci.device_put(layers, replicated)
    for a, b in zip(
        ricci.tree.leaves(ricci.jit(roll(step))(on_all, x)),
        ricci.tree.leaves(expected),
        strict=True,
    ):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
    assert not programs


def test_a_layer_that_is_read_on_its_own_is_an_argument_as_well(programs):
    def tied(layers, x):
        value, new = step(layers, x)
        return value + layers[0]["b"].sum(), new, layers[1]

    layers, x = ricci.tree.map(jnp.asarray, _layers()), jnp.ones(SIZE)
    _assert_alike(ricci.jit(roll(tied))(layers, x), ricci.jit(tied)(layers, x))
    assert len(programs[0].program.jaxpr.invars) == 6


def test_stacks_outside_of_loops_stay_in_the_executable(programs):
    rows = [jnp.full(SIZE, float(i)) for i in range(20)]
    total = ricci.jit(lambda *rows: jnp.stack(rows).sum(0))
    np.testing.assert_array_equal(total(*rows), np.full(SIZE, 190.0))
    assert programs == []


def test_large_rows_are_left_out_of_executables_whose_layers_compute_little(programs, monkeypatch):
    monkeypatch.setattr(_packing, "_LEAST_ELEMENTS", 10**9)
    monkeypatch.setattr(_packing, "_LEAST_BYTES", SIZE * SIZE * 4)
    layers, x = ricci.tree.map(jnp.asarray, _layers(16)), jnp.ones(SIZE)
    rolled = ricci.jit(roll(step))
    _assert_alike(
        rolled(rolled(layers, x)[1], x), ricci.jit(step)(ricci.jit(step)(layers, x)[1], x)
    )
    shapes = [var.aval.shape for var in programs[0].program.jaxpr.invars]
    assert sorted(shapes) == sorted([(16, SIZE, SIZE), *[(SIZE,)] * 17])


def test_arrays_of_keys_are_no_reason_to_stack_in_the_executable(programs):
    def noisy(layers, keys, x):
        for p, key in zip(layers, keys, strict=True):
            h = jnp.tanh(x @ p["w"] + p["b"]) * ricci.random.bernoulli(key, 0.5, x.shape)
            x = x + h / jnp.sqrt(1 + jnp.mean(x**2))
        return x

    layers, keys, x = _layers(), [*ricci.random.split(ricci.random.key(0), DEPTH)], jnp.ones(SIZE)
    _assert_alike(ricci.jit(roll(noisy))(layers, keys, x), ricci.jit(noisy)(layers, keys, x))
    assert [len(packing.stacks) for packing in programs[:1]] == [2]


def test_unspecified_shardings_and_layouts_are_no_reason_to_stack_in_the_executable(programs):
    layers, x = ricci.tree.map(jnp.asarray, _layers()), jnp.ones(SIZE)
    of_layers = ricci.tree.map(lambda _: None, layers)
    options = {"in_shardings": (of_layers, None), "out_shardings": (None, of_layers)}
    rolled = ricci.jit(roll(step), donate_argnums=0, **options)
    expected = ricci.jit(step)(layers, x)
    _assert_alike(rolled(layers, x), expected)
    assert len(programs) == 1
    placed = ricci.sharding.SingleDeviceSharding(ricci.devices()[0])
    specified = ricci.jit(roll(step), out_shardings=placed)(_layers(), x)
    np.testing.assert_allclose(specified[0], expected[0], rtol=1e-4)
    assert len(programs) == 1


def test_donated_layers_that_are_read_on_their_own_cause_no_warning(programs):
    def tied(layers, x):
        value, new = step(layers, x)
        return value + layers[0]["b"].sum(), new

    layers, x = ricci.tree.map(jnp.asarray, _layers()), jnp.ones(SIZE)
    expected = ricci.jit(tied)(layers, x)
    expected = ricci.jit(tied)(expected[1], x)
    rolled = ricci.jit(roll(tied), donate_argnums=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _, new = rolled(layers, x)
        results = rolled(new, x)
    assert programs
    for leaf in ricci.tree.leaves((layers, new)):
        assert leaf.is_deleted()
    for a, b in zip(ricci.tree.leaves(results), ricci.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-5)


def test_threads_that_donate_layers_of_their_own_get_their_own_results(programs):
    x, rolled = jnp.ones(SIZE), ricci.jit(roll(step), donate_argnums=0)
    scales = (1.0, 0.5)
    results: dict[float, Any] = {}

    def train(scale):
        layers = ricci.tree.map(lambda p: jnp.asarray(p * np.float32(scale)), _layers())
        for _ in range(3):
            _, layers = rolled(layers, x)
        results[scale] = layers

    threads = [threading.Thread(target=train, args=(scale,)) for scale in scales]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert programs
    for scale in scales:
        expected = ricci.tree.map(lambda p, scale=scale: p * np.float32(scale), _layers())
        for _ in range(3):
            _, expected = ricci.jit(step)(expected, x)
        for a, b in zip(
            ricci.tree.leaves(results[scale]), ricci.tree.leaves(expected), strict=True
        ):
            np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-5)
