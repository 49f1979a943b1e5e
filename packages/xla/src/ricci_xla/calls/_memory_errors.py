"""Extend runtime errors: out-of-memory reports, and callbacks' errors without extra frames."""

from collections.abc import Callable, Sequence
from typing import Any

from ricci_ir import Hook, explained
from ricci_xla.compile._call import CompiledProgram
from ricci_xla.compile._dispatch import FastPath
from ricci_xla.compile._host_callbacks import without_callers
from ricci_xla.compile._place import Options
from ricci_xla.devices._runtime_types import JaxRuntimeError
from ricci_xla.tracing._program import Program

__all__ = ["memory_report"]


# ``(program, leaves, options)``: returns lines of text, possibly none, on the arrays that fill the
# memory in a call of a program with flat arguments, under the options of ``jit``.
memory_report: Hook[Callable[[Program, Sequence[Any], Options], str]] = Hook(
    "reports on memory", provided_by="ricci_parallel", default=lambda program, leaves, options: ""
)


def run(
    compiled: CompiledProgram, leaves: Sequence[Any], options: Options
) -> tuple[list[Any], FastPath | None]:
    """Run a compiled program, and report which arrays fill the memory if it is exhausted.

    The report is appended to jaxlib's error; a callback's error loses the frames that led to it.
    Later calls, which C++ runs itself, raise jaxlib's errors unchanged.
    """
    try:
        return compiled.call(leaves)
    except JaxRuntimeError as error:
        report = ""
        if compiled.program.has_equations and str(error).startswith("RESOURCE_EXHAUSTED"):
            report = _report(compiled.program, leaves, options)
        if not report:
            text = without_callers(str(error))
            if text == str(error):
                raise
            raise JaxRuntimeError(text) from None
        raise JaxRuntimeError(explained(f"{error}\n{report}", "out-of-memory")) from None


def _report(program: Program, leaves: Sequence[Any], options: Options) -> str:
    """Return the report on a program, which compiles it again; empty if that fails as well."""
    try:
        return memory_report.call(program, leaves, options)
    except Exception:  # noqa: BLE001 (the user gets the runtime's error, as without a report)
        return ""
