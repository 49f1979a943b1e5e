"""Mistakes with transformations. Type checkers must report each marked line, and no other."""

import ricci
from ricci import Array, tree
from ricci.experimental.custom_partitioning import custom_partitioning
from ricci.sharding import Mesh, NamedSharding, PartitionSpec, auto_axes


def f(x: Array, scale: float) -> Array:
    return x * scale


def table(x: Array) -> dict[str, Array]:
    return {"x": x}


def mapped(params: dict[str, Array]) -> Array:
    return params["x"].sum()


def weighted(params: dict[str, Array], x: Array) -> Array:
    return (params["x"] * x).sum()


def halved(x: Array) -> Array:
    return x / 2


def pair(x: Array) -> tuple[Array, int]:
    return x, 1


def calls(x: Array) -> None:
    ricci.jit(f)(x)  # mistake
    ricci.jit(f)(x, "a")  # mistake
    ricci.jit(f)(x, 1.0, 2.0)  # mistake
    ricci.jit(f)(x, factor=1.0)  # mistake
    ricci.jit(3)  # mistake
    ricci.jit(f, static_argnum=1)  # mistake
    ricci.jit(f, static_argnums="scale")  # mistake
    ricci.jit(f).compile(x)  # mistake
    ricci.vmap(f)(x)  # mistake
    ricci.pmap(f)(x)  # mistake
    ricci.checkpoint(f)(x)  # mistake
    ricci.named_call(f)(x)  # mistake
    ricci.jit(f)(x, scale=1.0)


def results(x: Array) -> str:
    return ricci.jit(f)(x, 1.0)  # mistake


def gradients(x: Array) -> None:
    ricci.grad(f)(x)  # mistake
    ricci.grad(table)  # mistake
    ricci.grad(pair)  # mistake
    ricci.grad(f, has_aux=True)  # mistake
    ricci.grad(f, argnum=1)  # mistake
    value, gradient, rest = ricci.value_and_grad(f)(x, 1.0)  # mistake
    ricci.value_and_grad(f)(x, 1.0)[0].keys()  # mistake
    ricci.grad(pair, has_aux=True)(x)


def gradient_types(x: Array) -> None:
    ricci.grad(mapped)({"x": x}).sum()  # mistake
    ricci.grad(mapped)({"x": x})["x"].keys()  # mistake
    ricci.value_and_grad(mapped)({"x": x})[1].sum()  # mistake
    ricci.grad(f)(x, 1.0).keys()  # mistake
    ricci.grad(mapped)(x)  # mistake
    ricci.jit(ricci.grad(mapped))({"x": x}).sum()  # mistake
    ricci.grad(weighted, argnums=1)({"x": x}, x).keys()  # mistake
    ricci.grad(weighted, argnums=1)({"x": x})  # mistake
    ricci.grad(weighted, argnums=(0, 1))({"x": x}, x)[0].sum()  # mistake
    ricci.grad(weighted, argnums=(0, 1))({"x": x}, x)[2]  # mistake
    ricci.grad(weighted, argnums=(0, 1))(x, x)  # mistake
    ricci.value_and_grad(weighted, argnums=(0, 1))({"x": x}, x)[1][1].keys()  # mistake
    ricci.grad(mapped)({"x": x})["x"].sum()


def directions(x: Array) -> None:
    ricci.jvp(f, x)  # mistake
    value, pull, aux = ricci.vjp(table, x)  # mistake
    ricci.vjp(table, x)[0].sum()  # mistake
    value, push = ricci.linearize(pair, x, has_aux=True)  # mistake


class Model:
    @ricci.jit
    def apply(self, x: Array) -> Array:
        return x


def methods(model: Model, x: Array) -> None:
    model.apply()  # mistake
    model.apply(x, x)  # mistake
    Model.apply(x)  # mistake
    model.apply(x)


def trees(x: Array) -> None:
    tree.map(lambda a: a, x, x)  # mistake
    tree.map(lambda a, b: a, x)  # mistake
    tree.map(x, f)  # mistake
    tree.unflatten(x)  # mistake
    tree.map(halved, {"x": x}).sum()  # mistake
    tree.map(halved, {"x": x})["x"].keys()  # mistake
    tree.map(lambda a, b: a, x, x)


def on_devices(x: Array, mesh: Mesh) -> None:
    here = PartitionSpec("x")
    on_mesh = ricci.shard_map(f, mesh=mesh, in_specs=here, out_specs=here)
    on_mesh(x)  # mistake
    on_mesh(x, "a")  # mistake
    ricci.shard_map(f, mesh=mesh, in_specs=here)  # mistake
    ricci.shard_map(f, mesh="x", in_specs=here, out_specs=here)  # mistake
    ricci.smap(in_axes=0, out_axes=0, axis_name="x")(f)(x)  # mistake
    auto_axes(f, out_sharding=here)(x)  # mistake
    ricci.set_mesh("x")  # mistake
    NamedSharding(mesh, "x")  # mistake
    NamedSharding(mesh, here).shard_shape(8)  # mistake
    custom_partitioning(f)(x)  # mistake
    auto_axes(f)(x, 1.0, out_sharding=here)
