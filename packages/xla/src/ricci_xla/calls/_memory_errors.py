"""Errors of programs that run: which arrays take a device's memory; what a callback raised."""

from collections.abc import Callable, Sequence
from typing import Any

from ricci_ir import explained
from ricci_xla.compile._call import CompiledProgram
from ricci_xla.compile._dispatch import FastPath
from ricci_xla.compile._host_callbacks import without_callers
from ricci_xla.compile._place import Options
from ricci_xla.devices._runtime_types import JaxRuntimeError
from ricci_xla.tracing._program import Program

__all__ = [
    "memory_reports",
]


# From a call's program, its flat arguments, and what ``jit`` was given, to some lines of text.
type Explain = Callable[[Program, Sequence[Any], Options], str]


class MemoryReports:
    """Says what a program holds in memory; ``ricci_parallel`` registers the function."""

    __slots__ = ("explain",)

    def __init__(self):
        self.explain: Explain = lambda program, leaves, options: ""

    def register(self, explain: Explain) -> None:
        """Set ``explain(program, leaves, options)``, which returns some lines, or nothing."""
        self.explain = explain


memory_reports: MemoryReports = MemoryReports()


def run(
    compiled: CompiledProgram, leaves: Sequence[Any], options: Options
) -> tuple[list[Any], FastPath | None]:
    """Run a compiled program, and say what takes the memory if there is too little.

    The error is jaxlib's with a report behind its message; a callback's loses the frames that led
    to it. C++ runs later calls by itself, whose errors are as jaxlib makes them.
    """
    try:
        return compiled.call(leaves)
    except JaxRuntimeError as error:
        report = ""
        if compiled.is_known and str(error).startswith("RESOURCE_EXHAUSTED"):
            report = _report(compiled.program, leaves, options)
        if not report:
            text = without_callers(str(error))
            if text == str(error):
                raise
            raise JaxRuntimeError(text) from None
        raise JaxRuntimeError(explained(f"{error}\n{report}", "out-of-memory")) from None


def _report(program: Program, leaves: Sequence[Any], options: Options) -> str:
    """The report on a program. It is compiled anew for that, which may lack memory as well."""
    try:
        return memory_reports.explain(program, leaves, options)
    except Exception:  # noqa: BLE001 (the user gets the runtime's error, as without a report)
        return ""
