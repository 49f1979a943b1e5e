"""The build hook of hatchling that compiles the library, and a command that compiles it in place.

    python3 packages/native/hatch_build.py

The compiler is `CXX`, `c++`, `g++` or `clang++`. A wheel cannot be built without one. An editable
install can: then nothing is compiled, and no kernel is used.
"""

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

HERE = Path(__file__).resolve().parent
LIBRARY = HERE / "src" / "ricci_native" / "kernels.so"
OPTIONS = ("-O3", "-std=c++17", "-fPIC", "-shared", "-fvisibility=hidden", "-Wall", "-Wextra")
# No kernel reads errno or the flags of exceptions, for which compilers would keep order.
OPTIONS += ("-fno-math-errno", "-fno-trapping-math")


def compiler() -> list[str] | None:
    """Return the command line of the C++ compiler, or None if there is none."""
    if os.environ.get("CXX"):
        return shlex.split(os.environ["CXX"])
    path = next(filter(None, map(shutil.which, ("c++", "g++", "clang++"))), None)
    return None if path is None else [path]


def headers() -> Path:
    """Return jaxlib's folder of headers, without importing jaxlib."""
    for folder in map(Path, sys.path):
        if (folder / "jaxlib" / "include" / "xla" / "ffi" / "api" / "ffi.h").is_file():
            return folder / "jaxlib" / "include"
    raise FileNotFoundError("jaxlib, whose headers the kernels include, is not installed.")


def compile_library(command: list[str]) -> None:
    """Compile the kernels.

    The library is replaced at once, so that processes that have loaded it are not disturbed.

    Raises:
      subprocess.CalledProcessError: if they do not compile.
    """
    sources = sorted(map(str, HERE.glob("cpp/*.cc")))
    new = LIBRARY.with_suffix(".new")
    options = [*OPTIONS, "-isystem", str(headers()), *shlex.split(os.environ.get("CXXFLAGS", ""))]
    subprocess.run([*command, *options, "-o", str(new), *sources], check=True)
    new.replace(LIBRARY)


class CompiledKernels(BuildHookInterface):
    """Compile the library into wheels, which are then for one platform."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile the library, and add it to the wheel.

        Raises:
          FileNotFoundError: if a wheel is built, and there is no compiler or no jaxlib.
        """
        command = compiler()
        if version == "editable" and command is None:
            self.app.display_warning("no C++ compiler: ricci-native has no kernels.")
            return
        if command is None:
            raise FileNotFoundError("no C++ compiler: install g++ or clang++, or set CXX.")
        compile_library(command)
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform}"


if __name__ == "__main__":
    cxx = compiler()
    if cxx is None:
        sys.exit("no C++ compiler: install g++ or clang++, or set CXX.")
    compile_library(cxx)
