"""Gradients have the type of the argument, where its leaves are arrays."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, assert_type

import ricci
import ricci.numpy as jnp
from ricci import Array, lax
from ricci.typing import ArrayLike


class Layer(NamedTuple):
    weights: Array
    bias: Array


@ricci.tree_util.register_dataclass
@dataclass
class Model:
    layers: list[Layer]


def loss(model: Model, x: Array, scale: float = 1.0) -> Array:
    for layer in model.layers:
        x = jnp.tanh(x @ layer.weights + layer.bias)
    return scale * x.sum()


def of_dict(params: dict[str, Array], x: Array) -> tuple[Array, int]:
    return (params["w"] * x).sum(), 3


def of_number(x: float) -> float:
    return x * x


def of_anything(x: ArrayLike) -> Array:
    return jnp.sum(x)


def of_numbers(params: dict[str, float]) -> float:
    return params["a"] * 2


def scaled(scale: float, params: dict[str, Array]) -> Array:
    return scale * params["w"].sum()


def total(params: dict[str, Array]) -> Array:
    return params["w"].sum()


def lower[P](fun: Callable[[P], ArrayLike], params: P) -> P:
    gradient: P = ricci.grad(fun)(params)
    return gradient


def counted(total: Array, x: Array) -> tuple[Array, None]:
    return total + x, None


def main() -> None:
    x = jnp.ones(2)
    model = Model([Layer(jnp.eye(2), x)])
    assert_type(ricci.grad(loss)(model, x), Model)
    assert_type(ricci.grad(loss)(model, x, scale=2.0).layers[0].bias, Array)
    assert_type(ricci.value_and_grad(loss)(model, x), tuple[Array, Model])
    assert_type(ricci.jit(ricci.grad(ricci.jit(loss)))(model, x), Model)
    gradient, count = ricci.grad(of_dict, has_aux=True)({"w": x}, x)
    assert_type(gradient, dict[str, Array])
    assert_type(count, int)
    (value, count), gradient = ricci.value_and_grad(of_dict, has_aux=True)({"w": x}, x)
    assert_type(value, Array)
    assert_type(gradient["w"], Array)
    # Numbers have arrays as gradients.
    assert_type(ricci.grad(of_number)(2.0), Array)
    assert_type(ricci.grad(of_anything)(2.0), Array)
    assert_type(ricci.vmap(ricci.grad(of_anything))(x), Array)
    # No annotation says that of these.
    assert_type(ricci.grad(of_numbers)({"a": 1.0}), Any)
    # Other arguments, by position or by name.
    assert_type(ricci.grad(loss, argnums=1)(model, x), Array)
    assert_type(ricci.grad(loss, 1)(model, x, scale=2.0), Array)
    assert_type(ricci.grad(loss, (0, 1))(model, x), tuple[Model, Array])
    assert_type(ricci.grad(scaled, argnums=(0, 1))(2.0, {"w": x}), tuple[Array, dict[str, Array]])
    assert_type(ricci.value_and_grad(loss, argnums=1)(model, x), tuple[Array, Array])
    assert_type(
        ricci.value_and_grad(loss, argnums=(0, 1))(model, x), tuple[Array, tuple[Model, Array]]
    )
    assert_type(ricci.grad(of_dict, argnums=1, has_aux=True)({"w": x}, x), tuple[Array, int])
    # A tuple of one position, and the last argument of the call.
    assert_type(ricci.grad(loss, (0,))(model, x), tuple[Model])
    assert_type(ricci.grad(loss, (1,))(model, x), tuple[Array])
    assert_type(ricci.value_and_grad(loss, (1,))(model, x), tuple[Array, tuple[Array]])
    assert_type(ricci.grad(loss, -1)(model, x), Array)
    assert_type(ricci.grad(scaled, argnums=-1)(2.0, {"w": x}), dict[str, Array])
    assert_type(ricci.grad(of_number, -1)(2.0), Array)
    assert_type(ricci.value_and_grad(total, -1)({"w": x}), tuple[Array, dict[str, Array]])
    (value, count), (by_params, by_x) = ricci.value_and_grad(of_dict, argnums=(0, 1), has_aux=True)(
        {"w": x}, x
    )
    assert_type(count, int)
    assert_type(by_params, dict[str, Array])
    assert_type(by_x, Array)
    assert lower(total, {"w": x})["w"].shape == (2,)
    # A number that a loop carries is an array.
    assert_type(lax.scan(counted, 0.0, x)[0], Array)
    assert_type(lax.fori_loop(0, 3, lambda i, c: (c[0] + i, c[1]), (x, x)), tuple[Array, Array])
