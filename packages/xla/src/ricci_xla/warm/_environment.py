"""The environment of a bundle's executables: versions, the machine, devices and options."""

import os
import platform
import sys
from collections.abc import Iterator

import ml_dtypes
import numpy as np

from ricci_ir import OPTIONS, config
from ricci_xla.cache._key import machine_of
from ricci_xla.devices._jaxlib import jaxlib_version
from ricci_xla.devices._listing import local_devices

from ._fingerprint import fingerprint

# Options for logging, caching and checks, which do not change results.
_WITHOUT_EFFECT = (
    "jax_compilation_cache",
    "jax_enable_compilation_cache",
    "jax_persistent_cache",
    "jax_raise_persistent_cache",
    "jax_log",
    "jax_explain_cache_misses",
    "jax_debug_log_modules",
    "jax_dump_",
    "jax_traceback_filtering",
    "jax_tracer_error",
    "jax_include_full_tracebacks_in_locations",
)


def environment() -> dict[str, str]:
    """The environment that all executables of this process depend on, by topic."""
    device = local_devices()[0]
    values = config.values
    options = {
        name: values[name]
        for name, option in sorted(OPTIONS.items())
        if values[name] != option.default and not name.startswith(_WITHOUT_EFFECT)
    }
    return {
        "Python": platform.python_version(),
        "NumPy": np.__version__,
        "ml_dtypes": ml_dtypes.__version__,
        "jaxlib": jaxlib_version,
        "Ricci": fingerprint(*_ricci()).hex(),
        "platform": f"{device.platform}: {device.device_kind}",
        "machine": machine_of(device.client),
        "devices": " ".join(str(device.id) for device in local_devices()),
        "options": repr(options),
        "XLA_FLAGS": os.environ.get("XLA_FLAGS", ""),
    }


def _ricci() -> Iterator[str]:
    """Identify Ricci's code: the digests in its installation's RECORD, or its files' times."""
    installed: dict[str, list[str]] = {}
    for name, module in sorted(sys.modules.items()):
        if "." in name or not name.startswith("ricci") or module.__file__ is None:
            continue
        folder = os.path.dirname(module.__file__)
        parent = os.path.dirname(folder)
        if parent not in installed:
            installed[parent] = os.listdir(parent)
        about = [d for d in installed[parent] if d.startswith(f"{name}-") and d.endswith("-info")]
        if about:
            with open(os.path.join(parent, about[0], "RECORD"), encoding="utf-8") as file:
                listed = file.read()
            if f"{name}/__init__.py" in listed:
                yield name + listed
                continue
        yield from _files(folder, name)


def _files(folder: str, name: str) -> Iterator[str]:
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        if entry.is_dir():
            yield from _files(entry.path, f"{name}/{entry.name}")
        elif entry.name.endswith(".py"):
            status = entry.stat()
            yield f"{name}/{entry.name} {status.st_size} {status.st_mtime_ns}"
