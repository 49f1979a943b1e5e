"""Errors for a jaxlib that is missing, broken or of an unsupported version."""

import re

# The versions that this release works with; `pyproject.toml` of ricci-xla has the same bounds.
OLDEST, LIMIT = (0, 11, 2), (0, 13)
COMMAND = 'pip install --upgrade "jaxlib>=0.11.2,<0.13"'
REINSTALL = COMMAND.replace("--upgrade", "--force-reinstall")


def explain_jaxlib(error: Exception) -> ImportError:
    """The error for a jaxlib that could not be imported: one sentence, with the command to run.

    Args:
      error: the exception that its import raised.

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
        return ImportError(f"jaxlib is broken ({_summary(error)}); run: {REINSTALL}", name="jaxlib")
    elif _numbers(version) < OLDEST:
        reason = f"jaxlib {version} is too old: this release of Ricci needs 0.11.2 or 0.12"
    elif _numbers(version) >= LIMIT:
        reason = f"jaxlib {version} is too new: this release of Ricci needs 0.11.2 or 0.12"
    else:
        return _explain_numpy() or ImportError(
            f"jaxlib {version} is broken ({_summary(error)}); run: {REINSTALL}", name="jaxlib"
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
    """The error for a broken or old NumPy, without which jaxlib does not load, or None."""
    command = 'pip install --force-reinstall "numpy>=2.0"'
    try:
        from numpy import __version__ as version  # noqa: PLC0415 - lazy: only errors need it
    except Exception as error:  # noqa: BLE001 - however broken it is
        return ImportError(f"NumPy is broken ({_summary(error)}); run: {command}", name="numpy")
    if _numbers(version) < (2, 0):
        return ImportError(f"NumPy {version} is too old; run: {command}", name="numpy")
    return None


def _summary(error: Exception) -> str:
    """The first line of an error's message."""
    return str(error).partition("\n")[0] or type(error).__name__


def _is_installed() -> bool:
    """Whether there is a package of that name, and not only a folder."""
    from importlib.util import find_spec  # noqa: PLC0415 - lazy: only messages need it

    try:
        spec = find_spec("jaxlib")
    except (ImportError, ValueError):
        return False
    return spec is not None and spec.origin is not None


def _version() -> str | None:
    try:
        from jaxlib.version import __version__ as version  # noqa: PLC0415 - lazy: it may be absent
    except Exception:  # noqa: BLE001 - however broken it is, this only words another error
        return None
    return str(version)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])
