"""Write the index of a package's public names, by which modules are imported at their first use.

    python tools/name_index.py            compare the indices with the modules
    python tools/name_index.py --write    write them

A package of `PACKAGES` imports its names with `import *` under `if TYPE_CHECKING`, as type checkers
understand it. When the program runs, `ricci_ir.export_lazily` imports a module when one of its
names is used, by the index `_index.py` beside the package's `__init__.py`: so a program that does
not sort never loads sorting. This tool follows the `import *`s of the source, through folders, and
collects what each module says in its `__all__`; of two modules with one name the later import wins,
as it would without the index. Names of the module `authoring` beside it are a table of their own.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = (
    "autodiff/src/ricci_autodiff",
    "batching/src/ricci_batching",
    "ir/src/ricci_ir",
    "lax/src/ricci_lax",
    "lax/src/ricci_lax/annotations",
    "lax/src/ricci_lax/linalg",
    "lax/src/ricci_lax/refs",
    "numpy/src/ricci_numpy",
    "numpy/src/ricci_numpy/fft",
    "numpy/src/ricci_numpy/linalg",
    "parallel/src/ricci_parallel",
    "random/src/ricci_random",
    "stablehlo/src/ricci_stablehlo",
    "xla/src/ricci_xla",
)
_HEAD = '''"""By module, the public names of this package, which are imported at their first use.

Written by `tools/name_index.py` from the modules' `__all__`.
"""

# fmt: off
'''


def main(arguments: list[str]) -> int:
    """Write or compare every index; the exit status is the number of those that differ."""
    stale = 0
    for package in PACKAGES:
        folder = ROOT / "packages" / package
        file, text = folder / "_index.py", index_text(folder)
        if "--write" in arguments:
            file.write_text(text, encoding="utf-8")
        elif not file.exists() or file.read_text(encoding="utf-8") != text:
            print(f"{file.relative_to(ROOT)} is out of date: python tools/name_index.py --write")
            stale += 1
    return stale


def index_text(folder: Path) -> str:
    """The text of a package's index."""
    module = ".".join(folder.parts[folder.parts.index("src") + 1 :])
    lines = [_HEAD, *_table("MODULES", folder / "__init__.py", module)]
    authoring = folder / "authoring.py"
    if authoring.exists() and dict(exports(authoring, module, lazily=True)):
        lines += ["\n", *_table("AUTHORING", authoring, module)]
    return "".join(lines)


def _table(name: str, file: Path, module: str) -> Iterator[str]:
    """Yield the lines of a table: by module, the names that a file imports late."""
    sources = dict(exports(file, module, lazily=True))
    yield f"{name} = {{\n"
    for path in sorted({*sources.values()}):
        names = sorted(name for name, source in sources.items() if source == path)
        row = f'    "{path}": "{" ".join(names)}",\n'
        if len(row) <= 101:
            yield row
        else:
            yield f'    "{path}": (\n'
            yield from _rows(names)
            yield "    ),\n"
    yield "}\n"


def _rows(names: list[str]) -> Iterator[str]:
    row = names[0]
    for name in names[1:]:
        if len(row) + len(name) > 87:
            yield f'        "{row} "\n'
            row = name
        else:
            row += f" {name}"
    yield f'        "{row}"\n'


def exports(file: Path, module: str, *, lazily: bool = False) -> Iterator[tuple[str, str]]:
    """Yield each name that a module exports and the module that defines it, in order.

    Args:
      file: the module's source.
      module: its name.
      lazily: whether to read only the imports under ``if TYPE_CHECKING``.
    """
    tree = ast.parse(file.read_text(encoding="utf-8"))
    defined = _own_names(tree)
    if defined:
        yield from ((name, module) for name in defined)
        return
    body = [] if lazily else tree.body
    for branch in filter(None, map(_branch_for_checkers, tree.body)):
        body = [*body, *branch]
    for node in body:
        if not isinstance(node, ast.ImportFrom):
            continue
        for alias in node.names:
            path = f"{module}.{node.module}" if node.module else module
            if not node.level:  # a module of another folder
                path = str(node.module)
            if alias.name == "*":
                yield from exports(_file_of(file.parent, node.module), path)
            elif alias.asname == alias.name:
                yield alias.name, path


def _file_of(folder: Path, module: str | None) -> Path:
    path = folder.joinpath(*(module or "").split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def _branch_for_checkers(node: ast.stmt) -> list[ast.stmt]:
    """The statements under ``if TYPE_CHECKING``; none if the statement is another."""
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        return node.body
    return []


def _own_names(tree: ast.Module) -> list[str]:
    """The names in a module's ``__all__``, of which it may have several rows."""
    names: list[str] = []
    for node in tree.body:
        if not isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign) or node.value is None:
            continue
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        if isinstance(target, ast.Name) and target.id == "__all__":
            names += ast.literal_eval(node.value)
    return names


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
