"""Finding PJRT plugins in installed packages, and modules that register plugins."""

import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
from jaxlib import _profiler, xla_client

from ricci_stablehlo import kernel_descriptors
from ricci_xla.devices import _kernel_descriptors, _plugins
from ricci_xla.devices._cuda_versions import SKIP_VARIABLES, check_cuda_versions
from ricci_xla.devices._plugins import (
    Plugin,
    PluginModules,
    cuda_options,
    find_cuda_plugin,
    find_plugins,
    likely_plugins,
)


def install(folder: Path, *files: str) -> None:
    for file in files:
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text("raise AssertionError('must not be imported')")


@pytest.fixture
def site(tmp_path, monkeypatch):
    if find_cuda_plugin() is not None:
        pytest.skip("a CUDA plugin is installed here and would be found first")
    if _plugins.find_libtpu() is not None:
        pytest.skip("libtpu is installed here and would be found first")
    for name in _plugins._VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(_plugins, "has_tpu", lambda: False)
    for name in [n for n in sys.modules if n.split(".")[0] == "jax"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    for name in [n for n in sys.modules if n.split(".")[0] == "jax_plugins"]:
        del sys.modules[name]


def test_no_plugin_is_found_without_packages(site):
    assert find_plugins() == {}


@pytest.mark.parametrize("version", [12, 13])
@pytest.mark.parametrize("kernels", [False, True])
def test_cuda_plugin_is_found_by_its_files(site, version, kernels):
    folder = f"jax_plugins/xla_cuda{version}"
    install(site, f"{folder}/__init__.py", f"{folder}/xla_cuda_plugin.so")
    package = f"jax_cuda{version}_plugin"
    if kernels:
        install(site, f"{package}/__init__.py")
    library = site / folder / "xla_cuda_plugin.so"
    assert find_plugins() == {"cuda": Plugin("cuda", library, package if kernels else "")}


def test_newer_cuda_comes_first(site):
    for version in (12, 13):
        install(site, f"jax_plugins/xla_cuda{version}/xla_cuda_plugin.so")
    assert "xla_cuda13" in str(find_plugins()["cuda"].library)


def test_plugin_named_in_the_environment(monkeypatch):
    monkeypatch.setenv("PJRT_NAMES_AND_LIBRARY_PATHS", "own:/opt/own.so")
    assert find_plugins()["own"] == Plugin("own", Path("/opt/own.so"))


def test_malformed_entry_in_the_environment_is_named(monkeypatch):
    monkeypatch.setenv("PJRT_NAMES_AND_LIBRARY_PATHS", "own")
    with pytest.raises(RuntimeError, match="'own'; expected name:path"):
        find_plugins()


def test_cuda_client_joins_the_cluster():
    found = cuda_options({"client": object(), "process_id": 3, "num_processes": 8})
    assert (found["node_id"], found["num_nodes"]) == (3, 8)


def test_cuda_client_alone_names_no_cluster():
    assert not {"node_id", "num_nodes"} & set(cuda_options({}))


def test_libtpu_is_found_before_cuda(site):
    install(site, "libtpu/__init__.py", "libtpu/libtpu.so")
    install(site, "jax_plugins/xla_cuda13/xla_cuda_plugin.so")
    assert list(find_plugins()) == ["tpu", "cuda"]
    assert find_plugins()["tpu"] == Plugin("tpu", site / "libtpu" / "libtpu.so")


def test_libtpu_may_be_named_in_the_environment(site, monkeypatch):
    monkeypatch.setenv("TPU_LIBRARY_PATH", "/opt/libtpu.so")
    assert find_plugins() == {"tpu": Plugin("tpu", Path("/opt/libtpu.so"))}


@pytest.mark.parametrize("variable", [None, *_plugins._VARIABLES])
@pytest.mark.parametrize("attached", [False, True])
def test_libtpu_is_tried_unasked_only_where_a_tpu_may_be(site, monkeypatch, variable, attached):
    install(site, "libtpu/__init__.py", "libtpu/libtpu.so")
    monkeypatch.setattr(_plugins, "has_tpu", lambda: attached)
    if variable is not None:
        monkeypatch.setenv(variable, "1")
    assert list(likely_plugins(find_plugins())) == ["tpu"] * (attached or variable is not None)


def test_metadata_server_is_not_asked_where_no_tpu_is(site, monkeypatch):
    asked = []

    def make(*args):
        asked.append(os.environ.get("TPU_SKIP_MDS_QUERY"))

    monkeypatch.delenv("TPU_SKIP_MDS_QUERY", raising=False)
    monkeypatch.setattr(_plugins, "load_plugin", lambda name, library: None)
    monkeypatch.setattr(xla_client, "make_c_api_client", make)
    monkeypatch.setattr(_plugins, "_register_profiler", lambda platform: None)
    _plugins.make_plugin_client(Plugin("tpu", Path("/libtpu.so")), {})
    monkeypatch.setenv("TPU_WORKER_ID", "0")
    _plugins.make_plugin_client(Plugin("tpu", Path("/libtpu.so")), {})
    assert asked == ["1", None]


REGISTERS = """
import jax._src.xla_bridge as xb
from jax._src import xla_bridge
def initialize():
    xb.register_plugin("{name}", priority=7)
    xla_bridge.register_plugin("{name}", options={{"a": 1}})
"""


def install_module(site: Path, how: str, text: str) -> str:
    """Install a module of a plugin, and return its name."""
    name = {"namespace": "jax_plugins.fake", "entry point": "fake_plugin"}[how]
    folder = site / name.replace(".", "/")
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(text)
    if how == "entry point":
        metadata = site / "fake_plugin-1.0.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: fake_plugin\nVersion: 1.0")
        (metadata / "entry_points.txt").write_text(f"[jax_plugins]\nfake = {name}\n")
    importlib.invalidate_caches()
    return name


@pytest.fixture(params=["namespace", "entry point"])
def how(request, site):
    yield request.param
    sys.modules.pop("fake_plugin", None)


def test_modules_of_plugins_are_initialized_once(site, how):
    install_module(site, how, REGISTERS.format(name="fake"))
    calls = []
    register = lambda *args, **kwargs: calls.append((args, kwargs))
    modules = PluginModules()
    for _ in range(2):
        modules.initialize({"register_plugin": register})
    assert not modules.failed
    assert calls == [(("fake",), {"priority": 7}), (("fake",), {"options": {"a": 1}})]


def test_module_that_is_an_entry_point_too_is_initialized_once(site):
    install_module(site, "namespace", "def initialize(): print('initialized')")
    metadata = site / "fake-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: fake\nVersion: 1.0")
    (metadata / "entry_points.txt").write_text("[jax_plugins]\nfake = jax_plugins.fake\n")
    modules = PluginModules()
    modules.initialize({})
    assert modules.initialized == {"jax_plugins.fake"}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("raise ImportError('no libfake.so.1')", "ImportError: no libfake.so.1"),
        ("def initialize(): raise RuntimeError('no driver')", "RuntimeError: no driver"),
        ("", "AttributeError: module .* has no attribute 'initialize'"),
    ],
)
def test_module_that_fails_is_named_with_path_and_reason(site, how, text, reason):
    name = install_module(site, how, text)
    modules = PluginModules()
    modules.initialize({})
    path = site / name.replace(".", "/") / "__init__.py"
    with pytest.raises(RuntimeError, match=f"{name} .{path}. .*{reason}\n.*uninstall it"):
        raise RuntimeError(modules.failed[name])


def test_modules_of_cuda_are_not_imported(site):
    install(site, "jax_plugins/xla_cuda13/__init__.py")
    modules = PluginModules()
    modules.initialize({})
    assert not modules.failed and not modules.initialized


WORKING = """
import jax._src.xla_bridge as xb
from jaxlib import _profiler, xla_client
def make():
    return xla_client.make_cpu_client(num_devices=3)
def initialize():
    assert xb.register_plugin("fake", factory=make) is None
"""
NO_OBJECT = """
import jax._src.xla_bridge as xb
def initialize():
    xb.register_plugin("fake", library_path=__file__)
"""


def devices_in_a_process(site: Path, platforms: str) -> subprocess.CompletedProcess[str]:
    code = "import ricci_xla; print(len(ricci_xla.devices()), list(ricci_xla.backends()))"
    own = {k: v for k, v in os.environ.items() if not k.startswith(("RICCI_", "JAX_"))}
    environment = {
        **own,
        "PYTHONPATH": f"{site}:{':'.join(path for path in sys.path if path)}",
        "JAX_PLATFORMS": platforms,
        "XLA_FLAGS": "",
    }
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False
    )


@pytest.mark.parametrize("platforms", ["", "fake", "fake,cpu", "cpu"])
def test_registered_platform_comes_before_the_cpu(site, platforms):
    install_module(site, "namespace", WORKING)
    expected = {
        "": "3 ['fake', 'cpu']",
        "fake": "3 ['fake']",
        "fake,cpu": "3 ['fake', 'cpu']",
        "cpu": "1 ['cpu']",
    }
    done = devices_in_a_process(site, platforms)
    assert done.stdout.strip() == expected[platforms], done.stderr


@pytest.mark.parametrize("platforms", ["", "fake", "cpu"])
def test_an_unloadable_plugin_is_an_error_if_it_is_requested(site, platforms):
    install_module(site, "namespace", NO_OBJECT)
    done = devices_in_a_process(site, platforms)
    path = site / "jax_plugins/fake/__init__.py"
    assert (f"The plugin module jax_plugins.fake ({path})" in done.stderr) == (platforms != "cpu")
    assert (done.returncode == 0) == (platforms != "fake"), done.stderr


def test_events_of_a_plugins_devices_are_in_profiles(monkeypatch):
    registered = []
    monkeypatch.setattr(_profiler, "register_plugin_profiler", registered.append)
    monkeypatch.setattr(_plugins.runtime, "get_pjrt_plugin", lambda platform: f"API of {platform}")
    monkeypatch.setattr(_plugins, "load_plugin", lambda platform, library: None)
    monkeypatch.setattr(_plugins, "_register_cuda_kernels", lambda plugin: None)
    monkeypatch.setattr(xla_client, "make_c_api_client", lambda *args: object())
    _plugins._register_profiler.cache_clear()
    for platform in ("tpu", "cuda", "own", "cuda"):
        _plugins.make_plugin_client(Plugin(platform, Path("plugin.so")), {})
    _plugins._register_profiler.cache_clear()
    assert registered == ["API of tpu", "API of cuda", "API of own"]


BUILT = {"cuda_runtime": 13000, "cublas": 130000, "cudnn": 91200, "cufft": 12000}
BUILT |= {"cupti": 130000, "cusparse": 12602}
VERSIONS = """
def version(number):
    def get():
        if isinstance(number, str):
            raise RuntimeError(number)
        return number
    return get

cuda_driver_get_version = version({driver})
for name, number in {built}.items():
    globals()[name + "_build_version"] = version(number)
for name, number in {installed}.items():
    globals()[name + "_get_version"] = version(number)
"""


def install_kernels(site: Path, driver: int = 13000, **installed: int | str) -> None:
    """Install a plugin's kernels; a text instead of a library's version is an error."""
    package = site / "jax_cuda13_plugin"
    package.mkdir()
    (package / "__init__.py").touch()
    versions = VERSIONS.format(driver=driver, built=BUILT, installed=BUILT | installed)
    (package / "_versions.py").write_text(versions)
    (package / "_sparse.py").write_text("def build_coo_matvec_descriptor(*sizes): return sizes")
    importlib.invalidate_caches()


@pytest.fixture
def descriptors(site):
    _kernel_descriptors.plugin_descriptors.cache_clear()
    yield kernel_descriptors.call
    _kernel_descriptors.plugin_descriptors.cache_clear()
    for name in [n for n in sys.modules if n.split(".")[0] == "jax_cuda13_plugin"]:
        del sys.modules[name]


def test_kernels_are_described_by_the_plugin_where_a_driver_is(site, descriptors):
    install_kernels(site, driver=13000)
    assert descriptors("cuda", "sparse").build_coo_matvec_descriptor(3, 4) == (3, 4)
    assert descriptors("cpu", "sparse") is None


def test_kernels_are_not_described_without_a_plugin_or_driver(site, descriptors):
    assert descriptors("cuda", "sparse") is None
    _kernel_descriptors.plugin_descriptors.cache_clear()
    install_kernels(site, driver=0)
    assert descriptors("cuda", "sparse") is None


@pytest.fixture
def kernels(site, monkeypatch):
    for name in SKIP_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    yield site
    for name in [n for n in sys.modules if n.split(".")[0] == "jax_cuda13_plugin"]:
        del sys.modules[name]


# A library's version, and the message on it: the last version that is refused, the first that is
# not, and a library that cannot be loaded.
@pytest.mark.parametrize(
    ("library", "version", "message"),
    [
        ("cuda_runtime", 12009, "CUDA runtime 12009 is installed, but 12010 or newer is needed"),
        ("cuda_runtime", 12010, None),
        ("cublas", 120099, "cuBLAS 120099 is installed, but 120100 or newer is needed"),
        ("cublas", 120100, None),
        ("cudnn", 91199, "cuDNN 91199 is installed, but 91200 or newer is needed"),
        ("cudnn", 91200, None),
        ("cudnn", 91300, None),
        ("cufft", 119, "cuFFT 119 is installed, but 120 or newer is needed"),
        ("cufft", 11000, None),
        ("cupti", 17, "cuPTI 17 is installed, but 18 or newer is needed"),
        ("cupti", 18, None),
        ("cusparse", 12099, "cuSPARSE 12099 is installed, but 12100 or newer is needed"),
        ("cusparse", 12100, None),
        ("cusparse", "libcusparse.so.12 not found", "cuSPARSE cannot be loaded: libcusparse.so.12"),
    ],
)
def test_libraries_that_are_missing_or_too_old_are_named(kernels, library, version, message):
    install_kernels(kernels, **{library: version})
    importlib.invalidate_caches()
    if message is None:
        check_cuda_versions("jax_cuda13_plugin")
    else:
        with pytest.raises(RuntimeError, match=message):
            check_cuda_versions("jax_cuda13_plugin")


def test_all_problems_of_libraries_are_in_one_error(kernels):
    install_kernels(kernels, cublas=1, cudnn="no cuDNN")
    importlib.invalidate_caches()
    with pytest.raises(RuntimeError) as raised:
        check_cuda_versions("jax_cuda13_plugin")
    assert "cuBLAS 1 is" in str(raised.value) and "cuDNN cannot be loaded" in str(raised.value)
    assert "SKIP_CUDA_CONSTRAINTS_CHECK=1" in str(raised.value)


@pytest.mark.parametrize("variable", [*SKIP_VARIABLES, None])
def test_libraries_are_checked_before_a_client_is_made_unless_skipped(
    kernels, monkeypatch, variable
):
    install_kernels(kernels, cublas=1)
    importlib.invalidate_caches()
    monkeypatch.setattr(_plugins, "load_cuda_plugin", lambda plugin: None)
    monkeypatch.setattr(xla_client, "make_c_api_client", lambda *args: "client")
    monkeypatch.setattr(_plugins, "_register_profiler", lambda platform: None)
    plugin = Plugin("cuda", Path("/cuda.so"), "jax_cuda13_plugin")
    if variable is None:
        with pytest.raises(RuntimeError, match="cuBLAS"):
            _plugins.make_plugin_client(plugin, {})
    else:
        monkeypatch.setenv(variable, "1")
        assert _plugins.make_plugin_client(plugin, {}) == "client"


def test_libraries_are_not_asked_without_a_driver(kernels):
    install_kernels(kernels, driver=0, cublas="cuBLAS internal error")
    importlib.invalidate_caches()
    check_cuda_versions("jax_cuda13_plugin")
