"""Installed packages, looked up without importing them."""

import importlib.util
import os
import sys
from collections.abc import Iterator
from pathlib import Path


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
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return []
    locations = None if spec is None else spec.submodule_search_locations
    return [Path(location) for location in locations or ()]


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
