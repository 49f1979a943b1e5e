"""Calls of compiled functions: values, errors, effects and devices."""

import ctypes
import subprocess
import sys
from functools import partial

import numpy as np
import pytest

pytest.importorskip("ricci_xla", reason="calls of compiled functions need the runtime")

from ffi.build import build, compiler
from ffi.cases import CALLS, HANDLERS, LOAD, METHODS, START
from ffi.comparing import M, X, both

import jax
import jax.export
import jax.numpy as jnp
from jax.ffi import ffi_call
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P
from ricci_testing import compare
from ricci_testing.pytest_plugin import oracle as oracle


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    if compiler() is None:
        pytest.skip("no C++ compiler is installed")
    if sys.platform != "linux":
        pytest.skip("the libraries are built for Linux")
    return tmp_path_factory.mktemp("ffi")


@pytest.fixture(scope="module")
def library(folder):
    found = build("handlers.cc", folder)
    for name in HANDLERS:
        jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(getattr(found, name)))
    return found


def test_values_and_errors_are_those_of_jax(oracle, library):
    start = f"{START}\npath = {library._name!r}\nhandlers = {HANDLERS}{LOAD}"
    wrong = []
    for source, ours, theirs in both(CALLS, start):
        if (ours.error is None) != (theirs.error is None):
            wrong.append((source, ours, theirs))
        elif ours.error is not None:
            if (ours.error.name, ours.error.message) != (theirs.error.name, theirs.error.message):
                wrong.append((source, ours.error, theirs.error))
        else:
            compare(ours, theirs, source=source)
    assert not wrong


def S(shape=(3,), dtype=np.float32):
    return jax.ShapeDtypeStruct(shape, np.dtype(dtype))


def scale(x, by=2, **options):
    return ffi_call("Scale", S(jnp.shape(x)), **options)(x, scale=np.float32(by))


def test_sides_of_64_bit_types(library):
    for wide in (False, True, False):
        with jax.enable_x64(wide):
            for f in (scale, jax.jit(scale), jax.vmap(partial(scale, vmap_method="expand_dims"))):
                found = f(M)
                assert found.dtype == np.float32
                np.testing.assert_array_equal(found, M * 2)
    jax.clear_caches()
    np.testing.assert_array_equal(scale(M), M * 2)


def test_attributes_of_different_types_are_different_calls(library):
    total = lambda **attributes: float(ffi_call("Sum", S((1,)))(**attributes)[0])
    # Python says that these are equal. The function takes an int64 only.
    assert [total(i64=v) for v in (1, True, 1.0, np.int32(1), np.int64(1), 1)] == [1, 0, 0, 0, 1, 1]
    array = np.array([1, 2])
    assert total(span=array) == 3
    array[0] = 5
    assert total(span=array) == 7


def test_call_counts_follow_vmap_method_and_side_effects(library):
    count = lambda f, *args: (library.CallCount(), jax.block_until_ready(f(*args)))[0]
    for method, calls in zip(METHODS, (2, 2, 1, 1, 1), strict=True):
        f = jax.vmap(partial(scale, vmap_method=method))
        for g in (f, jax.jit(f)):
            before = count(g, M)
            assert library.CallCount() - before == calls, method
    unused = lambda effect: jax.jit(
        lambda x: (ffi_call("Count", [], has_side_effect=effect)(x), x)[1]
    )
    for effect in (False, True):
        before = count(unused(effect), X)
        jax.effects_barrier()
        assert library.CallCount() - before == effect


def test_tokens_order_calls(library):
    kinds = [jax.ffi.abstract_token, S((1,))]

    @jax.jit
    def f(x):
        call = ffi_call("CountInOrder", kinds, has_side_effect=True)
        token, first = call(jax.lax.create_token(x), x)
        token, second = call(token, x)
        return first, call(token, x)[1], second

    first, third, second = f(np.zeros(1, np.float32))
    assert (second - first, third - first) == (1, 2)


@pytest.mark.parametrize("method", ["broadcast_all", "expand_dims", "legacy_vectorized"])
def test_a_token_orders_the_calls_of_a_whole_batch(library, method):
    kinds = [jax.ffi.abstract_token, S((1,))]
    call = ffi_call("CountInOrder", kinds, has_side_effect=True, vmap_method=method)

    def f(x):
        token, first = call(jax.lax.create_token(), x)
        return first, call(token, x)[1]

    first, second = jax.jit(jax.vmap(f))(np.zeros((3, 1), np.float32))
    assert first.shape == second.shape == (3, 1)
    assert second[0] - first[0] == 1


@pytest.mark.frees_executables
def test_a_state_lives_as_long_as_its_program(library):
    library.RunsId.restype = library.RunsInfo.restype = ctypes.c_void_p
    capsule = jax.ffi.pycapsule
    kind = {"type_id": capsule(library.RunsId()), "type_info": capsule(library.RunsInfo())}
    jax.ffi.register_ffi_type("Runs", kind)
    stages = {"instantiate": capsule(library.MakeRuns), "execute": capsule(library.CountRuns)}
    jax.ffi.register_ffi_target("CountRuns", stages)
    for _ in range(2):
        f = jax.jit(lambda: ffi_call("CountRuns", S(()), has_side_effect=True)())
        assert [float(f()) for _ in range(3)] == [1, 2, 3]
        jax.clear_caches()


def test_the_convention_before_the_typed_one(library, capfd):
    jax.ffi.register_ffi_target("AddOne", jax.ffi.pycapsule(library.AddOne), api_version=0)
    call = ffi_call("AddOne", S(()), custom_call_api_version=1)
    assert float(call(np.float32(2))) == 3
    assert float(jax.jit(call)(np.float32(3))) == 4


def test_a_name_is_registered_once_and_may_come_late(library):
    capsule = jax.ffi.pycapsule(library.Scale)
    call = ffi_call("late", S())
    for _ in range(2):
        with pytest.raises(RuntimeError, match="No FFI handler registered for late"):
            call(X, scale=np.float32(2))
    for _ in range(2):  # the same again
        jax.ffi.register_ffi_target("late", capsule)
    np.testing.assert_array_equal(call(X, scale=np.float32(2)), X * 2)
    with pytest.raises(RuntimeError, match="another function is registered as 'late' for cpu"):
        jax.ffi.register_ffi_target("late", jax.ffi.pycapsule(library.Fail))
    np.testing.assert_array_equal(call(X, scale=np.float32(3)), X * 3)


def test_two_functions_of_one_name_do_not_spoil_the_start(library):
    """XLA would tell of them when it makes its client, and make none any more."""
    program = f"""
import ctypes, jax, numpy as np
lib = ctypes.CDLL({library._name!r})
jax.ffi.register_ffi_target("f", jax.ffi.pycapsule(lib.Scale))
try:
    jax.ffi.register_ffi_target("f", jax.ffi.pycapsule(lib.Fail))
except RuntimeError as error:
    print(error)
x = np.ones(1, np.float32)
print(jax.ffi.ffi_call("f", jax.ShapeDtypeStruct((1,), x.dtype))(x, scale=np.float32(3)))
"""
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert "another function is registered as 'f'" in run.stdout
    assert run.stdout.endswith("[3.]\n")


def test_exported_with_sizes_that_are_not_known_yet(library):
    call = lambda x: ffi_call("Scale", S(x.shape))(x, scale=np.float32(2))
    types = jax.ShapeDtypeStruct(jax.export.symbolic_shape("a, b"), np.float32)
    with pytest.raises(ValueError, match="custom calls of 'Scale'"):
        jax.export.export(jax.jit(call))(types)
    allowed = [jax.export.DisabledSafetyCheck.custom_call("Scale")]
    for f in (call, jax.vmap(partial(scale, vmap_method="broadcast_all"))):
        exported = jax.export.export(jax.jit(f), disabled_checks=allowed)(types)
        loaded = jax.export.deserialize(exported.serialize())
        for x in (M, M.T.copy()):
            np.testing.assert_array_equal(loaded.call(x), x * 2)


# Several devices


@pytest.fixture(scope="module")
def partitionable(library):
    jax.ffi.register_ffi_target("ScaleEach", jax.ffi.pycapsule(library.Scale))
    jax.ffi.register_ffi_target_as_batch_partitionable("ScaleEach")


@pytest.mark.usefixtures("eight_devices", "partitionable")
@pytest.mark.parametrize("kind", [AxisType.Auto, AxisType.Explicit])
@pytest.mark.parametrize("method", ["broadcast_all", "expand_dims", "legacy_vectorized"])
def test_batches_stay_divided(kind, method):
    mesh = jax.make_mesh((8,), ("i",), axis_types=(kind,))
    with jax.set_mesh(mesh):
        x = jax.device_put(
            np.arange(48, dtype=np.float32).reshape(16, 3), NamedSharding(mesh, P("i"))
        )
        for target, gathered in (("Scale", True), ("ScaleEach", False)):
            call = ffi_call(target, S(), vmap_method=method)
            f = jax.jit(jax.vmap(lambda x, call=call: call(x, scale=np.float32(2))))
            assert ("all-gather" in f.lower(x).compile().as_text()) is gathered
            found = f(x)
            np.testing.assert_array_equal(found, np.asarray(x) * 2)
            if kind is AxisType.Auto:
                assert found.sharding.spec[:1] == (() if gathered else ("i",))
            else:
                assert jax.typeof(found).sharding.spec == found.sharding.spec


@pytest.mark.usefixtures("eight_devices", "library")
@pytest.mark.parametrize("check", [False, True])
def test_each_device_calls_it_on_its_part(check):
    mesh = jax.make_mesh((8,), ("i",), axis_types=(AxisType.Auto,))
    whole = np.arange(48, dtype=np.float32).reshape(16, 3)
    x = jax.device_put(whole, NamedSharding(mesh, P("i")))
    f = jax.jit(jax.shard_map(scale, mesh=mesh, in_specs=P("i"), out_specs=P("i"), check_vma=check))
    assert "all-gather" not in f.lower(x).compile().as_text()
    np.testing.assert_array_equal(f(x), whole * 2)
    g = jax.shard_map(scale, mesh=mesh, in_specs=P(None), out_specs=P(None), check_vma=check)
    np.testing.assert_array_equal(g(x), whole * 2)
    np.testing.assert_array_equal(jax.pmap(scale)(whole[:8]), whole[:8] * 2)


@pytest.mark.usefixtures("eight_devices", "library")
def test_a_sum_that_is_not_done_is_refused():
    with jax.set_mesh(jax.make_mesh((8,), ("i",), axis_types=(AxisType.Explicit,))):
        x = jax.device_put(np.ones((4, 8), np.float32), P(None, "i"))
        y = jax.device_put(np.ones((8,), np.float32), P("i"))

        def f(x, y):
            return scale(jnp.dot(x, y, out_sharding=P(None, unreduced={"i"})))

        with pytest.raises(NotImplementedError, match="along 'i': its sum is not complete"):
            jax.jit(f)(x, y)
