"""The text of values in a ``shard_map`` that is called eagerly: what each device holds."""

import numpy as np
import pytest

from ricci_batching import vmap
from ricci_ir import clear_caches, make_jaxpr
from ricci_lax import cos, debug_print, mul, reduce_sum, scan
from ricci_parallel import axis_index, psum, set_mesh, shard_map
from ricci_xla import Mesh, PartitionSpec, devices, jit

P = PartitionSpec
x = np.arange(8, dtype=np.float32)


@pytest.fixture
def mesh():
    return Mesh(np.array(devices("cpu")[:2]), "i")


def expected(mesh, *values):
    axes = "".join(f"{name}, " for name in mesh.axis_names).rstrip(" ")
    return "\n".join(
        f"On cpu:{device.id} at mesh coordinates ({axes}) = {at}:\n{value}\n"
        for (at, device), value in zip(np.ndenumerate(mesh.devices), values, strict=True)
    )


def texts_in(fun, mesh, *args, text=str, **options):
    """Call a function of shards, and return the texts that it yields, in each of two calls."""
    texts = []

    def printing(*shards):
        texts.extend(map(text, fun(*shards)))
        return shards[0]

    options = {"in_specs": P("i"), "out_specs": P("i"), **options}
    outs = [shard_map(printing, mesh=mesh, **options)(*args) for _ in range(2)]
    for out in outs:
        np.testing.assert_array_equal(out, args[0])
    assert texts[: len(texts) // 2] == texts[len(texts) // 2 :]
    return texts[: len(texts) // 2]


@pytest.mark.parametrize("text", [str, repr, "{}".format])
@pytest.mark.parametrize("check_vma", [False, True])
def test_arguments_and_results_print_as_each_devices_values(mesh, text, check_vma):
    fun = lambda s: [s, reduce_sum(mul(s, 2.0), (0,)), psum(s, "i"), axis_index("i")]
    texts = texts_in(fun, mesh, x[:4], text=text, check_vma=check_vma)
    assert texts == [
        expected(mesh, "[0. 1.]", "[2. 3.]"),
        expected(mesh, "2.0", "10.0"),
        expected(mesh, "[2. 4.]", "[2. 4.]"),
        expected(mesh, "0", "1"),
    ]


def test_values_print_after_clearing_caches_and_through_loops(mesh):
    fun = lambda s: [scan(lambda c, _: (mul(c, 2.0), None), s, None, length=3)[0]]
    for _ in range(2):
        assert texts_in(fun, mesh, x[:2]) == [expected(mesh, "[0.]", "[8.]")]
        clear_caches()


@pytest.mark.parametrize("in_force", [False, True])
def test_devices_print_in_the_order_of_the_mesh(in_force):
    mesh = Mesh(np.array(devices("cpu")[:4])[::-1].reshape(2, 2), ("i", "j"))
    with set_mesh(mesh if in_force else None):
        texts = texts_in(
            lambda s: [s, psum(s, "j")],
            mesh.abstract_mesh if in_force else mesh,
            x[:4].reshape(2, 2),
            in_specs=P("i", "j"),
            out_specs=P("i", "j"),
        )
    assert texts == [
        expected(mesh, "[[0.]]", "[[1.]]", "[[2.]]", "[[3.]]"),
        expected(mesh, "[[1.]]", "[[1.]]", "[[5.]]", "[[5.]]"),
    ]


def test_values_print_once_more_without_repeating_effects(mesh, capfd):
    def fun(s):
        debug_print("effect {}", reduce_sum(s, (0,)))
        return [cos(mul(s, 0.0))]

    assert texts_in(fun, mesh, x[:2]) == [expected(mesh, "[1.]", "[1.]")]
    assert capfd.readouterr().out.count("effect") == 4  # two devices, two calls


@pytest.mark.parametrize("around", [jit, lambda f: lambda x: make_jaxpr(f)(x)])
def test_values_of_recorded_functions_print_their_types(mesh, around):
    texts = []
    fun = shard_map(
        lambda s: texts.append(str(s)) or s, mesh=mesh, in_specs=P("i"), out_specs=P("i")
    )
    around(fun)(x)
    assert texts == ["JitTracer(float32[4]{V:i})"]


def test_values_of_inner_traces_print_their_types(mesh):
    texts = texts_in(lambda s: [], mesh, x)
    fun = lambda s: jit(lambda t: texts.append(str(t)) or t)(s)
    shard_map(fun, mesh=mesh, in_specs=P("i"), out_specs=P("i"))(x)
    assert texts == ["JitTracer(float32[4]{V:i})"]


def test_tracers_that_escaped_print_their_types(mesh):
    escaped = []
    shard_map(lambda s: escaped.append(s) or s, mesh=mesh, in_specs=P("i"), out_specs=P("i"))(x)
    assert repr(escaped[0]) == "JitTracer(float32[4]{V:i})"


def test_values_of_vmapped_calls_print_their_types(mesh):
    texts = []
    fun = lambda s: texts.append(str(s)) or s
    vmap(shard_map(fun, mesh=mesh, in_specs=P("i"), out_specs=P("i")))(x.reshape(2, 4))
    assert texts == ["JitTracer(float32[2]{V:i})"]
