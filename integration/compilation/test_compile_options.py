"""Options that act where a program is compiled: files, warnings, messages, what XLA is told."""

import logging

import numpy as np
import pytest

from ricci.lax import add, mul, sin
from ricci_ir import config
from ricci_xla import JaxRuntimeError, compile_options, devices, jit
from ricci_xla.devices import _client, _plugins


@pytest.fixture
def setting():
    """Sets options, and sets them back."""
    before = {}

    def update(name, value):
        before.setdefault(name, config.values[name])
        config.update(name, value)

    yield update
    for name, value in before.items():
        config.update(name, value)


@pytest.fixture
def no_devices(monkeypatch):
    """As before there are any: options of devices can be set."""
    monkeypatch.setattr(_client._clients, "by_platform", None)


def test_programs_are_written_to_the_folder(setting, tmp_path):
    folder = tmp_path / "new" / "folder"
    setting("jax_dump_ir_to", str(folder))
    setting("jax_dump_ir_modes", "stablehlo, jaxpr")

    def double(x):
        return add(x, x)

    jit(double)(np.float32(1))
    files = {file.suffix: file for file in folder.iterdir()}
    assert files[".mlir"].name.endswith("_jit_double_compile.mlir")
    text = files[".mlir"].read_text()
    assert "module @jit_double" in text and "stablehlo.add" in text and "loc(" in text
    assert files[".txt"].name.endswith("_double.jaxpr.txt")
    assert "add a a" in files[".txt"].read_text()


def test_each_program_is_dumped_to_one_file(setting, tmp_path):
    setting("jax_dump_ir_to", str(tmp_path))
    for factor in (2.0, 3.0):
        jit(lambda x, factor=factor: mul(x, factor))(np.float32(1))
    assert len(list(tmp_path.iterdir())) == 2


def test_the_folder_of_the_test_runner(setting, tmp_path, monkeypatch):
    setting("jax_dump_ir_to", "sponge")
    monkeypatch.delenv("TEST_UNDECLARED_OUTPUTS_DIR", raising=False)
    with pytest.raises(ValueError, match="TEST_UNDECLARED_OUTPUTS_DIR"):
        jit(lambda x: mul(x, 4.0))(np.float32(1))
    monkeypatch.setenv("TEST_UNDECLARED_OUTPUTS_DIR", str(tmp_path))
    jit(lambda x: mul(x, 5.0))(np.float32(1))
    assert len(list(tmp_path.iterdir())) == 1


def test_large_constants_are_named_with_the_line_that_uses_them(setting):
    setting("jax_captured_constants_warn_bytes", 4000)
    constant = np.ones(2000, np.float32)
    with pytest.warns(UserWarning, match=r"(?s)8 kB.*float32\[2000\].*used by add at .*\.py:"):
        jit(lambda x: add(x, constant)).lower(constant)


@pytest.mark.parametrize("limit", [-1, 9000])
def test_smaller_constants_do_not_warn(setting, limit, recwarn):
    setting("jax_captured_constants_warn_bytes", limit)
    constant = np.ones(2000, np.float32)
    jit(lambda x: add(x, constant)).lower(constant)
    assert not recwarn


def test_fewer_optimizations_give_the_same_values(setting):
    setting("jax_disable_most_optimizations", True)
    setting("jax_compiler_enable_remat_pass", False)
    x = np.linspace(0, 1, 5, dtype=np.float32)
    assert np.allclose(jit(lambda x: mul(sin(x), 2.0))(x), 2 * np.sin(x))
    debug = (options := compile_options(devices()[:1])).executable_build_options.debug_options
    assert debug.xla_llvm_disable_expensive_passes and options is not None


def test_the_level_of_messages(setting, capsys):
    setting("jax_logging_level", "INFO")
    logging.getLogger("ricci.dispatch").info("said")
    logging.getLogger("ricci.dispatch").debug("not said")
    setting("jax_debug_log_modules", "ricci.dispatch")
    logging.getLogger("ricci.dispatch").debug("said now")
    logging.getLogger("ricci.compile").debug("not said")
    setting("jax_debug_log_modules", "jax._src.compiler")
    logging.getLogger("ricci.compile").debug("said for another name")
    lines = [line.rpartition(": ")[2] for line in capsys.readouterr().err.splitlines()]
    assert lines == ["said", "said now", "said for another name"]


def test_loggers_are_as_before_afterwards(setting):
    logger = logging.getLogger("ricci")
    before = logger.level, list(logger.handlers)
    setting("jax_logging_level", "DEBUG")
    setting("jax_logging_level", "NOTSET")
    assert (logger.level, logger.handlers) == before


@pytest.mark.parametrize("text", ["one", ":1", "a:1;b"])
def test_malformed_options_for_plugins_are_named(no_devices, setting, text):
    setting("jax_pjrt_client_create_options", text)
    with pytest.raises(ValueError, match="expected name:value"):
        _plugins.client_options()


def test_malformed_numbers_of_devices_are_named(no_devices, setting):
    setting("jax_cuda_visible_devices", "first")
    with pytest.raises(ValueError, match="jax_cuda_visible_devices='first'"):
        _plugins.visible_devices()


def test_plugins_are_given_their_options(no_devices, setting, monkeypatch):
    given = []
    monkeypatch.setattr(
        _plugins.load_xla_client(), "make_c_api_client", lambda *args: given.append(args[1])
    )
    monkeypatch.setattr(_plugins.runtime, "pjrt_plugin_loaded", lambda name: True)
    monkeypatch.setattr(_plugins.runtime, "pjrt_plugin_initialized", lambda name: True)
    monkeypatch.setattr(_plugins, "_register_profiler", lambda platform: None)
    setting("jax_pjrt_client_create_options", "a:1")
    _plugins.make_plugin_client(_plugins.Plugin("own", None), {})
    setting("jax_cuda_visible_devices", "1")
    _plugins.make_plugin_client(_plugins.Plugin("cuda", None), {})
    assert given[0] == {"a": "1"}
    assert given[1]["visible_devices"] == [1] and given[1]["a"] == "1"


def test_an_unknown_default_device_is_refused(setting):
    with pytest.raises(ValueError, match=r"jax_default_device.*cpu.*'nowhere'"):
        setting("jax_default_device", "nowhere")
    assert config.jax_default_device is None


def test_a_process_goes_on_after_a_forbidden_copy(setting):
    setting("jax_transfer_guard", "disallow")
    with pytest.raises(JaxRuntimeError, match="Disallowed"):
        jit(sin)(np.ones(3, np.float32))
    setting("jax_transfer_guard", None)
    assert jit(sin)(np.ones(3, np.float32)).shape == (3,)
