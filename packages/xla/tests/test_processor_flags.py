"""XLA's flags that suit a processor."""

import pytest

from ricci_xla import compile_options, devices
from ricci_xla.devices import _machine as machine_module
from ricci_xla.devices import processor_flags

WIDTH = "xla_cpu_prefer_vector_width"
MACHINES = {
    "cpu znver4 +avx2,+avx512f,+avx512vbmi2,+sse": {WIDTH: 512},
    "cpu skylake-avx512 +avx2,+avx512f,-avx512vbmi2,+sse": {},
    "cpu apple-m1 +neon": {},
}


def use_machine(monkeypatch, machine: str, xla_flags: str = "") -> None:
    monkeypatch.setattr(machine_module, "machine_of", lambda client: machine)
    monkeypatch.setenv("XLA_FLAGS", xla_flags)


@pytest.mark.parametrize("machine", MACHINES)
def test_vectors_are_wide_where_the_processor_has_them(machine, monkeypatch):
    use_machine(monkeypatch, machine)
    cpu = devices("cpu")[0]
    assert processor_flags(cpu) == MACHINES[machine]
    assert compile_options([cpu]).env_option_overrides == list(MACHINES[machine].items())


def test_flags_of_the_user_win(monkeypatch):
    cpu = devices("cpu")[0]
    use_machine(monkeypatch, next(iter(MACHINES)), f"--{WIDTH}=128")
    assert compile_options([cpu]).env_option_overrides == []
    use_machine(monkeypatch, next(iter(MACHINES)))
    options = compile_options([cpu], options={WIDTH: 256})
    assert options.env_option_overrides == [(WIDTH, 256)]


def module_of(operation: str, size: int) -> str:
    array = f"tensor<{size}xf32>"
    return f"""
func.func public @main(%x: {array}, %y: {array}) -> {array} {{
  %0 = stablehlo.{operation} %x, %y : {array}
  %1 = stablehlo.multiply %0, %y : {array}
  return %1 : {array}
}}
"""


@pytest.mark.parametrize(
    ("operation", "size", "narrow"),
    [("add", 1_000_000, True), ("add", 100_000, False), ("divide", 1_000_000, False)],
)
def test_vectors_are_narrow_for_large_arrays_that_little_is_computed_of(
    operation, size, narrow, monkeypatch
):
    use_machine(monkeypatch, next(iter(MACHINES)))
    cpu, text = devices("cpu")[0], module_of(operation, size)
    assert processor_flags(cpu, text) == ({} if narrow else {WIDTH: 512})
    assert processor_flags(cpu, text.encode()) == {WIDTH: 512}
