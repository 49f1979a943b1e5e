"""Toy primitives with lowering rules, and a way to run text where jaxlib is installed."""

from types import SimpleNamespace

import pytest

import ricci_ir as ir
import ricci_stablehlo as sh


def primitive(name, abstract_eval, lower, **options):
    """A primitive with the rule of this package alone."""
    p = ir.Primitive(name, abstract_eval, **options)
    sh.lower_rules.define(p, lower)
    return p


sin = primitive("sin", lambda x: x, lambda ctx, x: ctx.emit("stablehlo.sine", [x], ctx.out))
mul = primitive(
    "mul",
    lambda x, y: x if x.shape else y,
    lambda ctx, x, y: ctx.emit(
        "stablehlo.multiply", [ctx.broadcast_to(v, ctx.out.shape) for v in (x, y)], ctx.out
    ),
)
square = primitive("square", lambda x: x, sh.traced(lambda x: mul.bind(x, x)))
pair = primitive("pair", lambda x, y: [y, x], lambda ctx, x, y: [y, x], multiple_results=True)
twice = primitive(
    "twice",
    lambda x: [x, x],
    sh.traced(lambda x: [mul.bind(x, x), sin.bind(x)]),
    multiple_results=True,
)
call = primitive(
    "jit",
    lambda *avals, jaxpr, name: jaxpr.out_avals,
    lambda ctx, *operands, jaxpr, name: ctx.call(jaxpr, name, operands),
    multiple_results=True,
    memo=False,
)


@pytest.fixture
def toy():
    """The toy primitives."""
    return SimpleNamespace(
        sin=sin.bind,
        mul=mul.bind,
        square=square.bind,
        pair=pair.bind,
        twice=twice.bind,
        call=lambda jaxpr, *args, name="f": call.bind(*args, jaxpr=jaxpr, name=name),
        primitive=primitive,
    )


@pytest.fixture(scope="session")
def run():
    """``run(text, *arrays)``: the results of a module on the CPU, as NumPy arrays."""
    xla_client = pytest.importorskip("jaxlib.xla_client", reason="running text needs jaxlib")
    runtime = pytest.importorskip("jaxlib._jax", reason="running text needs jaxlib")
    client = xla_client.make_cpu_client()
    devices = runtime.DeviceList((client.local_devices()[0],))

    def execute(text, buffers):
        loaded = client.compile_and_load(text, devices, runtime.CompileOptions())
        results = loaded.execute_sharded(buffers).disassemble_into_single_device_arrays()
        return [shards[0] for shards in results]

    def on_device(array):
        # A program that returns a constant: no state of jaxlib has to be set for it.
        kind = sh.tensor_type(ir.ShapedArray(array.shape, array.dtype))
        return execute(
            "module @constant {\n"
            f"  func.func public @main() -> {kind} {{\n"
            f"    %0 = stablehlo.constant {sh.dense(array)} : {kind}\n"
            f"    return %0 : {kind}\n"
            "  }\n"
            "}\n",
            [],
        )[0]

    def run(text, *arrays):
        results = execute(text, [on_device(a) for a in arrays])
        return [r._single_device_array_to_np_array_did_copy()[0] for r in results]

    return run
