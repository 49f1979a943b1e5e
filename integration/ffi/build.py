"""Builds the sources of this folder with the system's compiler."""

import ctypes
import os
import shutil
import subprocess
from pathlib import Path

import jax.ffi

HERE = Path(__file__).parent


def compiler() -> str | None:
    """The C++ compiler: ``CXX``, ``c++``, ``g++`` or ``clang++``; ``None`` if there is none."""
    names = filter(None, (os.environ.get("CXX"), "c++", "g++", "clang++"))
    return next(filter(None, map(shutil.which, names)), None)


def build(source: str, folder: Path) -> ctypes.CDLL:
    """Compile a source into a shared library in ``folder``, if that is not there, and load it.

    Raises:
      subprocess.CalledProcessError: if it does not compile.
    """
    library = folder / f"{Path(source).stem}.so"
    if not library.exists():
        cuda = source.endswith(".cu")
        command = ["nvcc", "-Xcompiler"] if cuda else [str(compiler())]
        command += ["-fPIC", "-shared", "-O0", "-std=c++17", f"-I{jax.ffi.include_dir()}"]
        subprocess.run([*command, "-w", "-o", str(library), str(HERE / source)], check=True)
    return ctypes.CDLL(str(library))
