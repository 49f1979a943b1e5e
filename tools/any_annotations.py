"""Count the parameters and results that are annotated `Any`, and check them against ceilings.

    python tools/any_annotations.py                   check every package against `CEILINGS`
    python tools/any_annotations.py packages/numpy    say where they are

`Any` turns off the type checker for a value. It is right for a user's object whose attributes are
used, and for objects of jaxlib's that have no types. Where nothing is assumed of a value, say
`object`; where a function hands on what it got, a type variable. What holds values of any type,
such as `dict[str, Any]`, is not counted.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent

# The ceiling of each package. Lower the number when there are fewer.
CEILINGS = {
    "autodiff": 50,
    "batching": 18,
    "buckets": 57,
    "check": 5,
    "compat": 53,
    "examples": 126,
    "export": 11,
    "ir": 285,
    "jax": 16,
    "kernels": 147,
    "lax": 160,
    "native": 0,
    "nn": 2,
    "numpy": 74,
    "parallel": 59,
    "pytree": 25,
    "random": 14,
    "reference": 46,
    "ricci": 15,
    "scipy": 18,
    "sparse": 153,
    "stablehlo": 10,
    "storage": 19,
    "testing": 53,
    "xla": 125,
}


class Place(NamedTuple):
    """A parameter or result that is annotated `Any`.

    Attributes:
      line: the number of the annotation's line.
      function: the function's name, after those of what it stands in.
      name: the parameter's name, or ``return``.
    """

    line: int
    function: str
    name: str


def is_any(annotation: ast.expr) -> bool:
    """Whether an annotation is `Any`, maybe quoted or by its module.

    >>> [is_any(ast.parse(text).body[0].value) for text in ("Any", "'Any'", "dict[str, Any]")]
    [True, True, False]
    """
    match annotation:
        case ast.Name(id="Any") | ast.Constant(value="Any") | ast.Attribute(attr="Any"):
            return True
    return False


def found(text: str) -> list[Place]:
    """Return the places in a module's text.

    >>> [place.name for place in found("def f(x: Any, y: int, *args: Any) -> Any: ...")]
    ['x', '*args', 'return']
    """
    return sorted(_inside(ast.parse(text), ""), key=lambda place: place.line)


def _inside(node: ast.AST, prefix: str) -> Iterator[Place]:
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield from _of_function(child, prefix + child.name)
                yield from _inside(child, f"{prefix}{child.name}.")
            case ast.ClassDef():
                yield from _inside(child, f"{prefix}{child.name}.")
            case _:
                yield from _inside(child, prefix)


def _of_function(node: ast.FunctionDef | ast.AsyncFunctionDef, function: str) -> Iterator[Place]:
    parameters = node.args
    annotated = [(a.arg, a.annotation) for a in (*parameters.posonlyargs, *parameters.args)]
    annotated += [(f"*{a.arg}", a.annotation) for a in [parameters.vararg] if a is not None]
    annotated += [(a.arg, a.annotation) for a in parameters.kwonlyargs]
    annotated += [(f"**{a.arg}", a.annotation) for a in [parameters.kwarg] if a is not None]
    annotated.append(("return", node.returns))
    for name, annotation in annotated:
        if annotation is not None and is_any(annotation):
            yield Place(annotation.lineno, function, name)


def places(folder: Path) -> Iterator[tuple[Path, Place]]:
    """Return the places in a package's sources, stubs included."""
    for path in sorted((folder / "src").rglob("*.py*")):
        if path.suffix in (".py", ".pyi"):
            for place in found(path.read_text()):
                # In a stub this says that a module has names which are made as it runs.
                if path.suffix == ".py" or place.function != "__getattr__":
                    yield path, place


def problems(package: str, count: int, ceiling: int) -> list[str]:
    """Return the problem of a package's number, if it exceeds the ceiling.

    >>> problems("x", 5, 4)
    ['x: 5 parameters and results are annotated Any, 4 may be: tools/any_annotations.py packages/x']
    """
    if count <= ceiling:
        return []
    return [
        f"{package}: {count} parameters and results are annotated Any, {ceiling} may be: "
        f"tools/any_annotations.py packages/{package}"
    ]


def main(arguments: list[str]) -> int:
    """Check all packages, or list the annotations of some; return the exit status."""
    if arguments:
        for folder in arguments:
            for path, (line, function, name) in places(Path(folder).resolve()):
                print(f"{path.relative_to(ROOT)}:{line}: {function}: {name}")
        return 0
    failures: list[str] = []
    for folder in sorted(path.parent for path in ROOT.glob("packages/*/src")):
        package, count = folder.name, sum(1 for _ in places(folder))
        ceiling = CEILINGS.get(package, 0)
        print(f"{package}: {count} annotated Any" + (f", {ceiling} may be" * (count < ceiling)))
        failures += problems(package, count, ceiling)
    print("\n".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
