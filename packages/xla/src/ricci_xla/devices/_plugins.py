"""PJRT plugins: shared objects in installed wheels, loaded when a client is requested."""

import importlib
import os
import warnings
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType
from typing import Any

from ricci_ir import TupleRecord, config

from ._jaxlib import runtime, xla_client
from ._packages import package_folder
from ._runtime_types import Client
from ._tpu import find_libtpu, may_have_tpu, without_metadata_server

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


def make_plugin_client(plugin: Plugin, distributed: Mapping[str, Any]) -> Client:
    """Load a plugin's shared object, unless it is loaded already, and create its client.

    Args:
      plugin: the plugin.
      distributed: the cluster that the client joins: the ``client`` of the coordination service,
        ``process_id`` and ``num_processes``; empty for none.

    Raises:
      JaxRuntimeError: if the object cannot be loaded or finds no device.
    """
    name = plugin.platform
    if name == "tpu":
        # libtpu finds the other processes' devices by itself.
        with nullcontext() if may_have_tpu() else without_metadata_server():
            load_plugin(name, plugin.library)
            return xla_client.make_c_api_client(name, client_options(), None)
    load_plugin(name, plugin.library)
    options, coordinator = client_options(), distributed.get("client")
    if name != "cuda":
        return xla_client.make_c_api_client(name, options, coordinator)
    _register_cuda_kernels(plugin)
    options = {**cuda_options(distributed), **options}
    return xla_client.make_c_api_client(name, options, coordinator)


def cuda_options(distributed: Mapping[str, Any]) -> dict[str, Any]:
    """The options of the CUDA client: its memory, its devices and its place in a cluster.

    Args:
      distributed: as in `make_plugin_client`. The client finds the other processes' devices, and
        NCCL's communicators, through the coordination service.
    """
    options = {**xla_client.generate_pjrt_gpu_plugin_options(), **visible_devices()}
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
