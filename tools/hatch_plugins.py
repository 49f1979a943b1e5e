"""The hatchling hook that every package of the workspace shares: it runs when an sdist is built.

The version stands in each package's pyproject.toml and in its pins of siblings, where every tool
can read it. The hook refuses a package in which one of them differs from the file VERSION; then it
makes the sdist whole: with the licence, and without the lines that point to this file, so that
wheels and sdists can be built from it with nothing around it. That of the drop-in gets its stubs.
"""

import runpy
import tempfile
import tomllib
from itertools import chain
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

REPOSITORY = Path(__file__).resolve().parent.parent
HOOK = '\n[tool.hatch.build.targets.sdist.hooks.custom]\npath = "../../tools/hatch_plugins.py"\n'


def stale(project: dict[str, Any], version: str) -> list[str]:
    """Return the versions of Ricci in a table `[project]` that are not the given one.

    A dependency `ricci` or `ricci-…`, an extra's too, has to be pinned to the version. Of the
    drop-in's own version, `0.12.0.1+ricci.0.1.0`, the part that is Ricci's counts.
    """
    wrong = [] if project["version"].rpartition("+ricci.")[2] == version else [project["version"]]
    extras = project.get("optional-dependencies", {}).values()
    for dependency in chain(project["dependencies"], *extras):
        name = dependency.partition("==")[0]
        ours = name.partition("[")[0] == "ricci" or name.startswith("ricci-")
        if ours and dependency != f"{name}=={version}":
            wrong.append(dependency)
    return wrong


class WholeSdist(BuildHookInterface):
    """Check the versions, and make the sdist build without the repository around it."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Choose what the sdist holds beside the package's own files.

        Raises:
            ValueError: the version or a pin differs from the file VERSION.
        """
        file = Path(self.root, "pyproject.toml")
        settings = file.read_text(encoding="utf-8")
        required = (REPOSITORY / "VERSION").read_text(encoding="utf-8").strip()
        if wrong := stale(tomllib.loads(settings)["project"], required):
            raise ValueError(
                f"{file} says {', '.join(wrong)}, and the file VERSION {required}: "
                f"`python3 tools/set_version.py {required}` brings them together."
            )
        self.folder = tempfile.TemporaryDirectory()
        standalone = Path(self.folder.name, "pyproject.toml")
        standalone.write_text(settings.replace(HOOK, ""), encoding="utf-8")
        included = build_data["force_include"]
        del included[str(file)]
        included[str(standalone)] = "pyproject.toml"
        included[str(REPOSITORY / "LICENSE")] = "LICENSE"
        if self.metadata.name == "jax":
            runpy.run_path(str(REPOSITORY / "tools" / "jax_stubs.py"))["write"]()
            build_data["artifacts"].append("*.pyi")  # which git ignores

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the files that were written for the sdist."""
        self.folder.cleanup()
