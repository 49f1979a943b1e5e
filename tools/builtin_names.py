"""Refuse Python's `abs`, `pow` and `round` in packages that have functions of these names.

    python tools/builtin_names.py

`ricci_lax` and `ricci_numpy` define functions named as builtins. A block of a primitive that calls
`abs(x)` without importing `lax`'s calls Python's, and so `x.__abs__`: a function of the NumPy API,
which is missing without `ricci_numpy`, while the laws hold where that is imported. The other
builtins of such names (`max`, `all` and so on) raise an error for a traced array.

In these packages, and in the examples of `docs/extending.md`, Python's functions are therefore
written `builtins.abs`; a bare name must be bound in the module.
"""

import ast
import doctest
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("lax", "numpy", "random", "nn", "scipy", "sparse")
GUIDE = ROOT / "docs" / "extending.md"
# The builtins that call a method of their operand, and so succeed on arrays.
NAMES = frozenset({"abs", "pow", "round"})


def unbound(text: str) -> list[tuple[int, str]]:
    """Return the lines and names of uses of these builtins in a module's text.

    >>> unbound("import builtins; y = abs(x) + builtins.round(x)")
    [(1, 'abs')]
    >>> unbound("from ricci_lax import abs; y = abs(x)")
    []
    """
    nodes = list(ast.walk(ast.parse(text)))
    bound = {name for node in nodes for name in _bound_by(node)}
    names = [node for node in nodes if isinstance(node, ast.Name) and node.id in NAMES - bound]
    return sorted((node.lineno, node.id) for node in names)


def _bound_by(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.arg(arg=name):
            yield name
        case ast.Name(id=name, ctx=ast.Store()):
            yield name
        case ast.alias(name=name, asname=other):
            yield other or name


def code_of_examples(text: str) -> str:
    """Return the code of a document's examples as one module, each on the lines where it stands.

    >>> code_of_examples("A sum:\\n\\n>>> 1 + 1\\n2\\n")
    '\\n\\n1 + 1\\n'
    """
    lines = [""] * (text.count("\n") + 1)
    for example in doctest.DocTestParser().get_examples(text):
        source = example.source.splitlines()
        lines[example.lineno : example.lineno + len(source)] = source
    return "\n".join(lines).rstrip("\n") + "\n"


def problems() -> Iterator[str]:
    """Return a line for each use in the packages and in the guide."""
    modules = {
        path: path.read_text()
        for package in PACKAGES
        for path in sorted((ROOT / "packages" / package / "src").rglob("*.py"))
    }
    modules[GUIDE] = code_of_examples(GUIDE.read_text())
    for path, text in modules.items():
        for line, name in unbound(text):
            yield (
                f"{path.relative_to(ROOT)}:{line}: Python's {name}; import {name} from lax for "
                f"arrays, write builtins.{name} for Python's numbers"
            )


def main() -> int:
    """Print the problems; return the exit status."""
    lines = list(problems())
    print("\n".join(lines))
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
