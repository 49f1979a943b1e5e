"""Call every public function and class of Ricci wrongly: whose tracebacks show its code?

Some functions keep what they are given (a listener, a folder), so this is run in a process of its
own. ``python wrong_calls.py`` writes JSON: for each name, the frames of Ricci that a user sees.
"""

import contextlib
import importlib
import inspect
import io
import json
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import ricci

# Functions that start processes or servers, end the use of devices, or stop and ask.
LEFT_OUT = {
    *("breakpoint", "clear_backends", "initialize", "main", "run"),
    *("register_subprocess", "setup_tpu", "shutdown", "start_server"),
}


class Stranger:
    """An object that no function takes."""

    def _refuse(self, *args: object, **options: object) -> NoReturn:
        raise ValueError("not with a stranger")

    __bool__ = __iter__ = __array__ = __fspath__ = __eq__ = __index__ = _refuse  # pyright: ignore
    __hash__ = None  # pyright: ignore[reportAssignmentType]


def public_names() -> Iterator[tuple[str, Any]]:
    """The functions and classes of all public namespaces, each once, under its full name."""
    folder = Path(ricci.__file__).parent
    seen: set[int] = set()
    for file in sorted(folder.rglob("*.py")):
        parts = file.relative_to(folder.parent).with_suffix("").parts
        parts = [part for part in parts if part != "__init__"]
        if any(part.startswith("_") for part in parts):
            continue
        module = importlib.import_module(".".join(parts))
        for name in sorted(getattr(module, "__all__", ())):
            value = getattr(module, name)
            known = id(value) in seen or name in LEFT_OUT or isinstance(value, types.ModuleType)
            error = isinstance(value, type) and issubclass(value, BaseException)
            if callable(value) and not known and not error:
                seen.add(id(value))
                yield f"{module.__name__}.{name}", value


def wrong_arguments(function: Callable[..., Any]) -> list[tuple[list[Any], dict[str, Any]]]:
    """Arguments that a function does not take, each of its parameters being wrong in turn."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        parameters = ()
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    count = sum(p.kind in positional and p.default is p.empty for p in parameters)
    count = max(count, 1)
    values = (Stranger(), None, object(), lambda *args: 1 / 0, [1, 2.5])
    calls: list[tuple[list[Any], dict[str, Any]]] = [([value] * count, {}) for value in values]
    return [*calls, ([0] * count, {"no_such_keyword": 1}), ([Stranger()] * (count + 12), {})]


def own_frames(error: BaseException) -> list[str]:
    """The functions of Ricci in the traceback of an error."""
    found, entry = [], error.__traceback__
    while entry is not None:
        module = entry.tb_frame.f_globals.get("__name__", "")
        if module.partition(".")[0] in ("ricci", "jax") or module.startswith("ricci_"):
            found.append(f"{module}.{entry.tb_frame.f_code.co_name}")
        entry = entry.tb_next
    return found


def main() -> None:
    """Call everything, and print the frames by name."""
    frames: dict[str, list[str]] = {}
    warnings.simplefilter("ignore")
    for name, function in public_names():
        for args, options in wrong_arguments(function):
            try:
                with contextlib.redirect_stdout(io.StringIO()):
                    function(*args, **options)
            except Exception as error:  # noqa: BLE001 - any is what a user may see
                frames[name] = max(frames.get(name, []), own_frames(error), key=len)
    json.dump(frames, sys.stdout)


if __name__ == "__main__":
    main()
