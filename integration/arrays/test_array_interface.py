"""The stub of ``Array`` declares the attributes of arrays, tracers and ``x.at`` at run time."""

import ast
import inspect
from pathlib import Path

import pytest

import ricci.numpy as np
import ricci_ir
from ricci_ir import Tracer

STUB = ast.parse((Path(ricci_ir.__file__).parent / "traces" / "_array_type.pyi").read_text())

# jaxlib's ways into its own objects: not part of the interface.
_RUNTIME_ONLY = {"clone", "platform", "unsafe_raw_buffer"}
# Protocols of Python and of other libraries, which no program calls by name.
_PROTOCOLS = {
    "__annotations__",
    "__buffer__",
    "__cuda_array_interface__",
    "__del__",
    "__dict__",
    "__hex__",
    "__module__",
    "__oct__",
    "__release_buffer__",
    "__setitem__",
    "__slots__",
    "__weakref__",
}


def _stubs(name: str) -> dict[str, ast.FunctionDef]:
    [cls] = [node for node in STUB.body if isinstance(node, ast.ClassDef) and node.name == name]
    return {node.name: node for node in cls.body if isinstance(node, ast.FunctionDef)}


def _is_property(stub: ast.FunctionDef) -> bool:
    return any(isinstance(d, ast.Name) and d.id == "property" for d in stub.decorator_list)


def _stub_parameters(stub: ast.FunctionDef) -> list[tuple[str, str]]:
    """Each parameter after ``self``, with its default as text."""
    plain = stub.args.posonlyargs + stub.args.args
    required = len(plain) - len(stub.args.defaults)
    defaults = [None] * required + list(stub.args.defaults)
    pairs = [*zip(plain, defaults, strict=True)][1:]
    if stub.args.vararg:
        pairs.append((stub.args.vararg, None))
    pairs += zip(stub.args.kwonlyargs, stub.args.kw_defaults, strict=True)
    return [(a.arg, "" if default is None else ast.unparse(default)) for a, default in pairs]


def _parameters(function) -> list[tuple[str, str]]:
    empty = inspect.Parameter.empty
    parameters = list(inspect.signature(function).parameters.values())[1:]
    return [(p.name, "" if p.default is empty else repr(p.default)) for p in parameters]


ARRAY = _stubs("Array")
UPDATES = _stubs("IndexedUpdates")
[UPDATE] = _stubs("Update").values()
METHODS = [
    name
    for name, stub in ARRAY.items()
    if not name.startswith("_")
    and not _is_property(stub)
    and not {"args", "options"} <= set(inspect.signature(getattr(Tracer, name, len)).parameters)
    and hasattr(Tracer, name)
]


@pytest.mark.parametrize("name", ARRAY)
def test_arrays_have_the_attributes_of_their_stub(name):
    getattr(type(np.ones(2)), name)  # a `LateMember` becomes the member when it is looked up
    attribute = inspect.getattr_static(type(np.ones(2)), name)
    is_method = callable(attribute) and not isinstance(attribute, property)
    assert is_method != _is_property(ARRAY[name])


@pytest.mark.parametrize("name", METHODS)
def test_a_method_has_the_parameters_of_its_stub(name):
    assert _stub_parameters(ARRAY[name]) == _parameters(getattr(Tracer, name))


def test_the_stub_leaves_nothing_public_out():
    names = {*dir(Tracer), *dir(type(np.ones(2)))} - set(dir(object)) - _PROTOCOLS - _RUNTIME_ONLY
    public = {n for n in names if not n.startswith("_") or n.startswith("__")}
    attributes, of_tracers = {"__array_priority__", "aval"}, {"concrete", "is_differentiated"}
    of_tracers |= {"full_lower", "get_referent", "to_concrete_value"}  # for traces written for JAX
    refused = {"flat"}  # it raises, and so is not offered
    assert public - set(ARRAY) == attributes | of_tracers | refused


def test_at_updates_have_the_attributes_of_their_stub():
    updates = type(np.ones(2).at[0])
    assert {n for n in vars(updates) if not n.startswith("_")} - {"array", "index"} == set(UPDATES)
    for name, stub in UPDATES.items():
        stub = UPDATE if _is_property(stub) else stub
        assert _stub_parameters(stub) == _parameters(getattr(updates, name)), name
