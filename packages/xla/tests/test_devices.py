"""Clients and devices: made when asked for, found by name, counted."""

import os
import subprocess
import sys

import pytest

from ricci_ir import config
from ricci_xla import (
    JaxRuntimeError,
    XlaRuntimeError,
    backends,
    default_backend,
    device_count,
    devices,
    get_default_device,
    host_count,
    host_id,
    host_ids,
    local_device_count,
    local_devices,
    print_environment_info,
    process_count,
    process_index,
    process_indices,
)


def in_new_process(code: str, **environ: str) -> subprocess.CompletedProcess:
    ours = ("RICCI_", "JAX_", "XLA_FLAGS")
    outer = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**outer, **environ},
        capture_output=True,
        text=True,
        check=False,
    )


def test_importing_makes_no_client():
    code = "import ricci_xla; print(ricci_xla.backends_are_made())"
    assert in_new_process(code).stdout == "False\n"


def test_importing_does_not_import_scipy_or_jax():
    code = "import sys, ricci_xla; print({'scipy', 'jax', 'jaxlib.mlir'} & set(sys.modules))"
    assert in_new_process(code).stdout == "set()\n"


def test_using_devices_writes_no_log():
    assert in_new_process("import ricci_xla; ricci_xla.devices()").stderr == ""


@pytest.mark.parametrize(
    "environ",
    [
        {"RICCI_NUM_CPU_DEVICES": "3"},
        {"JAX_NUM_CPU_DEVICES": "3"},
        {"XLA_FLAGS": "--xla_force_host_platform_device_count=3"},
    ],
    ids=lambda environ: next(iter(environ)),
)
def test_number_of_virtual_devices_from_environment(environ):
    code = "import ricci_xla; print(ricci_xla.device_count('cpu'))"
    assert in_new_process(code, **environ).stdout == "3\n"


@pytest.mark.parametrize("variable", ["RICCI_PLATFORMS", "JAX_PLATFORMS"])
def test_platform_that_is_not_installed_is_named(variable):
    result = in_new_process("import ricci_xla; ricci_xla.devices()", **{variable: "nonesuch"})
    assert "'nonesuch'" in result.stderr
    assert "Installed: cpu" in result.stderr


@pytest.mark.parametrize("platform", ["gpu", "nonesuch"])
def test_unknown_backend_error_names_the_available_ones(platform):
    if platform in ("gpu",) and {"cuda", "rocm"} & set(backends()):
        pytest.skip("there is a GPU here")
    with pytest.raises(RuntimeError, match=rf"(?i)no backend named .{platform}[\s\S]*cpu"):
        devices(platform)


def test_counts_agree():
    count = len(devices("cpu"))
    assert device_count("cpu") == local_device_count("cpu") == count
    assert local_devices(backend="cpu") == devices("cpu")


def test_one_process():
    assert (process_index(), process_count(), process_indices()) == (0, 1, [0])
    assert (host_id(), host_count(), host_ids()) == (0, 1, [0])


def test_local_devices_raises_on_an_unknown_process():
    with pytest.raises(ValueError, match="the processes that take part"):
        local_devices(process_index=3)


def test_default_device_follows_the_option(eight_devices):
    before = get_default_device()
    with config.state("jax_default_device")(eight_devices[2]):
        assert get_default_device() == eight_devices[2]
    assert get_default_device() == before


def test_default_backend_is_a_platform():
    assert default_backend() in ("cpu", "gpu", "tpu")


def test_error_classes_are_jaxlibs():
    assert issubclass(JaxRuntimeError, RuntimeError)
    assert XlaRuntimeError is JaxRuntimeError


def test_the_environment_is_printed_or_returned(capsys, monkeypatch):
    monkeypatch.setenv("XLA_FLAGS_FOR_A_TEST", "seen")
    text = print_environment_info(return_string=True)
    for part in ("jaxlib: ", "python: ", "device info: ", "process_count: 1", "FOR_A_TEST=seen"):
        assert part in text
    assert print_environment_info() is None
    assert capsys.readouterr().out == text + "\n"
