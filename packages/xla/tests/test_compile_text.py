"""Executables from StableHLO text: compiling, running, their text and costs."""

import numpy as np
import pytest

from ricci_ir import ShapedArray
from ricci_xla import (
    Executable,
    JaxRuntimeError,
    Mesh,
    NamedSharding,
    P,
    compile_options,
    compile_text,
    deserialize,
    device_put,
    devices,
    get_compile_options,
)

F4 = ShapedArray((4,), np.float32)
ADD = """
func.func public @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %z = stablehlo.add %x, %y : tensor<4xf32>
  return %z : tensor<4xf32>
}"""
CHOLESKY = """
func.func public @main(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %0:2 = stablehlo.custom_call @lapack_spotrf_ffi(%x) {
    mhlo.backend_config = {uplo = 76 : ui8},
    operand_layouts = [dense<[0, 1]> : tensor<2xindex>],
    result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<> : tensor<0xindex>],
    output_operand_aliases = [#stablehlo.output_operand_alias<
      output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>]
  } : (tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<i32>)
  return %0#0 : tensor<2x2xf32>
}"""
TOTAL = """
module attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=8]>
  func.func public @main(
      %x: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (
      tensor<f32> {sdy.sharding = #sdy.sharding<@mesh, []>}) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0]
      : (tensor<16xf32>, tensor<f32>) -> tensor<f32>
    return %sum : tensor<f32>
  }
}"""


def arrays(*values):
    return [device_put(np.asarray(v, np.float32)) for v in values]


def test_an_executable_runs():
    program = Executable(compile_text(ADD, devices()[:1]), [F4, F4], [F4])
    (z,) = program.execute(arrays([0, 1, 2, 3], [1, 1, 1, 1]))
    assert z.tolist() == [1, 2, 3, 4]
    assert z.aval is F4
    assert not z.committed


def test_an_executable_has_text_costs_and_sizes():
    program = Executable(compile_text(ADD, devices()[:1]), [F4, F4], [F4])
    assert program.as_text().startswith("HloModule")
    assert program.cost_analysis()["flops"] == 4
    assert program.memory_analysis().argument_size_in_bytes == 32
    assert program.kept_var_indices == (0, 1)


def test_a_serialized_executable_runs():
    one_device = devices()[:1]
    data = Executable(compile_text(ADD, one_device), [F4, F4], [F4]).serialize()
    program = Executable(deserialize(data, one_device), [F4, F4], [F4])
    assert program.execute(arrays([1] * 4, [2] * 4))[0].tolist() == [3] * 4


def test_lapack_kernels_are_registered():
    aval = ShapedArray((2, 2), np.float32)
    program = Executable(compile_text(CHOLESKY, devices("cpu")[:1]), [aval], [aval])
    (factor,) = program.execute([device_put(np.array([[4, 2], [2, 5]], "float32"))])
    np.testing.assert_allclose(np.tril(np.asarray(factor)), [[2, 0], [1, 2]])


def test_partitioned_sum_is_an_all_reduce(eight_devices):
    sharding = NamedSharding(Mesh(eight_devices, "x"), P("x"))
    everywhere = NamedSharding(Mesh(eight_devices, "x"), P())
    program = Executable(
        compile_text(TOTAL, eight_devices, num_partitions=8),
        [ShapedArray((16,), np.float32)],
        [ShapedArray((), np.float32)],
        in_shardings=[sharding],
        out_shardings=[everywhere],
        committed=True,
    )
    assert "all-reduce" in program.as_text()
    (total,) = program.execute([device_put(np.arange(16, dtype="float32"), sharding)])
    assert float(total) == 120
    assert total.is_fully_replicated


def test_deleted_argument_is_named():
    program = Executable(compile_text(ADD, devices()[:1]), [F4, F4], [F4])
    x, y = arrays([1] * 4, [2] * 4)
    y.delete()
    with pytest.raises(RuntimeError, match="This array was deleted: float"):
        program.execute([x, y])


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"text": "nonsense"}, (JaxRuntimeError, ValueError), "(?i)pars"),
        ({"compiler_options": {"xla_nonesuch": True}}, JaxRuntimeError, "xla_nonesuch"),
        ({"compiler_options": {"xla_dump_to": []}}, TypeError, r"options\['xla_dump_to'\]"),
        ({"num_partitions": 2}, ValueError, "needs 2 devices, got 1"),
    ],
)
def test_invalid_arguments_raise(arguments, error, text):
    with pytest.raises(error, match=text):
        compile_text(**{"text": ADD, "devices": devices()[:1], **arguments})


def test_get_compile_options_sets_its_arguments():
    """The oracle returns the same."""
    options = get_compile_options(
        2, 2, device_assignment=[[0, 1], [2, 3]], env_options_overrides={"a": True}
    )
    assert (options.num_replicas, options.num_partitions) == (2, 2)
    assert options.env_option_overrides == [("a", True)]
    assert get_compile_options(1, 1).device_assignment is None
    profile = get_compile_options(1, 1, fdo_profile=b"abc").executable_build_options.fdo_profile
    assert profile == b"abc"
    with pytest.raises(ValueError, match="has 2 devices, but 2 replicas of 2 partitions need 4"):
        get_compile_options(2, 2, device_assignment=[0, 1])


@pytest.mark.parametrize("name", ["optimization_level", "memory_fitting_level"])
def test_levels_of_effort_are_options_of_compilation(name):
    levels = {"O0": 9, "O3": 39, "UNKNOWN": 0, 0: 0, 19: 19}
    for value, level in levels.items():
        options = compile_options(devices()[:1], options={name: value, "xla_dump_to": "x"})
        assert getattr(options.executable_build_options, name) == level
        assert ("xla_dump_to", "x") in options.env_option_overrides
    for value in ("EFFORT_O0", 1, True, "1", None):
        with pytest.raises(ValueError, match="expected one of UNKNOWN, O0"):
            compile_options(devices()[:1], options={name: value})
