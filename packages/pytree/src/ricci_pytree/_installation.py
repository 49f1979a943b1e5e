"""What to say where jaxlib is installed but cannot be used, or is missing where it is needed."""

import re
from importlib import import_module
from importlib.util import find_spec

# The versions that this release works with; `pyproject.toml` of ricci-xla says the same to pip.
OLDEST, LIMIT = (0, 11, 2), (0, 13)
COMMAND = 'pip install --upgrade "jaxlib>=0.11.2,<0.13"'
MEND = COMMAND.replace("--upgrade", "--force-reinstall")


def explain_jaxlib(error: Exception) -> ImportError:
    """The error for a jaxlib that could not be imported: one sentence, with the command to run.

    Args:
      error: what importing it raised.

    Returns:
      The error, to be raised.

    Example:
      >>> from ricci_pytree import explain_jaxlib
      >>> type(explain_jaxlib(ImportError("no module")))
      <class 'ImportError'>
    """
    version = _version()
    if version is None and not _is_installed():
        reason = "jaxlib, the runtime, is not installed"
    elif version is None:
        return ImportError(f"jaxlib is broken ({_said(error)}); run: {MEND}", name="jaxlib")
    elif _numbers(version) < OLDEST:
        reason = f"jaxlib {version} is too old: this release of Ricci needs 0.11.2 or 0.12"
    elif _numbers(version) >= LIMIT:
        reason = f"jaxlib {version} is too new: this release of Ricci needs 0.11.2 or 0.12"
    else:
        return _explain_numpy() or ImportError(
            f"jaxlib {version} is broken ({_said(error)}); run: {MEND}", name="jaxlib"
        )
    return ImportError(f"{reason}; run: {COMMAND}", name="jaxlib")


def check_jaxlib() -> None:
    """Raise an error unless the installed jaxlib is a version that this release works with.

    Raises:
      ImportError: if it is too old or too new.

    Example:
      >>> from ricci_pytree import check_jaxlib
      >>> check_jaxlib()
    """
    version = _version()
    if version is not None and not OLDEST <= _numbers(version) < LIMIT:
        raise explain_jaxlib(ImportError(version))


def _explain_numpy() -> ImportError | None:
    """The error for a NumPy that is the reason, since jaxlib does not load without it."""
    mend = 'pip install --force-reinstall "numpy>=2.0"'
    try:
        version = import_module("numpy").__version__
    except Exception as error:  # noqa: BLE001 - however broken it is
        return ImportError(f"NumPy is broken ({_said(error)}); run: {mend}", name="numpy")
    if _numbers(version) < (2, 0):
        return ImportError(f"NumPy {version} is too old; run: {mend}", name="numpy")
    return None


def _said(error: Exception) -> str:
    """What an error says, in one line."""
    return str(error).partition("\n")[0] or type(error).__name__


def _is_installed() -> bool:
    """Whether there is a package of that name, and not only a folder."""
    try:
        spec = find_spec("jaxlib")
    except (ImportError, ValueError):
        return False
    return spec is not None and spec.origin is not None


def _version() -> str | None:
    try:
        return str(import_module("jaxlib.version").__version__)
    except Exception:  # noqa: BLE001 - however broken it is, this only words another error
        return None


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])
