"""Where messages go: the options ``jax_logging_level`` and ``jax_debug_log_modules``."""

import logging
import sys
from typing import Any

from ricci_ir import config

_ROOT = "ricci"
_format = logging.Formatter("%(levelname)s:%(asctime)s:%(name)s: %(message)s")


class _ToStderr:
    """The loggers that were made to write to stderr, and how to undo that."""

    def __init__(self):
        self.level: str | None = None
        self.modules: list[str] = []
        self.changed: dict[str, logging.Handler] = {}

    def apply(self) -> None:
        """Set levels and handlers anew: modules are at DEBUG, all others at the level."""
        for name, handler in self.changed.items():
            logging.getLogger(name).removeHandler(handler)
            logging.getLogger(name).setLevel(logging.NOTSET)
        self.changed.clear()
        wanted = dict.fromkeys(self.modules, "DEBUG")
        if self.level not in (None, "NOTSET") and _ROOT not in wanted:
            wanted[_ROOT] = self.level
        for name, level in wanted.items():
            logger = logging.getLogger(name)
            handler = self.changed[name] = logging.StreamHandler(sys.stderr)
            handler.setFormatter(_format)
            # What a logger above writes as well would come twice.
            handler.addFilter(lambda record, name=name: _writer(record.name, wanted) == name)
            logger.addHandler(handler)
            logger.setLevel(level)


def _writer(name: str, wanted: dict[str, Any]) -> str | None:
    """The innermost of some loggers that a message passes."""
    while name and name not in wanted:
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
        # JAX's loggers are named by its modules, which stand for no part of this library.
        _to_stderr.modules = list(
            dict.fromkeys(_ROOT if n.split(".")[0] == "jax" else n for n in names if n)
        )
        _to_stderr.apply()


config.on_change("jax_logging_level", _level_changed)
config.on_change("jax_debug_log_modules", _modules_changed)
