"""``compute_on``: what XLA is told, and that values and derivatives are those of the function."""

from typing import Any

import numpy as np
import pytest

import ricci
import ricci.numpy as jnp
from ricci import grad, vmap
from ricci.experimental.compute_on import compute_on
from ricci.memory import Space
from ricci_xla.compile._effects import parse_module

X = np.arange(4, dtype=np.float32)
jit: Any = ricci.jit


def on(compute_type="device_host", spaces: Any = Space.Device, **options) -> Any:
    return compute_on(compute_type=compute_type, out_memory_spaces=spaces, **options)


def text(fun: Any, *args):
    found = jit(fun).lower(*(args or (X,))).as_text()
    parse_module(found)
    return found


@pytest.mark.parametrize(
    "compute_type, attributes",
    [
        ("device_host", '_xla_compute_type = "host"'),
        ("device", '_xla_compute_type = "dense"'),
        ("tpu_sparsecore", '_xla_compute_type = "sparseoffload"'),
        ("gpu_stream:3", '_xla_stream_annotation = "3", inlineable = "false"'),
    ],
)
def test_the_call_and_its_operations_say_where(compute_type, attributes):
    found = text(lambda x: on(compute_type)(jnp.sin)(x) + 1)
    marked = [line for line in found.splitlines() if f"{{{attributes}}}" in line]
    assert len(marked) == 2 and "call @compute_on" in marked[0] and "sine" in marked[1]
    assert sum("frontend_attributes" in line for line in found.splitlines()) == 2


def test_a_function_inside_and_outside_is_written_twice():
    inner = jit(jnp.sin)
    found = text(lambda x: on()(lambda x: inner(x) * 2)(x) + inner(x))
    assert found.count("stablehlo.sine") == 2
    assert sum("sine" in line and "host" in line for line in found.splitlines()) == 1


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("spaces", [Space.Device, Space.Host])
def test_values_and_derivatives_are_the_functions(wide, spaces):
    with ricci.enable_x64(wide):
        fun = lambda x: jnp.sin(x) * 2
        there = on(spaces=spaces)(fun)
        for call in (there, jit(there), there, jit(there)):
            assert np.asarray(call(X)).tolist() == fun(X).tolist()
        back = lambda x: ricci.device_put(there(x), Space.Device).sum()
        slopes = grad(lambda x: fun(x).sum())(X)
        assert np.asarray(grad(back)(X)).tolist() == slopes.tolist()
        assert np.asarray(jit(grad(back))(X)).tolist() == slopes.tolist()
        assert np.asarray(jit(vmap(there))(X)).tolist() == fun(X).tolist()


def test_derived_calls_say_where():
    total = lambda x: on()(lambda x: jnp.sin(x).sum())(x)
    marked = [line for line in text(grad(total)).splitlines() if '"host"' in line]
    assert any("call @compute_on" in line for line in marked)
    assert any("cosine" in line for line in marked)


def test_results_are_in_the_memory_of_their_computation():
    out = on(spaces={"a": Space.Host, "b": Space.Device})(lambda x: {"a": x + 1, "b": (x, x)})(X)
    assert out["a"].sharding.memory_kind == "pinned_host"
    assert out["b"][0].sharding.memory_kind == "device"


def test_options_of_the_compiler_are_on_the_call():
    found = text(on(compiler_options={"a": "1", "b": 2})(jnp.sin))
    assert r'backend_config = "{\22a\22: \221\22, \22b\22: 2}"' in found


def test_compute_on_runs_over_eight_devices(eight_devices):
    mesh = ricci.sharding.Mesh(np.array(eight_devices), ("x",))
    x = ricci.device_put(np.arange(16.0), ricci.NamedSharding(mesh, ricci.P("x")))
    assert jit(on()(lambda x: x * 2))(x).tolist() == (np.arange(16.0) * 2).tolist()


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: on("nowhere"), ValueError, "compute_type='nowhere' is not one of"),
        (lambda: on(spaces="host")(jnp.sin)(X), TypeError, "expected a MemorySpace, got 'host'"),
        (lambda: on(spaces={"a": Space.Host})(lambda x: {"b": x})(X), ValueError, "does not match"),
        (lambda: on()(on("device")(jnp.sin))(X), ValueError, "inside of a function that is"),
    ],
)
def test_wrong_arguments_are_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()
    assert on()(jnp.sin)(X).tolist() == jnp.sin(X).tolist()


def test_the_same_type_may_be_inside():
    assert jit(on()(on()(jnp.sin)))(X).tolist() == jnp.sin(X).tolist()
