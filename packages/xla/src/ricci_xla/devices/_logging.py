"""Logging to stderr, by the options ``jax_logging_level`` and ``jax_debug_log_modules``."""

import sys
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

from ricci_ir import config

if TYPE_CHECKING:
    from logging import Handler, Logger

DEBUG, WARNING = 10, 30  # the levels of ``logging``, which is loaded for the first message
_ROOT = "ricci"
_FORMAT = "%(levelname)s:%(asctime)s:%(name)s: %(message)s"


@cache
def logger(name: str) -> "Logger":
    """Return the logger of a name."""
    import logging  # noqa: PLC0415 - lazy: it takes 3 ms

    return logging.getLogger(name)


class _ToStderr:
    """The loggers that write to stderr by the options, with the handlers added to them."""

    def __init__(self):
        self.level: str | None = None
        self.modules: list[str] = []
        self.changed: dict[str, Handler] = {}

    def apply(self) -> None:
        """Reconfigure the loggers: the named modules log at DEBUG, all others at the level."""
        levels = dict.fromkeys(self.modules, "DEBUG")
        if self.level not in (None, "NOTSET") and _ROOT not in levels:
            levels[_ROOT] = self.level
        if not levels and not self.changed:
            return
        import logging  # noqa: PLC0415 - lazy: few programs set the options

        for name, handler in self.changed.items():
            logging.getLogger(name).removeHandler(handler)
            logging.getLogger(name).setLevel(logging.NOTSET)
        self.changed.clear()
        for name, level in levels.items():
            logger = logging.getLogger(name)
            handler = self.changed[name] = logging.StreamHandler(sys.stderr)
            handler.setFormatter(logging.Formatter(_FORMAT))
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
