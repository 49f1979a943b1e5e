"""Mistakes with custom derivatives. Type checkers must report each marked line, and no other."""

import ricci
from ricci import Array


@ricci.custom_vjp
def f(x: Array) -> Array:
    return x


@ricci.custom_jvp
def g(x: Array) -> Array:
    return x


def no_residuals(x: Array) -> Array:
    return x


def forward(x: Array) -> tuple[Array, Array]:
    return x, x


def no_tuple(residual: Array, ct: Array) -> Array:
    return ct


def backward(residual: Array, ct: Array) -> tuple[Array]:
    return (ct,)


def no_tangent(primals: tuple[Array], tangents: tuple[Array]) -> Array:
    return primals[0]


def rules() -> None:
    f.defvjp(no_residuals, backward)  # mistake
    f.defvjp(forward, no_tuple)  # mistake
    f.defvjp(forward)  # mistake
    f.defjvp(no_tangent)  # mistake
    g.defjvp(no_tangent)  # mistake
    g.defvjp(forward, backward)  # mistake
    f.defvjp(forward, backward)


def calls(x: Array) -> None:
    f()  # mistake
    f(x, x)  # mistake
    g("a")  # mistake
    f(x).keys()  # mistake
    g(x).keys()  # mistake


@ricci.custom_gradient  # mistake
def no_rule(x: Array) -> Array:
    return x
