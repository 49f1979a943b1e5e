"""Shardings inside of exported functions, whose mesh has no devices."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ricci
import ricci.numpy as jnp
from ricci import P, export, lax
from ricci.sharding import AxisType, NamedSharding

KINDS = [AxisType.Auto, AxisType.Explicit]


def _mesh(kind: AxisType) -> Any:
    return ricci.make_mesh((2, 4), ("x", "y"), axis_types=(kind, kind))


def _constrain(x, mesh, *spec):
    sharding = NamedSharding(mesh, P(*spec))
    explicit = bool(mesh.explicit_axes)
    return ricci.reshard(x, sharding) if explicit else lax.with_sharding_constraint(x, sharding)


def _shard_map(x, mesh, *spec):
    double = lambda part: 2 * part
    return ricci.shard_map(double, mesh=mesh, in_specs=P(*spec), out_specs=P(*spec))(x)


# A function of an array and the abstract mesh, and the spec of its result.
FUNCTIONS: dict[str, tuple[Callable[[Any, Any], Any], tuple[str | None, ...]]] = {
    "argument": (lambda x, mesh: _constrain(x, mesh, "y", None) * 2, ("y",)),
    "inside": (lambda x, mesh: _constrain(x * 2, mesh, None, "x") + 1, (None, "x")),
    "nested jit": (
        lambda x, mesh: ricci.jit(lambda x: _constrain(x * 2, mesh, None, "x"))(x),
        (None, "x"),
    ),
    "reduced": (lambda x, mesh: _constrain(x * 2, mesh, None, "x").sum(0), ("x",)),
    "replicated": (lambda x, mesh: _constrain(x * 2, mesh), ()),
    "result": (lambda x, mesh: _constrain(x * 2, mesh, None, "x"), (None, "x")),
    "result over two axes": (lambda x, mesh: _constrain(x * 2, mesh, "y", "x"), ("y", "x")),
    "twice": (
        lambda x, mesh: _constrain(_constrain(x * 2, mesh, None, "x"), mesh, "x", None),
        ("x",),
    ),
}
CALLS: dict[str, Callable[[Any], Callable[..., Any]]] = {
    "eager": lambda exported: exported.call,
    "file": lambda exported: export.deserialize(exported.serialize()).call,
    "jit": lambda exported: ricci.jit(exported.call),
}
SPECS = [None, ("x",), ("x", "y")]


def _export(function, kind: AxisType, spec: tuple[str, ...] | None) -> tuple[Any, Any, Any]:
    """The exported function, its argument and the mesh of its calls."""
    mesh = _mesh(kind)
    abstract = mesh.abstract_mesh
    given = None if spec is None else NamedSharding(abstract, P(*spec))
    described = ricci.ShapeDtypeStruct((8, 8), "float32", sharding=given)
    with ricci.sharding.use_abstract_mesh(abstract):
        exported = export.export(ricci.jit(lambda x: function(x, abstract)))(described)
    values = np.arange(64, dtype="float32").reshape(8, 8)
    return exported, ricci.device_put(values, NamedSharding(mesh, P(*(spec or ())))), mesh


def _trimmed(spec) -> tuple[Any, ...]:
    parts = list(spec)
    while parts and parts[-1] is None:
        parts.pop()
    return tuple(parts)


@pytest.mark.sampled(14)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_constraint_over_an_abstract_mesh_holds_in_calls(eight_devices, name, call, spec, kind):
    function, expected = FUNCTIONS[name]
    exported, x, mesh = _export(function, kind, spec)
    assert exported.nr_devices == 8
    with ricci.set_mesh(mesh):
        result = CALLS[call](exported)(x)
        plain = function(x, mesh)
    assert _trimmed(result.sharding.spec) == expected
    assert result.tolist() == plain.tolist()


@pytest.mark.sampled(9)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("spec", [("x",), ("x", "y")])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradient_is_sharded_as_the_argument_over_an_abstract_mesh(eight_devices, name, spec, kind):
    exported, x, mesh = _export(FUNCTIONS[name][0], kind, spec)
    with ricci.set_mesh(mesh):
        gradient = ricci.grad(lambda x: exported.call(x).sum())(x)
    assert _trimmed(gradient.sharding.spec) == spec
    assert gradient.tolist() == [[2.0] * 8] * 8


@pytest.mark.parametrize("given", SPECS)
@pytest.mark.parametrize("spec", [("x",), ("x", "y")])
def test_shard_map_over_an_abstract_mesh_is_exported(eight_devices, spec, given):
    function = lambda x, mesh: _shard_map(x, mesh, *spec)
    exported, x, mesh = _export(function, AxisType.Auto, given)
    with ricci.set_mesh(mesh):
        result = exported.call(x)
        gradient = ricci.grad(lambda x: exported.call(x).sum())(x)
    assert _trimmed(result.sharding.spec) == spec
    assert result.tolist() == (2 * np.asarray(x)).tolist()
    assert gradient.tolist() == [[2.0] * 8] * 8


def test_module_for_one_device_is_exported_as_before():
    exported = export.export(ricci.jit(jnp.sin))(ricci.ShapeDtypeStruct((2,), "float32"))
    assert exported.nr_devices == 1
