"""What to say where jaxlib is installed but cannot be used, or is missing where it is needed."""

import re
from importlib import import_module

# The versions that this release works with; `pyproject.toml` of ricci-xla says the same to pip.
OLDEST, LIMIT = (0, 11, 2), (0, 13)
COMMAND = 'pip install --upgrade "jaxlib>=0.11.2,<0.13"'


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
    if version is None:
        reason = "jaxlib, the runtime, is not installed"
    elif _numbers(version) < OLDEST:
        reason = f"jaxlib {version} is too old: this release of Ricci needs 0.11.2 or 0.12"
    elif _numbers(version) >= LIMIT:
        reason = f"jaxlib {version} is too new: this release of Ricci needs 0.11.2 or 0.12"
    else:
        mend = COMMAND.replace("--upgrade", "--force-reinstall")
        return ImportError(f"jaxlib {version} is broken ({error}); run: {mend}", name="jaxlib")
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


def _version() -> str | None:
    try:
        return import_module("jaxlib.version").__version__
    except Exception:  # noqa: BLE001 - however broken it is, this only words another error
        return None


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])
