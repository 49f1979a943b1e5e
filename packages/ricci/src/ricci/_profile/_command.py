"""The command line: runs a script under the recorders, and writes the page."""

import argparse
import importlib.util
import platform as machine
import shlex
import sys
import traceback
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from time import perf_counter_ns
from types import ModuleType
from typing import Any, NamedTuple

import ricci
from ricci import profiler
from ricci_xla.profiler import start_recording, stop_recording

from ._lines import LineRecorder
from ._memory import MemoryRecorder
from ._page import page
from ._report import report
from ._runtime import CLOCK, read_profile
from ._sources import ExecutableKeeper
from ._steps import Step, StepRecorder


class Script(NamedTuple):
    """The script that is run: a file, and its names for Python.

    Attributes:
      file: the file.
      package: the package that it is in, if it was named as a module.
      folder: the folder from which it imports first.
    """

    file: Path
    package: str | None
    folder: str


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command ``python -m ricci.profile``.

    Args:
      arguments: those after the module's name; by default those of this process.

    Returns:
      The exit status of the script.
    """
    options = _parser().parse_args(arguments)
    try:
        script = _find(options.script, options.module)
    except (OSError, ImportError) as error:
        print(f"ricci.profile: {error}", file=sys.stderr)
        return 2
    output = Path(options.output).resolve()  # the script may change the folder
    if output.is_dir() or not output.parent.is_dir():
        print(
            f"ricci.profile: {options.output} is not a file in an existing folder", file=sys.stderr
        )
        return 2
    result, status = _record(script, options)
    output.write_text(page(result), encoding="utf-8")
    print(f"ricci.profile: {options.output}", file=sys.stderr)
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m ricci.profile",
        description="Run a script, and write a page that shows where its time went, line by line.",
    )
    parser.add_argument("-o", "--output", default="profile.html", help="the page to write")
    parser.add_argument("-m", "--module", action="store_true", help="the script is a module's name")
    parser.add_argument("script", help="the script")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="arguments of the script")
    return parser


def _find(name: str, is_module: bool) -> Script:
    if not is_module:
        file = Path(name).resolve()
        if not file.is_file():
            raise FileNotFoundError(f"no such file: {name}")
        return Script(file, None, str(file.parent))
    folder = str(Path.cwd())
    sys.path.insert(0, folder)
    try:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations is not None:
            spec = importlib.util.find_spec(f"{name}.__main__")
    finally:
        sys.path.remove(folder)
    if spec is None or not spec.origin or not Path(spec.origin).is_file():
        raise ImportError(f"no module {name} with a file")
    return Script(Path(spec.origin), spec.parent, folder)


def _record(script: Script, options: Any) -> tuple[dict[str, Any], int]:
    """Run the script; return the data of the page, and the script's exit status."""
    lines, keeper, memory = LineRecorder(), ExecutableKeeper(), MemoryRecorder()
    steps = _Steps(lines, keeper)
    settings = profiler.ProfileOptions()
    settings.python_tracer_level = 0  # the lines are recorded here, and cost less
    began = datetime.now()
    start_recording(settings)
    # Each annotation carries Python's clock, and so gives its offset to the profiler's. Several,
    # since the thread may be interrupted between reading the time and the event's start.
    for _ in range(10):
        with profiler.TraceAnnotation(CLOCK, t=perf_counter_ns()):
            pass
    memory.start()
    steps.start()
    lines.start()
    start = perf_counter_ns()
    try:
        ended, status = _run(script, options.arguments)
        # Callbacks and prints of executions still under way belong to the script's time.
        ricci.effects_barrier()
    finally:
        lines.stop()
        end = perf_counter_ns()
        steps.stop()
        memory.stop()
        recorded = stop_recording()
    runtime = read_profile(recorded)
    origins = keeper.origins({op.module for op in runtime.operations})
    joined = report(lines, steps.steps, steps.misses, runtime, origins, memory.samples, start, end)
    device = ricci.devices()[0]
    heading = {
        "script": script.file.name,
        "command": shlex.join([options.script, *options.arguments]),
        "began": began.isoformat(" ", "seconds"),
        "ended": ended,
        "platform": f"{ricci.device_count()} × {device.device_kind} ({device.platform})",
        "versions": f"Ricci {ricci.__version__}, Python {machine.python_version()}",
    }
    return {**heading, **joined}, status


class _Steps(StepRecorder):
    """Records steps, and keeps references to the executables."""

    def __init__(self, lines: LineRecorder, keeper: ExecutableKeeper):
        super().__init__(lambda: lines.current_line)
        self._keeper = keeper

    def _listen(self, event: str, seconds: float, **facts: Any) -> None:
        before = len(self.steps)
        super()._listen(event, seconds, **facts)
        if any(isinstance(s, Step) and s.kind == "compile" for s in self.steps[before:]):
            self._keeper.keep()


def _run(script: Script, arguments: Sequence[str]) -> tuple[str, int]:
    """Run a script as Python would; return how it ended, and its exit status."""
    module = ModuleType("__main__")
    module.__file__ = str(script.file)
    module.__package__ = script.package
    previous = sys.argv, sys.path[0], sys.modules["__main__"]
    sys.argv = [str(script.file), *arguments]
    sys.path[0] = script.folder
    sys.modules["__main__"] = module
    try:
        exec(compile(script.file.read_bytes(), str(script.file), "exec"), vars(module))
        return "", 0
    except SystemExit as error:
        if error.code is None or isinstance(error.code, int):
            status = error.code or 0
            return (f"exit status {status}" if status else ""), status
        print(error.code, file=sys.stderr)
        return str(error.code), 1
    except KeyboardInterrupt:
        return "interrupted", 130
    except BaseException as error:  # noqa: BLE001 (the page is written all the same)
        error.__traceback__ = _without_this(error)
        traceback.print_exception(error)
        return f"{type(error).__name__}: {error}", 1
    finally:
        sys.argv, sys.path[0], sys.modules["__main__"] = previous
        sys.stdout.flush()


def _without_this(error: BaseException) -> Any:
    """Return the traceback without the frame of this module."""
    return error.__traceback__.tb_next if error.__traceback__ is not None else None
