"""``roll``: values are those of the function, and the jaxpr does not grow with the layers."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ricci
import ricci.numpy as jnp
from ricci import lax, nn, random, roll
from ricci_lax.rolling import minimum_cut, rows_p

SIZE = 4
_weights = np.random.default_rng(0)


def _matrix(*shape: int) -> np.ndarray:
    return (_weights.normal(size=shape) / 2).astype(np.float32)


def _layers(count: int, size: int = SIZE) -> list[dict[str, np.ndarray]]:
    return [{"w": _matrix(size, size), "b": _matrix(size)} for _ in range(count)]


def _layer(p: Any, x: Any) -> Any:
    h = nn.relu(x @ p["w"] + p["b"])
    return x + h * jnp.tanh(h) / jnp.sqrt(1 + jnp.mean(x**2))


def plain(layers: Any, x: Any) -> Any:
    for p in layers:
        x = _layer(p, x)
    return jnp.sum(x**2)


def shared_weights(layers: Any, x: Any) -> Any:
    for _ in range(6):
        x = _layer(layers[0], x)
    return jnp.sum(x)


def two_carries(layers: Any, x: Any) -> Any:
    h = jnp.zeros_like(x)
    for p in layers:
        h = jnp.tanh(x @ p["w"] + h)
        x, h = jnp.cos(h) + p["b"] * jnp.sin(x), x * jnp.exp(-(h**2)) + 1
    return jnp.sum(x * h)


def hidden_states(layers: Any, x: Any) -> Any:
    states = []
    for p in layers:
        x = _layer(p, x)
        states.append(x)
    return jnp.sum(jnp.stack(states) * jnp.arange(len(states), dtype=x.dtype)[:, None])


def read_in_reverse(layers: Any, x: Any) -> Any:
    states = []
    for p in layers:
        x = _layer(p, x)
        states.append(x)
    for p, state in zip(layers, states[::-1], strict=True):
        x = jnp.sin(_layer(p, x)) * jnp.cos(state) + jnp.exp(-(state**2))
    return jnp.sum(x)


def dropout(layers: Any, x: Any) -> Any:
    key = random.key(3)
    for p in layers:
        key, drawn = random.split(key)
        keep = random.bernoulli(drawn, 0.7, x.shape)
        x = jnp.where(keep, _layer(p, x), 0.0)
    return jnp.sum(x)


def inner_jit(layers: Any, x: Any) -> Any:
    return ricci.jit(plain)(layers, x) + 1


def in_a_loop(layers: Any, x: Any) -> Any:
    body = lambda i, y: jnp.tanh(y + plain(layers, y))
    return jnp.sum(lax.fori_loop(0, 3, body, x))


def checkpointed(layers: Any, x: Any) -> Any:
    for p in layers:
        x = ricci.checkpoint(_layer)(p, x)
        x = jnp.sin(x) * jnp.cos(x) + jnp.tanh(x) ** 2 - x / (1 + x**2)
    return jnp.sum(x)


def weak_scalars(layers: Any, x: Any) -> Any:
    scale = jnp.sum(x) * 0 + 1.0
    for p in layers:
        factor = lax.convert_element_type(p["b"][0], float)
        x = x @ p["w"]
        scale = jnp.sin(scale * factor) + jnp.cos(scale) * factor - scale**2 / 3 + jnp.mean(x)
    return scale


def skips_two(layers: Any, x: Any) -> Any:
    before = x
    for p in layers:
        x, before = _layer(p, x) + before, x
    return jnp.sum(x)


def other_in_the_middle(layers: Any, x: Any) -> Any:
    half = len(layers) // 2
    for p in layers[:half]:
        x = _layer(p, x)
    x = jnp.sort(x)
    for p in layers[half:]:
        x = _layer(p, x)
    return jnp.sum(x)


def alternating_kinds(layers: Any, x: Any) -> Any:
    for i, p in enumerate(layers):
        x = _layer(p, x) if i % 2 else jnp.sin(x @ p["w"]) * jnp.exp(-(x**2)) + p["b"] / (1 + x**2)
    return jnp.sum(x)


def updates(layers: Any, x: Any) -> Any:
    moments = [ricci.tree.map(jnp.ones_like, p) for p in layers]
    slopes = ricci.grad(plain)(layers, x)
    moments = [
        ricci.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, g)
        for m, g in zip(moments, slopes, strict=True)
    ]
    return [
        ricci.tree.map(lambda p, m: p - m / jnp.sqrt(1 + m**2), p, m)
        for p, m in zip(layers, moments, strict=True)
    ]


def chained_loops(layers: Any, x: Any) -> Any:
    """Three loops, of which each reads what is cheap to compute in the one before."""
    halves, squares, shifted = [], [], []
    for p in layers:
        w = p["w"]
        h = jnp.cos(jnp.tanh(jnp.sin(x @ w) @ w) @ w) * jnp.sin(x)
        halves.append(h / 2)
        squares.append(h * h)
    y = z = x
    for half, square in zip(halves, squares, strict=True):
        shifted.append(half * 3 + 1)
        y = jnp.tanh(jnp.cos(y * shifted[-1]) @ p["w"] + square) / jnp.sqrt(1 + y**2)
    for s in shifted:
        z = jnp.tanh(z @ p["w"] * jnp.sin(s) + z) / jnp.sqrt(2 + z**2)
    return y, z


def updates_in_calls(layers: Any, x: Any) -> Any:
    """Updates by functions that are jitted themselves, as those of optimizers are."""

    @ricci.jit
    def decayed(trees: Any) -> Any:
        return ricci.tree.map(lambda g: g / jnp.sqrt(1 + g**2) - 0.1 * g, trees)

    @ricci.jit
    def moved(params: Any, trees: Any) -> Any:
        return ricci.tree.map(lambda p, g: p - g / jnp.sqrt(1 + p**2), params, trees)

    return moved(layers, decayed(decayed(ricci.grad(plain)(layers, x))))


PROGRAMS: list[Callable[..., Any]] = [
    plain, shared_weights, two_carries, hidden_states, read_in_reverse, dropout, inner_jit,
    in_a_loop, checkpointed, weak_scalars, skips_two, other_in_the_middle, alternating_kinds,
    updates, chained_loops, updates_in_calls,
]  # fmt: skip
TRANSFORMED: dict[str, Callable[..., Any]] = {
    "value": lambda f: f,
    "gradient": lambda f: ricci.grad(
        lambda *args: ricci.tree.reduce(lambda a, b: a + b.sum(), f(*args), 0.0)
    ),
    "vmap": lambda f: ricci.vmap(f, in_axes=(None, 0)),
}


def _equations(jaxpr: Any) -> int:
    inner = [value for eqn in jaxpr.eqns for value in eqn.params.values()]
    jaxprs = [x for x in inner if hasattr(x, "eqns")]
    return len(jaxpr.eqns) + sum(map(_equations, jaxprs))


def _assert_close(one: Any, other: Any) -> None:
    for a, b in zip(ricci.tree.leaves(one), ricci.tree.leaves(other), strict=True):
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=2e-4, atol=2e-5)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("how", TRANSFORMED)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_rolled_values_are_those_of_the_function(program, how):
    layers, x = _layers(6), _matrix(SIZE)
    if how == "vmap":
        x = _matrix(3, SIZE)
    expected = ricci.jit(TRANSFORMED[how](program))(layers, x)
    _assert_close(TRANSFORMED[how](roll(program))(layers, x), expected)
    _assert_close(ricci.jit(TRANSFORMED[how](roll(program)))(layers, x), expected)


@pytest.mark.parametrize("wide", [False, True])
def test_rolled_gradients_are_those_of_the_function(wide):
    with ricci.enable_x64(wide):
        step = ricci.value_and_grad(plain)
        layers, x = _layers(5), _matrix(SIZE)
        for _ in range(2):
            _assert_close(roll(step)(layers, x), ricci.jit(step)(layers, x))
            ricci.clear_caches()


@pytest.mark.parametrize("program", [plain, two_carries, hidden_states, dropout, inner_jit])
@pytest.mark.parametrize("transformation", [lambda f: f, ricci.grad], ids=["value", "gradient"])
def test_rolled_jaxprs_do_not_grow_with_the_layers(program, transformation):
    reports = [roll(transformation(program)).report(_layers(n), _matrix(SIZE)) for n in (6, 12)]
    per_layer = (reports[1].after - reports[0].after) / 6
    assert per_layer <= 6, reports  # constants of layers, sums of their gradients
    assert reports[0].after < reports[0].before


def test_loops_take_the_same_layers_so_that_no_array_is_put_together_from_parts():
    # The parameters are stacked once; a loop's results are another's operands as they are.
    def step(layers, x):
        slopes = ricci.grad(plain)(layers, x)
        return ricci.tree.map(lambda p, slope: p - 0.1 * slope, layers, slopes)

    layers, x = _layers(12), _matrix(2, SIZE)
    report = roll(step).report(layers, x)
    assert [run.count for run in report.runs] == [12, 12]
    assert not report.refused
    jaxpr = str(ricci.make_jaxpr(roll(step))(layers, x))
    assert jaxpr.count("= stack") == jaxpr.count("= rows ") == len(layers[0])
    assert not re.findall("= (concatenate|rev|unstack)", jaxpr)
    _assert_close(roll(step)(layers, x), step(layers, x))


def test_cheap_results_of_layers_are_recomputed_in_the_backward_pass():
    def net(function: Any) -> Any:
        def sum_of_layers(layers, x):
            for p in layers:
                h = function(x @ p["w"])
                x = x + h * (1 + h**2) / (2 + h**2) - (h - 1) ** 3 + (h + 2) ** 2
            return jnp.sum(x)

        return ricci.grad(sum_of_layers, argnums=(0, 1))

    def stacked(function):
        layers, x = _layers(6), _matrix(3, SIZE)
        slopes: Any = ricci.jit(net(function))
        _assert_close(roll(net(function))(layers, x), slopes(layers, x))
        jaxpr = ricci.make_jaxpr(roll(net(function)))(layers, x).jaxpr.eqns[0].params["jaxpr"]
        (scan,) = [eqn for eqn in jaxpr.eqns if eqn.params.get("reverse")]
        rows = scan.invars[scan.params["num_consts"] + scan.params["num_carry"] :]
        return sum(var.aval.size * var.aval.dtype.itemsize for var in rows)

    activations, parameters = 3 * SIZE * 4, SIZE * SIZE * 4
    # The inputs of the layers, their products and the parameters, whatever else is read.
    assert stacked(lambda h: h) == 6 * (2 * activations + parameters)
    # A sine and a cosine are not cheap: they are stored.
    assert stacked(lambda h: jnp.sin(h) / 9) == 6 * (3 * activations + parameters)


@pytest.mark.skipif(ricci.default_backend() != "cpu", reason="a rule of lowering for CPUs")
def test_results_of_loops_are_written_to_buffers_that_are_not_copied():
    body = lambda x, _: (lax.cos(x), (lax.sin(x), lax.tanh(x), lax.exp(x)))
    scanned = ricci.jit(lambda x: lax.scan(body, x, None, length=5))
    text = scanned.lower(np.ones((3, 7), np.float32)).compile().as_text()
    assert not re.findall(r"f32\[5,3,7\]\S* copy\(", text)


def test_arrays_stay_stacked_between_calls_of_jitted_functions():
    layers, x = _layers(12), _matrix(SIZE)
    text = str(ricci.make_jaxpr(ricci.roll(updates_in_calls))(layers, x))
    # Both parameters are stacked once, and both results taken apart.
    assert (text.count("= stack["), text.count("= rows")) == (2, 2)
    assert "concatenate" not in text
    assert "slice" not in text


def test_a_minimum_cut_is_the_smallest_and_nearest_to_the_sinks():
    sizes = {"a": 3, "b": 2, "c": 2, "d": 4, "e": 5}
    edges = [("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"), ("d", "e")]
    assert minimum_cut(sizes, edges, ["a"], ["e"]) == {"a"}
    assert minimum_cut({**sizes, "a": 4}, edges, ["a"], ["e"]) == {"d"}
    assert minimum_cut({**sizes, "a": 9}, edges, ["a"], ["d", "b"]) == {"b", "c"}
    assert minimum_cut(sizes, [], [], ["e"]) == set()


def test_layers_of_another_shape_stay_as_they_are():
    def net(layers, x):
        for p in layers:
            x = jnp.pad(x, (0, p["w"].shape[0] - x.shape[0]))
            x = _layer(p, x)
        return jnp.sum(x)

    layers, x = [*_layers(4), *_layers(1, 6), *_layers(4, 8)], _matrix(SIZE)
    assert [run.count for run in roll(net).report(layers, x).runs] == [4, 3]
    _assert_close(roll(net)(layers, x), net(layers, x))


def test_pieces_that_read_two_pieces_back_are_refused_with_the_reason():
    report = roll(skips_two).report(_layers(5), _matrix(SIZE))
    assert not report.runs
    assert "pieces read values of other pieces than the one before" in str(report)


def test_pairs_of_layers_that_read_two_layers_back_are_pieces():
    report = roll(skips_two).report(_layers(6), _matrix(SIZE))
    assert [run.count for run in report.runs] == [3]


def test_cheap_recurrences_stay_unrolled():
    def horner(coefficients, x):
        y = x
        for c in coefficients:
            y = y * x + c
        return y

    report = roll(horner).report(list(np.arange(40, dtype=np.float32)), np.float32(0.5))
    assert not report.runs
    assert "so few cheap operations" in str(report)


def test_functions_that_are_jitted_already_are_rolled_as_they_are_traced():
    layers, x = _layers(12), _matrix(SIZE)
    step = ricci.jit(ricci.grad(plain))
    expected = step(layers, x)
    _assert_close(roll(step)(layers, x), expected)
    with ricci.rolled_layers(True):
        rolled = ricci.make_jaxpr(step)(layers, x)
    assert _equations(rolled.jaxpr) < _equations(ricci.make_jaxpr(step)(layers, x).jaxpr) / 2


def test_functions_among_the_arguments_are_passed_as_they_are():
    net = lambda model, x: plain(model["layers"], model["act"](x))
    model, x = {"layers": _layers(4), "act": jnp.tanh, "name": "m"}, _matrix(SIZE)
    _assert_close(roll(net)(model, x), net(model, x))
    assert [run.count for run in roll(net).report(model, x).runs] == [4]


def test_side_effects_keep_their_order():
    seen = []

    def net(layers, x):
        for i, p in enumerate(layers):
            x = _layer(p, x)
            ricci.debug.callback(lambda _, i=i: seen.append(i), x[0], ordered=True)
        return jnp.sum(x)

    roll(net)(_layers(4), _matrix(SIZE))
    ricci.effects_barrier()
    assert seen == [0, 1, 2, 3]


def test_calls_of_custom_functions_are_equal_if_their_static_arguments_are():
    power = ricci.custom_jvp(lambda x, n: x**n, nondiff_argnums=(1,))
    power.defjvp(lambda n, x, t: (x[0] ** n, n * x[0] ** (n - 1) * t[0]))

    def net(exponents):
        def applied(layers, x):
            for p, n in zip(layers, exponents, strict=True):
                x = power(_layer(p, x), n)
            return x

        return applied

    layers, x = _layers(4), _matrix(SIZE)
    assert [run.count for run in roll(net([2, 2, 2, 2])).report(layers, x).runs] == [4]
    assert not roll(net([1, 1.0, 2, True])).report(layers, x).runs


def updated(params, x):
    """Parameters after a step; the loss is a loop over layers written in Python."""

    def loss(params):
        y = x
        for p in params:
            y = y + jnp.tanh(jnp.sin(y @ p) * jnp.cos(y)) / jnp.sqrt(1 + y**2)
        return jnp.sum(y)

    return [p - 0.1 * g for p, g in zip(params, ricci.grad(loss)(params), strict=True)]


def test_results_of_all_layers_are_written_together():
    params, x = [jnp.full((3, 3), 0.1 * i) for i in range(20)], jnp.ones((2, 3))
    jaxpr = str(ricci.make_jaxpr(ricci.roll(updated))(params, x))
    # An update is so few operations that a piece is that of two layers, and a stack of every second
    # layer's parameter is a slice.
    assert jaxpr.count("= rows ") == 2
    assert jaxpr.count(" slice[") < 8
    results = ricci.roll(updated)(params, x)
    for one, other in zip(results, updated(params, x), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)
    slope = ricci.grad(lambda x: jnp.sum(jnp.stack(ricci.roll(updated)(params, x)) ** 2))(x)
    expected = ricci.grad(lambda x: jnp.sum(jnp.stack(updated(params, x)) ** 2))(x)
    np.testing.assert_allclose(slope, expected, rtol=1e-4)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int8", "uint32", "bool"])
@pytest.mark.parametrize("shape", [(0, 2), (1,), (8, 3), (17, 2), (40, 0), (9,)])
def test_rows_are_those_of_the_array(dtype, shape):
    size = int(np.prod(shape))
    x = (jnp.arange(size) - 3).astype(dtype).reshape(shape)
    rows = ricci.jit(rows_p.bind)(x)
    assert len(rows) == shape[0] and all(row.dtype == x.dtype for row in rows)
    for row, expected in zip(rows, np.asarray(x), strict=True):
        np.testing.assert_array_equal(row, expected)


def test_rows_keep_signs_of_zeros_and_nan():
    x = jnp.array([[-0.0, np.nan, np.inf, -np.inf, 0.0]] * 9)
    for row in ricci.jit(rows_p.bind)(x):
        np.testing.assert_array_equal(row, x[0])
        assert np.signbit(row[0]) and not np.signbit(row[4])


def states_of_keys(params, x):
    """A key, a state and a sum for each layer."""
    key, y, states = random.key(0), x, []
    for p in params:
        key, own = random.split(key)
        y = jnp.tanh(y @ p) + random.normal(own, y.shape) / jnp.sqrt(1 + y**2)
        states.append((own, y))
    return states


def test_layers_may_return_keys_and_sizes_may_be_symbols():
    params, x = [jnp.full((3, 3), 0.1 * i) for i in range(12)], jnp.ones((2, 3))
    results, expected = roll(states_of_keys)(params, x), states_of_keys(params, x)
    for (key, y), (other, z) in zip(results, expected, strict=True):
        assert jnp.array_equal(random.key_data(key), random.key_data(other))
        np.testing.assert_allclose(y, z, rtol=1e-5)
    padded = ricci.bucketed(roll(updated), axis=(None, 0), sizes=[4])
    for one, two in zip(padded(params, x), updated(params, x), strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-4)
