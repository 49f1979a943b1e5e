"""``fit_memory`` of functions of all kinds: their values, under limits and at the least peak."""

import re
from functools import partial

import numpy as np
import pytest

pytest.importorskip("ricci_parallel", reason="the light tests run where it is not installed")

import ricci
import ricci.numpy as jnp
from ricci import NamedSharding, P, lax
from ricci.parallel import MemoryLimitError
from ricci.sharding import AxisType

N, ROWS, LAYERS = 32, 256, 5


@ricci.custom_vjp
def clipped(x):
    return jnp.tanh(x)


clipped.defvjp(lambda x: (jnp.tanh(x), x), lambda x, ct: (ct * jnp.cos(x),))


def layer(x, w):
    return x + jnp.sin(x @ w) * jnp.cos(x)


def layers(ws, x, f=layer):
    for w in ws:
        x = f(x, w)
    return x


def loss(ws, x, f=layer):
    return jnp.mean(layers(ws, x, f) ** 2)


def scanned(ws, x):
    return jnp.mean(lax.scan(lambda x, w: (layer(x, w), None), x, jnp.stack(ws))[0] ** 2)


def with_rule(ws, x):
    return loss(ws, x, lambda x, w: layer(clipped(x), w))


def with_branches(ws, x):
    choose = lambda x, w: lax.cond(jnp.sum(x) > 0, layer, lambda x, w: x - layer(x, w), x, w)
    return loss(ws, x, choose)


def with_aux(ws, x):
    value = loss(ws, x)
    return value, {"value": value, "count": jnp.int32(len(ws)), "none": None}


def updated(ws, x):
    return [w - 0.1 * g for w, g in zip(ws, ricci.grad(loss)(ws, x), strict=True)]


def on_shards(f, **options):
    whole = lambda ws, x: lax.pmean(f(ws, x), "rows")
    specs = {"in_specs": (P(), P("rows")), "out_specs": P()}
    return ricci.shard_map(whole, mesh=mesh(), **specs, **options)


def in_halves(ws, x):
    for some in (ws[:3], ws[3:]):
        specs = {"in_specs": (P(), P("rows")), "out_specs": P("rows")}
        x = ricci.shard_map(layers, mesh=mesh(), **specs)(some, x)
    return jnp.mean(x**2)


def one_branch(ws, x):
    return lax.cond(x[0, 0] > 9, lambda ws, x: jnp.mean(x), loss, ws, x)


def mesh():
    kinds = (AxisType.Auto,)
    return ricci.make_mesh((len(ricci.devices()),), ("rows",), axis_types=kinds)


STEPS = {
    "jit that donates": ricci.jit(updated, donate_argnums=0),
    "auxiliary results": ricci.value_and_grad(with_aux, has_aux=True),
    "a rule of its own": ricci.grad(with_rule),
    "a loop": ricci.grad(scanned),
    "branches": ricci.grad(with_branches),
    "a branch with all layers": ricci.grad(one_branch),
    "examples": ricci.vmap(ricci.grad(loss), (None, 0)),
    "shards": lambda ws, x: on_shards(ricci.grad(loss))(ws, x),
    "shards, differentiated": lambda ws, x: ricci.grad(on_shards(loss))(ws, x),
    "shards without checks, differentiated": lambda ws, x: ricci.grad(
        on_shards(ricci.jit(loss), check_vma=False)
    )(ws, x),
    "shards of halves": ricci.grad(in_halves),
    "examples with a named axis": ricci.vmap(
        ricci.grad(lambda ws, x: lax.pmean(loss(ws, x), "rows")), (None, 0), axis_name="rows"
    ),
    "wide floats": ricci.value_and_grad(loss),
}


def arguments(name):
    rng = np.random.default_rng(0)
    dtype = np.float64 if name == "wide floats" else np.float32
    ws = [jnp.asarray(0.1 * rng.normal(size=(N, N)), dtype) for _ in range(LAYERS)]
    shape = (
        (4, ROWS, N)
        if name.startswith("examples")
        else (8 * ROWS, N)
        if name.startswith("shards")
        else (ROWS, N)
    )
    x = jnp.asarray(rng.normal(size=shape), dtype)
    if name.startswith("shards"):
        ws = ricci.device_put(ws, NamedSharding(mesh(), P()))
        x = ricci.device_put(x, NamedSharding(mesh(), P("rows")))
    return ws, x


def compare(results, expected):
    results, expected = map(ricci.tree.leaves_with_path, (results, expected))
    for (path, result), (other, value) in zip(results, expected, strict=True):
        assert path == other and result.dtype == value.dtype
        scale = float(np.max(np.abs(value), initial=0))
        np.testing.assert_allclose(result, value, rtol=1e-4, atol=1e-5 * scale)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", STEPS)
def test_values_are_those_of_the_function_twice_and_without_caches(name):
    with ricci.enable_x64(name == "wide floats"):
        step = STEPS[name]
        peak = ricci.memory_plan(step)(*arguments(name)).peak_bytes
        expected = step(*arguments(name))
        fitted = ricci.fit_memory(step, int(0.8 * peak))
        fit = fitted.plan(*arguments(name))
        assert fit.peak_bytes <= fit.limit < fit.unlimited == peak
        compare(fitted(*arguments(name)), expected)
        assert fitted.plan(*arguments(name)) is fit
        ricci.clear_caches()
        compare(fitted(*arguments(name)), expected)
        compare(ricci.jit(fitted)(*arguments(name)), expected)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", STEPS)
def test_the_least_peak_of_an_error_is_a_limit_that_is_met(name):
    with ricci.enable_x64(name == "wide floats"):
        with pytest.raises(MemoryLimitError) as error:
            ricci.fit_memory(STEPS[name], 1000)(*arguments(name))
        least = int(re.search(r"the least peak .* \((\d+) bytes\)", str(error.value))[1])
        fit = ricci.fit_memory(STEPS[name], least).plan(*arguments(name))
        assert fit.peak_bytes <= least


@pytest.mark.parametrize("limit", ["8GiB", "500 MB", 10**9])
def test_a_limit_is_a_number_or_a_text(limit):
    fitted = ricci.fit_memory(ricci.grad(loss), limit)
    assert fitted.plan(*arguments("loss")).rewrite is None


@pytest.mark.parametrize("limit", ["eight gigabytes", "8 GiB free", -1, "0", [8]])
def test_nonsense_is_refused(limit):
    with pytest.raises(ValueError, match="must be a number of bytes, at least 1, or a text"):
        ricci.fit_memory(ricci.grad(loss), limit)


def test_empty_and_static_arguments():
    step = ricci.jit(ricci.grad(lambda ws, x, power: loss(ws, x) ** power), static_argnums=2)
    ws, x = arguments("loss")
    fitted = ricci.fit_memory(step, "1GB")
    compare(fitted(ws, x, 2), step(ws, x, 2))
    empty = ricci.grad(lambda x: jnp.sum(jnp.sin(x)))
    compare(ricci.fit_memory(empty, 1000)(jnp.zeros((0, 3))), empty(jnp.zeros((0, 3))))
    partial_step = partial(lambda scale, ws, x: scale * loss(ws, x), 2.0)
    compare(ricci.fit_memory(partial_step, "1GB")(ws, x), partial_step(ws, x))


def with_closing_rule(ws, x):
    scale = jnp.mean(x) + 1.0  # not differentiated

    @ricci.custom_vjp
    def scaled(x):
        return scale * x

    scaled.defvjp(lambda x: (scale * x, None), lambda _, ct: (scale * ct,))
    return loss(ws, x, lambda x, w: layer(scaled(x), w))


@pytest.mark.parametrize("run", [lambda f: f, ricci.jit], ids=["plain", "jit"])
def test_a_rule_that_closes_over_a_traced_array_runs_as_it_stands(run):
    step = run(ricci.grad(with_closing_rule))
    ws, x = arguments("loss")
    for _ in range(2):
        fitted = ricci.fit_memory(step, "1GB")
        compare(fitted(ws, x), step(ws, x))
        with pytest.raises(MemoryLimitError, match="rule closes over a traced array"):
            ricci.fit_memory(step, 1000)(ws, x)
        ricci.clear_caches()
