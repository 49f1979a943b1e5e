"""The hatchling plugins that every package of the workspace shares.

Building from the repository, the metadata hook turns `[tool.ricci] dependencies` of a package's
pyproject.toml into the distribution's dependencies, and pins every sibling to the one version that
stands in the file VERSION. An sdist holds the results in PKG-INFO, where hatchling reads them; the
build hook leaves out of it the hatch.toml that points to this file.
"""

import tomllib
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface


def pin_siblings(dependencies: list[str], version: str) -> list[str]:
    """Return the dependencies with `==version` behind each bare `ricci` or `ricci-…`.

    Of the drop-in's version, `0.11.2+ricci.0.1.0`, the part that is Ricci's counts.
    """
    ours = version.rpartition("+ricci.")[2]
    return [f"{d}=={ours}" if d == "ricci" or d.startswith("ricci-") else d for d in dependencies]


class SiblingPins(MetadataHookInterface):
    """Fill in `project.dependencies` from `[tool.ricci] dependencies`."""

    def update(self, metadata: dict[str, Any]) -> None:
        settings = tomllib.loads(Path(self.root, "pyproject.toml").read_text(encoding="utf-8"))
        dependencies = settings["tool"]["ricci"]["dependencies"]
        metadata["dependencies"] = pin_siblings(dependencies, metadata["version"])


class StandaloneSdist(BuildHookInterface):
    """Make the sdist build without the repository around it."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        included = build_data["force_include"]
        for source in [path for path, place in included.items() if place == "hatch.toml"]:
            del included[source]
