"""Warning about another distribution named ``jax`` beside this one."""

import os
import re
import sys
import warnings

_METADATA = re.compile(r"jax-(?P<version>[^-]+)\.(dist|egg)-info")


def others(folders: list[str]) -> list[str]:
    """Return the metadata folders of distributions named ``jax`` that are not this one.

    The names of their metadata folders are read: importing ``importlib.metadata`` would cost every
    program 20 ms.

    Args:
        folders: the folders in which Python looks for modules, as in ``sys.path``.
    """
    metadata = []
    for folder in dict.fromkeys(folders):
        try:
            names = os.listdir(folder or ".")
        except OSError:  # a zip file, or a missing folder: nothing is installed in it
            continue
        matches = filter(None, map(_METADATA.fullmatch, names))
        metadata += [os.path.join(folder, m[0]) for m in matches if "+ricci." not in m["version"]]
    return metadata


def warn_of_others() -> None:
    """Warn where another distribution named ``jax`` is installed beside this one."""
    folders = others(sys.path)
    if folders:
        warnings.warn(
            "`jax` is Ricci's drop-in here, but another distribution named jax is installed too: "
            f"{', '.join(folders)}. Which of the two a module comes from is then a matter of luck. "
            "Uninstall `jax` until pip finds none, and install the one that you want.",
            stacklevel=3,
        )
