"""Names that NumPy and JAX have dropped: errors name what takes their place."""

import re
from importlib import import_module

import numpy as np
import pytest

import jax
import ricci
from ricci import _heirs

ROWS = [
    (namespace, name, heir)
    for namespace, heirs in _heirs._HEIRS.items()
    for name, heir in heirs.items()
]
# Names of NumPy's own sources, documentation and strings, which programs of arrays do not use.
WITHOUT_HEIRS = (
    "DataSource add_docstring add_newdoc add_newdoc_ufunc compare_chararrays deprecate "
    "deprecate_with_doc disp format_parser get_array_wrap lookfor safe_eval set_numeric_ops source "
    "string_ tracemalloc_domain unicode_ who"
).split()


def namespace_of(root, path):
    return import_module(f"{root}.{path}".rstrip("."))


@pytest.mark.parametrize("package", ["ricci", "jax"])
@pytest.mark.parametrize(("namespace", "name", "heir"), ROWS)
def test_a_dropped_name_is_answered_with_its_heir(package, namespace, name, heir):
    module = namespace_of(package, namespace)
    heir = re.sub(r"(?<!-m )ricci(?=\.)", package, heir)
    with pytest.raises(AttributeError) as caught:
        getattr(module, name)
    expected = f"module {module.__name__!r} has no attribute {name!r}; in its place there is {heir}"
    assert str(caught.value) == expected
    with pytest.raises(ImportError) as caught:
        exec(f"from {module.__name__} import {name}")
    assert f"in its place there is {heir}" in str(caught.value)
    assert name in str(caught.value).partition("in its place")[0]


@pytest.mark.parametrize(("namespace", "heir"), [(row[0], row[2]) for row in ROWS])
def test_heirs_exist(namespace, heir):
    for path in re.findall(r"(?<!-m )\bricci((?:\.\w+)+)", heir):
        *modules, name = path[1:].split(".")
        assert hasattr(namespace_of("ricci", ".".join(modules)), name)
    if namespace == "numpy" and re.fullmatch(r"\w+", heir):
        assert hasattr(ricci.numpy, heir)


def test_names_that_numpy_dropped_have_heirs():
    dropped = np._expired_attrs_2_0.__expired_attributes__
    missing = [name for name in dropped if not hasattr(jax.numpy, name)]
    assert len(missing) > 40
    without = {name for name in missing if _heirs.heir_of("numpy", name) is None}
    assert without == without.intersection(WITHOUT_HEIRS)


def test_other_missing_names_are_reported_as_python_does():
    with pytest.raises(ImportError, match="cannot import name 'nothing' from 'ricci.random'"):
        exec("from ricci.random import nothing")
    assert not hasattr(ricci.sharding, "PositionalSharding")
    assert getattr(jax.ops, "index_update", None) is None
