"""Modules that register PJRT plugins: those in ``jax_plugins`` and of its entry points.

Each has a function ``initialize()``, which calls ``jax._src.xla_bridge.register_plugin``.
"""

import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from ._jaxlib import jaxlib_version, xla_client
from ._packages import has_entry_points, package_folders
from ._registration import shown_to_jaxlib

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
        modules = {"jax._src.xla_bridge": functions, "jax._src.lib": {"xla_client": xla_client}}
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
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        spec = None
    return "not found" if spec is None or spec.origin is None else Path(spec.origin)


plugin_modules: PluginModules = PluginModules()
