"""Names that users see: signatures, classes in messages, namespaces."""

import inspect
import pickle
import pkgutil
import re
import subprocess
import sys
from importlib import import_module

import pytest

import jax
import ricci
import ricci.numpy as jnp

NAMESPACES = [
    name
    for _, name, _ in pkgutil.walk_packages(ricci.__path__, "ricci.")
    if not re.search(r"\._|extend\.mlir|experimental\.pallas\.", name)
]


def public_functions(namespace):
    return [
        value for name in namespace.__all__ if inspect.isfunction(value := getattr(namespace, name))
    ]


def test_where_is_shown_with_the_names_of_its_types():
    shown = str(inspect.signature(jnp.where))
    expected = "(condition: ArrayLike, x: ArrayLike | None = None, y: ArrayLike | None = None, /"
    assert shown.startswith(expected)
    assert shown.endswith("-> ricci.Array | tuple[ricci.Array, ...]")


PRIVATE = r"ricci[\w.]*\._[\w.]*"
# Namespaces for authors of extensions, of kernels and of formats of files.
OF_EXTENSIONS = r"ricci\.(extend|interpreters|experimental\.(array_serialization|pallas))\b.*"


@pytest.mark.parametrize(
    "name", ["ricci", *(name for name in NAMESPACES if not re.fullmatch(OF_EXTENSIONS, name))]
)
def test_no_signature_shows_a_private_module(name):
    functions = public_functions(import_module(name))
    shown = {f.__name__: re.findall(PRIVATE, str(inspect.signature(f))) for f in functions}
    assert {function: private for function, private in shown.items() if private} == {}


def test_results_are_named_tuples_with_public_names():
    for result in (
        jnp.linalg.svd(jnp.eye(2)),
        jnp.linalg.eigh(jnp.eye(2)),
        jnp.unique_all(jnp.arange(2)),
        ricci.scipy.stats.mode(jnp.arange(2)),
    ):
        assert "._" not in type(result).__module__
        copy = pickle.loads(pickle.dumps(result))
        assert type(copy) is type(result) and jnp.array_equal(copy[0], result[0])
        assert type(result).__name__ not in dir(jnp.linalg)


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (ricci.Array, "ricci.Array"),
        (jax.Array, "ricci.Array"),
        (jnp.ndarray, "ricci.Array"),
        (ricci.errors.TracerBoolConversionError, "ricci.errors.TracerBoolConversionError"),
        (ricci.core.Tracer, "ricci.core.Tracer"),
        (ricci.sharding.Mesh, "ricci.sharding.Mesh"),
        (ricci.ShapeDtypeStruct, "ricci.ShapeDtypeStruct"),
    ],
)
def test_classes_are_shown_and_pickled_by_their_public_name(value, name):
    assert repr(value) == f"<class '{name}'>"
    assert pickle.loads(pickle.dumps(value)) is value


def test_public_classes_are_in_public_modules():
    classes = {
        f"{value.__module__}.{value.__qualname__}"
        for name in NAMESPACES
        for value in vars(import_module(name)).values()
        if isinstance(value, type) and value.__module__.startswith("ricci")
        if value.__name__ in getattr(import_module(name), "__all__", ())
    }
    assert len(classes) > 50
    assert [name for name in sorted(classes) if "._" in name] == []


def public_methods(cls):
    for name in dir(cls):
        member = getattr(cls, name, None)
        method = getattr(member, "__func__", member)
        if not name.startswith("_") and inspect.isfunction(method):
            yield name, method


def is_named(value):
    """Whether a value is a function with rules, a ufunc or a type for annotations."""
    return {"__name__", "__module__"} <= getattr(value, "__dict__", {}).keys() and not isinstance(
        value, type
    )


@pytest.mark.parametrize("name", ["ricci", *NAMESPACES])
def test_functions_and_methods_are_in_public_modules(name):
    module = import_module(name)
    names = [name for name in getattr(module, "__all__", dir(module)) if name != "main"]
    values = [getattr(module, name) for name in names]
    # A class that is exported under another name keeps its own.
    classes = [value for value in values if inspect.isclass(value) and value.__name__ in names]
    functions = [value for value in values if inspect.isfunction(value) or is_named(value)]
    functions += [method for cls in classes for _, method in public_methods(cls)]
    assert [f for f in functions if re.match(r"ricci.*\._", f.__module__)] == []


def test_methods_of_arrays_are_shown_and_pickled_by_their_names():
    methods = dict(public_methods(ricci.Array))
    assert len(methods) > 40
    for name, method in methods.items():
        assert (method.__module__, method.__qualname__) == ("ricci", f"Array.{name}")
        assert pickle.loads(pickle.dumps(method)) is method
    x = jnp.arange(6.0)
    assert repr(x.reshape).startswith("<bound method Array.reshape of Array(")
    assert pickle.loads(pickle.dumps(x.reshape))(2, 3).shape == (2, 3)


BEHIND = """
import inspect, pickle
import ricci_numpy as jnp
jnp.arange(6.0).reshape(2, 3).sort()
import ricci
methods = {name: getattr(ricci.Array, name) for name in dir(ricci.Array) if name[0] != "_"}
methods = {name: method for name, method in methods.items() if inspect.isfunction(method)}
assert {"reshape", "sort", "argsort", "copy", "view"} <= methods.keys()
for name, method in methods.items():
    assert (method.__module__, method.__qualname__) == ("ricci", f"Array.{name}"), method.__module__
    assert pickle.loads(pickle.dumps(method)) is method
"""


def test_methods_that_were_used_before_ricci_was_imported_have_its_names():
    done = subprocess.run([sys.executable, "-c", BEHIND], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ["ricci", *NAMESPACES])
def test_functions_are_pickled_by_their_names(name):
    for function in public_functions(import_module(name)):
        assert pickle.loads(pickle.dumps(function)) is function


def test_types_for_annotations_are_unions_that_isinstance_takes():
    for union in (ricci.typing.ArrayLike, jax.typing.ArrayLike):
        assert ricci.Array in union.__args__
        assert isinstance(1.0, union) and not isinstance("1", union)


@pytest.mark.parametrize("name", NAMESPACES)
def test_a_namespace_says_what_is_in_it(name):
    first = (import_module(name).__doc__ or "").partition("\n")[0]
    assert first.endswith(".")
    assert "public names" not in first
