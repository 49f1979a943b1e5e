"""The stubs of jaxlib's classes name what the classes have in a running program."""

import ast
import inspect
from importlib import import_module
from pathlib import Path

import pytest

import ricci_xla

_ROOT = Path(ricci_xla.__file__).parent
_MODULES = (
    "_profiler_types",
    "arrays._array_impl",
    "meshes._sharding_types",
    "devices._runtime_types",
)


def _classes(module):
    tree = ast.parse((_ROOT / f"{module.replace('.', '/')}.pyi").read_text())
    return [node for node in tree.body if isinstance(node, ast.ClassDef)]


_CASES = [(module, node) for module in _MODULES for node in _classes(module)]


@pytest.mark.parametrize("module, node", _CASES, ids=[node.name for _, node in _CASES])
def test_classes_have_the_attributes_of_their_stubs(module, node):
    found = getattr(import_module(f"ricci_xla.{module}"), node.name)
    assert inspect.isclass(found)
    bases = [base.id for base in node.bases if isinstance(base, ast.Name) and base.id != "Array"]
    assert set(bases) <= {c.__name__ for c in found.__mro__}
    named = [n.name for n in node.body if isinstance(n, ast.FunctionDef)]
    named += [n.targets[0].id for n in node.body if isinstance(n, ast.Assign)]
    named += [n.target.id for n in node.body if isinstance(n, ast.AnnAssign)]
    # An abstract sharding's subclasses have this; jaxlib's base class does not.
    left_to_subclasses = {"_internal_device_list"}
    for name in named:
        if not (node.name == "Sharding" and name in left_to_subclasses):
            assert hasattr(found, name), name


@pytest.mark.parametrize("module", _MODULES)
def test_a_stub_and_its_module_say_the_same_names(module):
    defined = {n for n in vars(import_module(f"ricci_xla.{module}")) if n[0].isupper()}
    named = {node.name for node in _classes(module)} | {"XlaRuntimeError"} & defined
    assert named == defined
