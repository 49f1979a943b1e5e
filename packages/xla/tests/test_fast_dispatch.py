"""Calls through the C++ dispatcher: misses in Python, donation and caches."""

import threading

import numpy as np
import pytest

from ricci_ir import ShapedArray, Tracer, config, define_context, eval_trace
from ricci_pytree import default_registry, tree_flatten
from ricci_xla import (
    Executable,
    PjitFunctionCache,
    compile_text,
    device_put,
    devices,
    fast_path,
    make_fast_callable,
    shard_args,
)

F4 = ShapedArray((4,), np.float32)


def doubling(count: int, donate: bool = False) -> Executable:
    attribute = " {tf.aliasing_output = %d : i32}" if donate else ""
    types = ", ".join(["tensor<4xf32>"] * count)
    names = ", ".join(f"%y{i}" for i in range(count))
    arguments = ", ".join(
        f"%x{i}: tensor<4xf32>" + (attribute % i if donate else "") for i in range(count)
    )
    body = "\n".join(f"%y{i} = stablehlo.add %x{i}, %x{i} : tensor<4xf32>" for i in range(count))
    text = (
        f"func.func public @main({arguments}) -> ({types}) {{\n{body}\nreturn {names} : {types}\n}}"
    )
    return Executable(compile_text(text, devices()[:1]), [F4] * count, [F4] * count)


class Doubling:
    """``x + x`` on a tree of arrays, counting the calls that Python sees."""

    def __init__(self, count: int = 1, donate: bool = False, **options):
        self.executable = doubling(count, donate)
        self.misses = []
        self.call = make_fast_callable(
            "double", self.miss, cache=PjitFunctionCache(64), cache_key=donate, **options
        )

    def miss(self, x, *rest, **named):
        self.misses.append((x, *rest, *named.items()))
        leaves, tree = default_registry.flatten(x)
        if any(isinstance(leaf, Tracer) for leaf in leaves):
            return "traced", None
        results = self.executable.execute(shard_args(self.executable.in_shardings, leaves))
        return tree.unflatten(results), fast_path(self.executable, tree)


@pytest.fixture
def x():
    return device_put(np.arange(4, dtype="float32"))


@pytest.mark.parametrize("count", [1, 51])
def test_only_the_first_call_reaches_python(x, count):
    double = Doubling(count)
    tree = {f"k{i}": x for i in range(count)}
    for _ in range(3):
        result = double.call(tree)
    assert len(double.misses) == 1
    assert all(value.tolist() == [0, 2, 4, 6] for value in result.values())
    assert double.call._cache_size() == 1


@pytest.mark.parametrize(
    "wrap", [lambda x: x, lambda x: (x,), lambda x: [x], lambda x: {"a": {"b": x}, "c": None}]
)
def test_results_keep_the_structure_of_pytrees(x, wrap):
    double = Doubling()
    for _ in range(2):
        result = double.call(wrap(x))
    assert len(double.misses) == 1
    assert tree_flatten(result)[1] == tree_flatten(wrap(x))[1]


def test_numpy_arguments_stay_in_cpp():
    double = Doubling()
    for i in range(3):
        assert double.call(np.full(4, i, "float32")).tolist() == [2 * i] * 4
    assert len(double.misses) == 1


def test_python_scalars_stay_in_cpp():
    text = """func.func public @main(%x: tensor<f32>) -> tensor<f32> {
      %y = stablehlo.add %x, %x : tensor<f32>
      return %y : tensor<f32>
    }"""
    aval = ShapedArray((), np.float32, weak_type=True)
    program = Executable(compile_text(text, devices()[:1]), [aval], [aval])
    misses = []

    def miss(x):
        misses.append(x)
        (result,) = program.execute(shard_args(program.in_shardings, [x]))
        return result, fast_path(program, default_registry.flatten(0)[1])

    call = make_fast_callable("double", miss)
    assert [float(call(v)) for v in (1.5, 2.5, 3.5)] == [3, 5, 7]
    assert misses == [1.5]
    assert call(1.0).weak_type


def test_static_arguments_are_compared_by_value(x):
    double = Doubling(static_argnums=(1,), static_argnames=("mode",))
    for number in (1, 2, 1, 2):
        for mode in ("a", "b"):
            double.call(x, number, mode=mode)
    assert [call[1:] for call in double.misses] == [
        (1, ("mode", "a")),
        (1, ("mode", "b")),
        (2, ("mode", "a")),
        (2, ("mode", "b")),
    ]


def test_static_arguments_must_be_hashable(x):
    double = Doubling(static_argnums=(1,))
    with pytest.raises((TypeError, ValueError), match="hashable"):
        double.call(x, [])


def test_tracers_always_reach_python():
    double = Doubling()
    tracer = Tracer(eval_trace, F4)
    assert [double.call(tracer) for _ in range(3)] == ["traced"] * 3
    assert len(double.misses) == 3


def test_a_donated_buffer_is_reused_and_deleted(x):
    double = Doubling(donate=True)
    double.call(device_put(np.arange(4, dtype="float32")))
    pointer = x.unsafe_buffer_pointer()
    result = double.call(x)
    assert len(double.misses) == 1
    assert result.unsafe_buffer_pointer() == pointer
    assert x.is_deleted()
    for _ in range(2):
        with pytest.raises(RuntimeError, match="This array was deleted: float"):
            double.call(x)


def test_a_new_setting_keeps_cached_entries(x):
    double = Doubling()
    double.call(x)
    added = define_context("a setting that a package adds", 0)
    double.call(x)
    assert len(double.misses) == 1
    with added(1):
        double.call(x)
    assert len(double.misses) == 2


def test_an_array_on_another_device_is_moved_unless_committed(eight_devices, x):
    double = Doubling()
    double.call(x)
    with config.state("jax_default_device")(eight_devices[3]):
        uncommitted = device_put(np.ones(4, "float32"))
    assert uncommitted.devices() == {eight_devices[3]}
    assert double.call(uncommitted).devices() == {eight_devices[0]}
    seen = len(double.misses)
    double.call(device_put(x, eight_devices[3]))
    assert len(double.misses) == seen + 1


@pytest.mark.parametrize("option", ["jax_enable_x64", "jax_default_matmul_precision"])
def test_options_that_affect_tracing_miss(x, option):
    double = Doubling()
    double.call(x)
    value = {"jax_enable_x64": True, "jax_default_matmul_precision": "highest"}[option]
    for expected in (2, 2):
        with config.state(option)(value):
            double.call(x)
        assert len(double.misses) == expected
    double.call(x)
    assert len(double.misses) == 2


def test_override_of_one_thread_is_not_seen_by_another(x):
    double = Doubling()
    double.call(x)
    with config.state("jax_enable_x64")(True):
        thread = threading.Thread(target=double.call, args=(x,))
        thread.start()
        thread.join()
    assert len(double.misses) == 1


def test_wrappers_of_one_function_share_cache_entries(x):
    def fun(x):
        raise AssertionError("only identifies its cache entries")

    double, cache = Doubling(), PjitFunctionCache(16)
    for key in (1, 1, 2):
        make_fast_callable("f", double.miss, fun=fun, cache_key=key, cache=cache)(x)
    assert len(double.misses) == 2


def test_cleared_cache_misses(x):
    double = Doubling()
    double.call(x)
    double.call._clear_cache()
    double.call(x)
    assert len(double.misses) == 2


def test_calls_return_before_the_result_is_ready():
    size = 1500
    text = f"""func.func public @main(%x: tensor<{size}x{size}xf32>) -> tensor<{size}x{size}xf32> {{
      %y = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0]
        : (tensor<{size}x{size}xf32>, tensor<{size}x{size}xf32>) -> tensor<{size}x{size}xf32>
      return %y : tensor<{size}x{size}xf32>
    }}"""
    aval = ShapedArray((size, size), np.float32)
    program = Executable(compile_text(text, devices()[:1]), [aval], [aval])
    (y,) = program.execute([device_put(np.zeros((size, size), "float32"))])
    was_ready = y.is_ready()
    y.block_until_ready()
    assert y.is_ready()
    assert not was_ready


def test_constants_come_before_the_arguments_of_each_call(x):
    """The dispatcher passes the constants that a function closes over in each call."""
    text = (
        "func.func public @main(%c: tensor<4xf32>, %x: tensor<4xf32>) -> (tensor<4xf32>) {\n"
        "%y = stablehlo.subtract %x, %c : tensor<4xf32>\nreturn %y : tensor<4xf32>\n}"
    )
    constant = device_put(np.ones(4, "float32"))
    executable = Executable(
        compile_text(text, devices()[:1]),
        [F4, F4],
        [F4],
        used_arguments=[False, True],
        consts=[constant],
    )
    misses = []

    def miss(unused, x):
        misses.append(x)
        result, tree = device_put(np.asarray(x) - 1), default_registry.flatten(0)[1]
        return result, fast_path(executable, tree)

    call = make_fast_callable("subtract", miss, cache=PjitFunctionCache(64))
    results = [np.asarray(call(x, x)).tolist() for _ in range(3)]
    assert results == [[-1.0, 0.0, 1.0, 2.0]] * 3
    assert len(misses) == 1
