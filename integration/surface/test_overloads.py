"""Decorators of a function with overloads stand at the function, which alone is called."""

import ast
from pathlib import Path

PACKAGES = Path(__file__).resolve().parents[2] / "packages"
OF_METHODS = {"staticmethod", "classmethod"}


def test_overloads_have_no_decorators_of_their_function():
    sources = [file for file in PACKAGES.glob("*/src/**/*.py") if "@overload" in file.read_text()]
    assert len(sources) > 20
    for file in sources:
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.FunctionDef):
                decorators = {ast.unparse(decorator) for decorator in node.decorator_list}
                others = decorators - {"overload"} - OF_METHODS
                assert "overload" not in decorators or not others, f"{file}:{node.lineno}"
