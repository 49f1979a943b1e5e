"""Write the modules of packages/jax: every public module of `ricci`, under the name `jax`.

    python tools/drop_in.py            write them anew
    python tools/drop_in.py --check    say which are not as they would be written; exit status 1

A module is a file of its own, so that editors and type checkers see what Python sees. What is
written by hand (the root, `version`, whatever begins with an underscore) is left alone.
"""

import argparse
import importlib
import pkgutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

SOURCE = Path(__file__).resolve().parent.parent / "packages" / "jax" / "src" / "jax"
NOT_JAX = {
    "ricci.cache",
    "ricci.distributed.run",
    "ricci.parallel",
    "ricci.profile",
    "ricci.testing",
}
MARK = "Written by tools/drop_in.py"


def inner_names(module: ModuleType) -> list[str]:
    """Return the names of the public modules directly inside a module.

    Those are its files, and the modules that it has made itself, but for those that JAX has not.
    """
    files = [info.name for info in pkgutil.iter_modules(getattr(module, "__path__", ()))]
    made = [n for n in getattr(module, "__all__", ()) if f"{module.__name__}.{n}" in sys.modules]
    ours = {
        name.rpartition(".")[2] for name in NOT_JAX if name.rpartition(".")[0] == module.__name__
    }
    return sorted(n for n in {*files, *made} - ours if not n.startswith("_"))


def modules(package: ModuleType) -> Iterator[ModuleType]:
    """Yield the public modules inside a package, at any depth."""
    for inner in inner_names(package):
        module = importlib.import_module(f"{package.__name__}.{inner}")
        yield module
        yield from modules(module)


def renamed(name: str) -> str:
    """Return the drop-in's name of a module of Ricci.

    >>> renamed("ricci.numpy.linalg")
    'jax.numpy.linalg'
    """
    return "jax" + name.removeprefix("ricci")


def path(module: ModuleType) -> Path:
    """Return the file of the drop-in for a module of Ricci."""
    place = SOURCE.joinpath(*module.__name__.split(".")[1:])
    return place / "__init__.py" if inner_names(module) else place.with_suffix(".py")


def content(module: ModuleType) -> str:
    """Return the text of the drop-in's file for a module of Ricci.

    Modules inside it are the drop-in's own: imported behind its names where importing Ricci's
    brings them, and else when they are first asked for, as there.
    """
    name = module.__name__
    head = [f'"""The names of ``{name}``.', "", f"{MARK}.", '"""', ""]
    lines: list[str] = []
    inside = inner_names(module)
    eager = [n for n in inside if n in vars(module)]
    late = [n for n in inside if n not in eager and n in dir(module)]
    collected = not set(late) & set(module.__all__)  # else a star would load them
    hooks: tuple[str, ...] = ()
    helpers = [*["export_names"] * collected, *["lazy_names"] * bool(late)]
    ours = [f"from ricci_ir import {helper} as _{helper}" for helper in helpers]
    if collected:
        # A module that Ricci makes when it is imported has no file that type checkers could read.
        made = "" if hasattr(module, "__file__") else "  # pyright: ignore[reportMissingImports]"
        hooks = ("__dir__", "__getattr__") if "__getattr__" in vars(module) and not late else ()
        lines += [f"from {name} import *{made}"]
        if getattr(module, "__path__", None) == []:  # a finder has the modules inside of it
            hooks = (*hooks, "__path__")
        lines += ours
    else:
        others = [n for n in module.__all__ if n in vars(module) and n not in inside]
        names = [*others, *(n for n in inside if n in module.__all__)]
        lines += [f"from {name} import {n} as {n}" for n in others] + ours
        lines += ["", "__all__ = [", *(f'    "{n}",' for n in names), "]"]
    if eager or late or hooks:
        head += ["import typing as _typing", ""]
    if eager or late:  # in the form by which type checkers know that they are public
        lines += ["", "# isort: split", "if _typing.TYPE_CHECKING:"]
        lines += [f"    from . import {n} as {n}" for n in sorted([*eager, *late])]
    if eager:
        lines += ["else:"]
        lines += [f"    import {renamed(name)}.{n} as {n}" for n in sorted(eager)]
    if collected:
        public = [n for n in module.__all__ if isinstance(vars(module).get(n), ModuleType)]
        arguments = ["globals()", *(f'"{n}"' for n in public)]
        call = f"_export_names({', '.join(arguments)})"
        several = ["_export_names(", *(f"    {argument}," for argument in arguments), ")"]
        lines += ["", *([call] if len(call) <= 100 else several)]
    if late:
        sources = [f'        "{n}": ".{n}",' for n in late]
        lines += ["", "if not _typing.TYPE_CHECKING:"]  # to which every name would be there
        lines += ["    __getattr__, __dir__ = _lazy_names(", "        globals(),", "        {"]
        lines += [*(f"    {line}" for line in sources), "        },", "    )"]
    if hooks:
        lines += ["", "if not _typing.TYPE_CHECKING:  # to which every name would be there"]
        lines += [f"    from {name} import {hook} as {hook}" for hook in hooks]
    return "\n".join(head + lines) + "\n"


def written() -> dict[Path, str]:
    """Return every file that is to be written, with its text."""
    return {path(module): content(module) for module in modules(importlib.import_module("ricci"))}


def stale(files: dict[Path, str]) -> tuple[list[Path], list[Path]]:
    """Return the files that are not as they would be written, and those that nothing writes."""
    differing = [
        file
        for file, text in files.items()
        if not file.is_file() or file.read_text(encoding="utf-8") != text
    ]
    found = (file for file in SOURCE.rglob("*.py") if MARK in file.read_text(encoding="utf-8"))
    return differing, sorted(set(found) - set(files))


def main(arguments: list[str]) -> int:
    """Write the files, or check them; return the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args(arguments).check
    files = written()
    differing, left_over = stale(files)
    for file in [*differing, *left_over]:
        print(file.relative_to(SOURCE.parent))
    if check:
        return 1 if differing or left_over else 0
    for file in left_over:
        file.unlink()
    for file in differing:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(files[file], encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
