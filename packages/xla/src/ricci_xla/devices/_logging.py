"""Logging to stderr, by the options ``jax_logging_level`` and ``jax_debug_log_modules``."""

import logging
import sys
from collections.abc import Mapping

from ricci_ir import config

_ROOT = "ricci"
_format = logging.Formatter("%(levelname)s:%(asctime)s:%(name)s: %(message)s")


class _ToStderr:
    """The loggers that write to stderr by the options, with the handlers added to them."""

    def __init__(self):
        self.level: str | None = None
        self.modules: list[str] = []
        self.changed: dict[str, logging.Handler] = {}

    def apply(self) -> None:
        """Reconfigure the loggers: the named modules log at DEBUG, all others at the level."""
        for name, handler in self.changed.items():
            logging.getLogger(name).removeHandler(handler)
            logging.getLogger(name).setLevel(logging.NOTSET)
        self.changed.clear()
        levels = dict.fromkeys(self.modules, "DEBUG")
        if self.level not in (None, "NOTSET") and _ROOT not in levels:
            levels[_ROOT] = self.level
        for name, level in levels.items():
            logger = logging.getLogger(name)
            handler = self.changed[name] = logging.StreamHandler(sys.stderr)
            handler.setFormatter(_format)
            # A message passes the handlers of all loggers above; only the innermost writes it.
            handler.addFilter(lambda record, name=name: _writer(record.name, levels) == name)
            logger.addHandler(handler)
            logger.setLevel(level)


def _writer(name: str, levels: Mapping[str, object]) -> str | None:
    """The innermost configured logger that a message of the logger ``name`` passes."""
    while name and name not in levels:
        name = name.rpartition(".")[0]
    return name or None


_to_stderr = _ToStderr()


def _level_changed(value: str | None, local: bool) -> None:
    if not local:
        _to_stderr.level = value
        _to_stderr.apply()


def _modules_changed(value: str, local: bool) -> None:
    if not local:
        names = [name.strip() for name in (value or "").split(",")]
        # JAX's loggers are named after its modules, which this library does not have.
        _to_stderr.modules = list(
            dict.fromkeys(_ROOT if n.split(".")[0] == "jax" else n for n in names if n)
        )
        _to_stderr.apply()


config.on_change("jax_logging_level", _level_changed)
config.on_change("jax_debug_log_modules", _modules_changed)
