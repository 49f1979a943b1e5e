"""PJRT plugins: how installed ones are found, and loaded when a client is requested.

A module in ``jax_plugins`` or behind one of its entry points has a function ``initialize()``, which
calls ``jax._src.xla_bridge.register_plugin``.
"""

import importlib
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ricci_ir import TupleRecord, config

from ._jaxlib import jaxlib_version, load_xla_client, runtime
from ._registration import shown_to_jaxlib
from ._runtime_types import Client

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec


def package_folder(name: str) -> Path | None:
    """Return the folder of an installed package without importing it, or None."""
    # Only the folder is looked for, since importing `jax_plugins.xla_cuda13` would import JAX.
    parent, _, child = name.rpartition(".")
    for folder in package_folders(parent or child):
        inside = folder / child if parent else folder
        if inside.is_dir():
            return inside
    return None


def package_folders(name: str) -> list[Path]:
    """Return the folders of a package, of which a namespace package may have several."""
    spec = _find_spec(name)
    locations = None if spec is None else spec.submodule_search_locations
    return [Path(location) for location in locations or ()]


def _find_spec(name: str) -> "ModuleSpec | None":
    """Return the specification of a module, or ``None`` if it is not installed."""
    from importlib.util import find_spec  # noqa: PLC0415 - lazy: most programs have no plugins

    try:
        return find_spec(name)
    except (ImportError, ValueError):
        return None


def has_entry_points(group: str) -> bool:
    """Whether a distribution has entry points of a group; ``importlib.metadata`` loads slowly."""
    header = f"[{group}]".encode()
    return any(header in text for text in _entry_points())


def _entry_points() -> Iterator[bytes]:
    for path in sys.path:
        try:
            names = os.listdir(path or ".")
        except OSError:
            continue  # a path need not exist, or is an archive
        for name in names:
            if name.endswith((".dist-info", ".egg-info")):
                try:
                    with open(os.path.join(path, name, "entry_points.txt"), "rb") as file:
                        yield file.read()
                except OSError:
                    continue  # most distributions have none


_GOOGLE_PCI_VENDOR = "0x1ae0"
# Variables that cloud services with TPUs set, and users who partition a machine's TPUs.
_VARIABLES = (
    *("CLOUD_TPU_TASK_ID", "COLAB_TPU_ADDR", "TPU_NAME", "TPU_PROCESS_BOUNDS", "TPU_TOPOLOGY"),
    *("TPU_VISIBLE_CHIPS", "TPU_VISIBLE_DEVICES", "TPU_WORKER_ID"),
)
# Without a TPU, libtpu would query a metadata server of the cloud for these, for minutes, and let
# only one process load it.
_OFFLINE = {
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
    "TPU_SKIP_MDS_QUERY": "1",
    "TPU_WORKER_HOSTNAMES": "localhost",
}


def find_libtpu() -> Path | None:
    """Return the shared object of libtpu: ``TPU_LIBRARY_PATH``, else that of the package."""
    path = os.environ.get("TPU_LIBRARY_PATH")
    if path:
        return Path(path)
    folder = package_folder("libtpu")
    library = folder and folder / "libtpu.so"
    return library if library and library.exists() else None


@cache
def has_tpu() -> bool:
    """Whether a TPU is attached to this machine."""
    nodes = [*Path("/dev").glob("accel[0-9]*"), *Path("/dev/vfio").glob("[0-9]*")]
    vendors = Path("/sys/bus/pci/devices").glob("*/vendor")
    return bool(nodes) and any(f.read_text().strip() == _GOOGLE_PCI_VENDOR for f in vendors)


def may_have_tpu() -> bool:
    """Whether a TPU is attached, or announced by an environment variable."""
    return any(name in os.environ for name in _VARIABLES) or has_tpu()


@contextmanager
def without_metadata_server() -> Iterator[None]:
    """Keep libtpu from querying a metadata server, on a machine that has no TPU."""
    missing = {} if has_tpu() else {k: v for k, v in _OFFLINE.items() if k not in os.environ}
    os.environ.update(missing)
    try:
        yield
    finally:
        for name in missing:
            os.environ.pop(name, None)


_CUDA_VERSIONS = (13, 12)
# XLA's name of the platform, under which the kernels in the plugin's wheel are registered.
_XLA_PLATFORM = "CUDA"
# jaxlib's lists of the custom calls in the plugin's wheel. Importing them imports that wheel.
_KERNEL_MODULES = ("jaxlib.gpu_linalg", "jaxlib.gpu_prng", "jaxlib.gpu_solver", "jaxlib.gpu_sparse")


class Plugin(TupleRecord):
    """An installed PJRT plugin.

    Attributes:
      platform: the platform it serves, such as ``"cuda"``.
      library: its shared object.
      kernels: the package with the plugin's custom-call kernels, or ``""`` for none.
    """

    platform: str
    library: Path
    kernels: str = ""


def cuda_kernels_package() -> str:
    """The package with the kernels of the newest CUDA plugin that is installed, or ``""``."""
    for version in _CUDA_VERSIONS:
        if package_folder(package := f"jax_cuda{version}_plugin"):
            return package
    return ""


def find_cuda_plugin() -> Plugin | None:
    """The CUDA plugin of the wheel ``jax-cuda13-pjrt`` (or 12), if one is installed."""
    for version in _CUDA_VERSIONS:
        folder = package_folder(f"jax_plugins.xla_cuda{version}")
        if folder is None:
            continue
        library = folder / "xla_cuda_plugin.so"
        if library.exists():
            kernels = f"jax_cuda{version}_plugin"
            return Plugin("cuda", library, kernels if package_folder(kernels) else "")
    return None


def plugins_from_environment() -> list[Plugin]:
    """The plugins that the environment variable ``PJRT_NAMES_AND_LIBRARY_PATHS`` names.

    Its value is a list of ``name:path`` with commas between.

    Raises:
      RuntimeError: if an entry is not of the form ``name:path``.
    """
    plugins = []
    for entry in filter(None, os.environ.get("PJRT_NAMES_AND_LIBRARY_PATHS", "").split(",")):
        platform, colon, path = entry.partition(":")
        if not (platform and colon and path):
            raise RuntimeError(
                f"PJRT_NAMES_AND_LIBRARY_PATHS has the entry {entry!r}; expected name:path."
            )
        plugins.append(Plugin(platform, Path(path)))
    return plugins


def find_plugins() -> dict[str, Plugin]:
    """Return the installed plugins by platform, in order of preference."""
    libtpu, cuda = find_libtpu(), find_cuda_plugin()
    installed = {} if libtpu is None else {"tpu": Plugin("tpu", libtpu)}
    if cuda is not None:
        installed["cuda"] = cuda
    installed.update((plugin.platform, plugin) for plugin in plugins_from_environment())
    return installed


def likely_plugins(installed: Mapping[str, Plugin]) -> dict[str, Plugin]:
    """Return the plugins to try by default: libtpu only if there may be a TPU.

    libtpu is often installed to compile only, and takes a second to detect that there is no TPU.
    """
    return {k: v for k, v in installed.items() if k != "tpu" or may_have_tpu()}


def client_options() -> dict[str, str]:
    """The options of plugins' clients by ``jax_pjrt_client_create_options``.

    Raises:
      ValueError: if an entry is not of the form ``name:value``.
    """
    options = {}
    for entry in filter(None, (config.jax_pjrt_client_create_options or "").split(";")):
        name, colon, value = entry.partition(":")
        if not (name.strip() and colon):
            raise ValueError(
                f"jax_pjrt_client_create_options has the entry {entry!r}; expected name:value, "
                "with semicolons between entries."
            )
        options[name.strip()] = value.strip()
    return options


def visible_devices() -> dict[str, list[int]]:
    """The devices that the CUDA client may use, as an option of the client.

    Raises:
      ValueError: if ``jax_cuda_visible_devices`` is neither ``all`` nor a list of numbers.
    """
    text = config.jax_cuda_visible_devices or "all"
    if text == "all":
        return {}
    try:
        return {"visible_devices": [int(number) for number in text.split(",")]}
    except ValueError:
        raise ValueError(
            f"jax_cuda_visible_devices={text!r}: expected 'all', or device numbers with commas."
        ) from None


def load_plugin(platform: str, library: Path | None) -> None:
    """Load a platform's shared object, unless it is loaded already, and initialize it.

    Raises:
      JaxRuntimeError: if the object cannot be loaded.
    """
    if not runtime.pjrt_plugin_loaded(platform):
        runtime.load_pjrt_plugin(platform, str(library), None)
    if not runtime.pjrt_plugin_initialized(platform):
        runtime.initialize_pjrt_plugin(platform)


def load_cuda_plugin(plugin: Plugin) -> None:
    """Load the shared object of the CUDA plugin and register its kernels, once in a process.

    Raises:
      JaxRuntimeError: if the object cannot be loaded.
    """
    load_plugin(plugin.platform, plugin.library)
    _register_cuda_kernels(plugin)


def make_client(platform: str, options: Mapping[str, Any], coordinator: object = None) -> Client:
    """Create a client of a loaded platform, whose device events will be in profiles.

    Args:
      platform: the platform's name.
      options: the client's options.
      coordinator: the client of the coordination service, if there are several processes.

    Raises:
      JaxRuntimeError: if the plugin finds no device.
    """
    client = load_xla_client().make_c_api_client(platform, options, coordinator)
    _register_profiler(platform)
    return client


@cache
def _register_profiler(platform: str) -> None:
    from jaxlib import _profiler  # noqa: PLC0415  # pyright: ignore - lazy: CPUs need no plugin

    # Not before there is a client: on a machine without a driver, each profile would be an error.
    _profiler.register_plugin_profiler(runtime.get_pjrt_plugin(platform))


def make_plugin_client(plugin: Plugin, distributed: Mapping[str, Any]) -> Client:
    """Load a plugin's shared object, unless it is loaded already, and create its client.

    Args:
      plugin: the plugin.
      distributed: the cluster that the client joins: the ``client`` of the coordination service,
        ``process_id`` and ``num_processes``; empty for none.

    Raises:
      JaxRuntimeError: if the object cannot be loaded or finds no device.
      RuntimeError: if a library of CUDA is missing or too old.
    """
    name = plugin.platform
    if name == "tpu":
        # libtpu finds the other processes' devices by itself.
        with nullcontext() if may_have_tpu() else without_metadata_server():
            load_plugin(name, plugin.library)
            return make_client(name, client_options())
    options, coordinator = client_options(), distributed.get("client")
    if name == "cuda":
        if plugin.kernels:
            from ._cuda_versions import check_cuda_versions  # noqa: PLC0415 - lazy: GPUs need it

            check_cuda_versions(plugin.kernels)
        load_cuda_plugin(plugin)
        options = {**cuda_options(distributed), **options}
    else:
        load_plugin(name, plugin.library)
    return make_client(name, options, coordinator)


def cuda_options(distributed: Mapping[str, Any]) -> dict[str, Any]:
    """The options of the CUDA client: its memory, its devices and its place in a cluster.

    Args:
      distributed: as in `make_plugin_client`. The client finds the other processes' devices, and
        NCCL's communicators, through the coordination service.
    """
    options = {**load_xla_client().generate_pjrt_gpu_plugin_options(), **visible_devices()}
    if distributed:
        options["node_id"] = distributed["process_id"]
        options["num_nodes"] = distributed["num_processes"]
    return options


def _extension(package: str) -> ModuleType | None:
    try:
        return importlib.import_module(f"{package}.cuda_plugin_extension")
    except ImportError as error:
        warnings.warn(f"the GPU kernels of {package} cannot be loaded: {error}", stacklevel=2)
        return None


@cache
def _register_cuda_kernels(plugin: Plugin) -> None:
    extension = _extension(plugin.kernels) if plugin.kernels else None
    if extension is None:
        return
    c_api = runtime.get_pjrt_plugin(plugin.platform)

    def register_target(name, target, platform, api_version=0, traits=0):
        extension.register_custom_call_target(
            c_api, name, target, platform, api_version, int(traits)
        )

    def register_type(name, type_id):
        extension.register_custom_type(c_api, name, type_id)

    xla_client = load_xla_client()
    xla_client.register_custom_type_handler(_XLA_PLATFORM, register_type)
    xla_client.register_custom_call_handler(_XLA_PLATFORM, register_target)
    for name, type_id in extension.ffi_types().items():
        xla_client.register_custom_type(name, type_id, platform=_XLA_PLATFORM)
    for name, target in extension.ffi_handlers().items():
        xla_client.register_custom_call_target(name, target, platform=_XLA_PLATFORM, api_version=1)
    for module in map(importlib.import_module, _KERNEL_MODULES):
        for name, target, version in module.registrations().get(_XLA_PLATFORM, ()):
            xla_client.register_custom_call_target(
                name, target, platform=_XLA_PLATFORM, api_version=version
            )
        for name in getattr(module, "batch_partitionable_targets", list)():
            xla_client.register_custom_call_as_batch_partitionable(name, c_api)
    # jaxlib's module for these registers them when it is imported, for its own clients.
    layers = importlib.import_module(f"{plugin.kernels}._rnn")
    for name, target in layers.registrations().items():
        xla_client.register_custom_call_target(
            name, target, platform=_XLA_PLATFORM, api_version=int(name.endswith("_ffi"))
        )


_GROUP = "jax_plugins"
# Served by ``_plugins``, without the modules, which would import JAX.
_BUILT_IN = ("jax_plugins.xla_cuda12", "jax_plugins.xla_cuda13")


class PluginModules:
    """The modules that were initialized in this process, and why others could not be."""

    __slots__ = ("failed", "initialized")

    def __init__(self) -> None:
        self.initialized: set[str] = set()
        self.failed: dict[str, str] = {}

    def initialize(self, functions: dict[str, Callable[..., Any]]) -> None:
        """Call ``initialize()`` of each installed module, once in a process.

        ``failed`` has a message for each that cannot be initialized; it is tried again next time.

        Args:
          functions: the functions of ``jax._src.xla_bridge`` that the modules call.
        """
        self.failed.clear()
        shared = {"xla_client": load_xla_client()}
        modules = {"jax._src.xla_bridge": functions, "jax._src.lib": shared}
        for name, load in _modules():
            if name in self.initialized:
                continue
            try:
                # The drop-in package has these functions itself, and must not see stand-ins.
                with nullcontext() if "jax" in sys.modules else shown_to_jaxlib(modules):
                    load().initialize()
            except Exception as error:  # noqa: BLE001 - the module may do anything
                self.failed[name] = (
                    f"The plugin module {name} ({_path(name)}) could not be initialized: "
                    f"{type(error).__name__}: {error}\n"
                    "Its platform is not available. Install a version of the plugin that fits "
                    f"jaxlib {jaxlib_version}, or uninstall it; with jax_platforms='cpu' it is "
                    "not looked for."
                )
            else:
                self.initialized.add(name)


def _modules() -> Iterator[tuple[str, Callable[[], Any]]]:
    """The name of each installed module, and a function that imports it."""
    names: set[str] = set(_BUILT_IN)
    for folder in package_folders(_GROUP):
        for path in sorted(folder.iterdir()):
            name = f"{_GROUP}.{path.stem}"
            if name in names or not (path.suffix == ".py" or (path / "__init__.py").exists()):
                continue
            names.add(name)
            yield name, lambda name=name: importlib.import_module(name)
    if has_entry_points(_GROUP):
        from importlib import metadata  # noqa: PLC0415 - lazy: it takes long

        for entry in metadata.entry_points(group=_GROUP):
            if entry.module not in names:
                names.add(entry.module)
                yield entry.module, entry.load


def _path(name: str) -> Path | str:
    spec = _find_spec(name)
    return "not found" if spec is None or spec.origin is None else Path(spec.origin)


plugin_modules: PluginModules = PluginModules()
