"""Kernels are called where that is right: by modules that stay in the process that has them."""

import os
import subprocess
import sys

import numpy as np
import pytest

import ricci_ir as ir
import ricci_lax as lax
from ricci_export import deserialize, export
from ricci_native import library_path, register_kernels
from ricci_parallel import shard_map
from ricci_stablehlo import NativeKernel, installed_kernels, lower_jaxpr
from ricci_xla import (
    AxisType,
    NamedSharding,
    PartitionSpec,
    compile_text,
    devices,
    files,
    jit,
    make_mesh,
)
from ricci_xla.serialized import deserialize_and_load, serialize

X = np.random.default_rng(0).normal(size=(8, 400)).astype(np.float32)
MESH = make_mesh((8,), ("rows",), axis_types=(AxisType.Auto,))
ROWS = PartitionSpec("rows")


def sort(x):
    return lax.sort(x)


def sorted_rows(function, x=X):
    np.testing.assert_array_equal(function(x), np.sort(x))
    return function


START = "import numpy as np, ricci_lax as lax\nfrom ricci_xla import jit\nx = np.ones(1000)\n"


def run(code, cwd=None, **variables):
    """Run code in another process; return its output."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "RICCI_NATIVE": ""}
    environment.update(variables)
    command = [sys.executable, "-c", START + code]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


REFUSED = """
import ricci_native
from ricci_xla import JaxRuntimeError
def register_kernels():
    raise JaxRuntimeError("the API version is incompatible")
ricci_native.register_kernels = register_kernels
"""
CALLS = "print('ricci_native' in jit(lambda x: lax.sort(x)).lower(x).as_text())"


@pytest.mark.without_library
@pytest.mark.parametrize(
    ("before", "variables"),
    [
        ("", {"RICCI_NATIVE": "0"}),
        ("", {"RICCI_NATIVE": "off"}),
        ("import sys; sys.modules['ricci_native'] = None\n", {}),
        ("from ricci_ir import native_kernels; native_kernels.set_global(False)\n", {}),
        ("import pathlib; pathlib.Path.exists = lambda self: False\n", {}),
        (REFUSED, {}),
    ],
    ids=["variable", "off", "absent", "setting", "not built", "refused"],
)
def test_nothing_is_called_where_kernels_are_off_or_absent(before, variables):
    assert run(before + CALLS, **variables) == "False"


def test_kernels_are_called_by_default():
    assert run(CALLS) == "True"
    others = "import sys; jit(lambda x: lax.neg(x))(x); print('ricci_native' in sys.modules)"
    assert run(others) == "False"


def test_the_setting_holds_in_a_block(comparison):
    function = jit(sort)
    with ir.native_kernels(False):
        assert not comparison.calls_kernel(sort, X)
        sorted_rows(function)
    assert comparison.calls_kernel(sort, X)
    sorted_rows(function)


def test_names_of_kernels_tell_versions_apart():
    (kernel,) = {kernel.target for op, kernel in register_kernels().items() if op == "sort"}
    assert library_path() is not None
    assert kernel.startswith("ricci_native_sort_")
    assert len(kernel.rpartition("_")[2]) == 16


def test_exported_functions_have_xlas_operation(comparison):
    assert comparison.calls_kernel(sort, X)
    exported = export(jit(sort))(X)
    assert "ricci_native" not in exported.mlir_module()
    sorted_rows(deserialize(exported.serialize()).call)
    # The exported module is part of this one, and has XLA's operation here, too.
    sorted_rows(jit(lambda x: exported.call(x)))


def test_modules_that_are_lowered_by_hand_have_xlas_operation():
    text = lower_jaxpr(jit(sort).trace(X).jaxpr, "sort")
    assert "ricci_native" not in text
    compile_text(text, devices()[:1])


def test_serialized_functions_need_the_kernel(monkeypatch):
    parts = serialize(jit(sort).lower(X).compile())
    sorted_rows(deserialize_and_load(*parts))
    monkeypatch.setattr(installed_kernels, "call", dict)
    with pytest.raises(files.FileError, match=r"kernels of ricci-native.*RICCI_NATIVE=0"):
        deserialize_and_load(*parts)


def test_functions_that_the_compiler_shards_have_xlas_operation():
    x = jit(lambda x: x, out_shardings=NamedSharding(MESH, ROWS))(X)
    function = jit(sort)
    assert "ricci_native" not in function.lower(x).as_text()
    sorted_rows(function, x)


@pytest.mark.parametrize("check_vma", [False, True])
def test_shards_are_sorted_by_the_kernel(comparison, check_vma):
    function = shard_map(sort, mesh=MESH, in_specs=ROWS, out_specs=ROWS, check_vma=check_vma)
    assert comparison.calls_kernel(function, X)
    sorted_rows(jit(function))


def test_axes_that_are_left_to_the_compiler_have_xlas_operation(comparison):
    mesh = make_mesh((2, 4), ("a", "b"), axis_types=(AxisType.Auto,) * 2)
    spec = PartitionSpec("a")
    function = shard_map(sort, mesh=mesh, in_specs=spec, out_specs=spec, axis_names={"a"})
    assert not comparison.calls_kernel(function, X)
    sorted_rows(jit(function))


def test_symbolic_sizes_have_xlas_operation():
    (n,) = ir.symbolic_shape("n")
    exported = export(jit(sort))(ir.ShapeDtypeStruct((n,), np.dtype(np.float32)))
    sorted_rows(exported.call, X[0])


def test_rows_and_arrays_below_the_limits_have_xlas_operation(comparison):
    kernel = register_kernels()["sort"]
    assert isinstance(kernel, NativeKernel)
    least = kernel.least_elements["float32"]
    assert comparison.calls_kernel(sort, np.zeros(least, np.float32))
    assert not comparison.calls_kernel(sort, np.zeros(least - 1, np.float32))
    assert not comparison.calls_kernel(sort, np.zeros((least, kernel.least_length - 1), np.float32))


WARM = """
from ricci_xla.warm import warm_start
with warm_start("bundle") as start:
    assert (np.asarray(jit(lambda x: lax.sort(x))(x)) == 1).all()
print(start.calls[0].outcome)
"""
ABSENT = "import sys; sys.modules['ricci_native'] = None\n"


def test_bundles_are_used_with_the_kernels_alone(tmp_path):
    def outcome(before="", **variables):
        (tmp_path / "program.py").write_text(START + WARM)
        code = f"{before}import runpy; runpy.run_path('program.py', run_name='__main__')"
        return run(code, cwd=tmp_path, **variables)

    assert [outcome() for _ in range(2)] == ["kept", "warm"]
    assert outcome(ABSENT) != "warm"
    assert outcome(RICCI_NATIVE="0") != "warm"


def test_executables_of_other_versions_are_not_taken_from_the_cache(tmp_path):
    cached = {"JAX_COMPILATION_CACHE_DIR": str(tmp_path), "RICCI_NATIVE": ""}
    cached["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
    entries = []
    for before in ("", "", ABSENT):
        run(before + "jit(lambda x: lax.sort(x))(x)", **cached)
        entries.append(len(list(tmp_path.rglob("*"))))
    assert entries[0] == entries[1] < entries[2]
