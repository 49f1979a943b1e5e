"""Jaxtyping: annotations checked by beartype and typeguard on arrays, keys, trees and tracers."""

from functools import partial

import numpy as np
from beartype import beartype
from jaxtyping import (
    AbstractDtype,
    Array,
    ArrayLike,
    BFloat16,
    Bool,
    Complex,
    Float,
    Float32,
    Inexact,
    Int,
    Key,
    Num,
    PRNGKeyArray,
    PyTree,
    Real,
    Scalar,
    ScalarLike,
    Shaped,
    UInt8,
    jaxtyped,
)
from typeguard import typechecked

import jax
import jax.numpy as jnp

X, Y = jnp.ones((2, 3)), jnp.ones((3, 4))
VALUES = {
    "floats": X,
    "integers": jnp.arange(3),
    "bools": jnp.array([True]),
    "complex": jnp.ones(2, jnp.complex64),
    "bfloat16": jnp.ones(2, jnp.bfloat16),
    "bytes": jnp.ones((2, 2), jnp.uint8),
    "numpy": np.ones((2, 3), np.float32),
    "key": jax.random.key(0),
    "keys": jax.random.split(jax.random.key(0), 2),
    "old key": jax.random.PRNGKey(0),
    "python": 1.0,
    "scalar": jnp.float32(1),
    "tree": {"a": X, "b": (X,)},
    "struct": jax.ShapeDtypeStruct((2, 3), jnp.float32),
}
TYPES = {
    "Float": Float[Array, "a b"],
    "Float32": Float32[Array, "..."],
    "BFloat16": BFloat16[Array, " a"],
    "Int": Int[Array, " a"],
    "Bool": Bool[Array, " 1"],
    "Complex": Complex[Array, " 2"],
    "Num": Num[Array, "*a"],
    "Real": Real[Array, "2 a"],
    "Inexact": Inexact[Array, "a a+1"],
    "Shaped": Shaped[Array, "#a b"],
    "UInt8": UInt8[Array, "a a"],
    "Float NumPy": Float[np.ndarray, "2 3"],
    "ArrayLike": Float[ArrayLike, "..."],
    "Key": Key[Array, ""],
    "PRNGKeyArray": PRNGKeyArray,
    "Scalar": Scalar,
    "ScalarLike": ScalarLike,
    "PyTree": PyTree[Float[Array, "a b"]],
    "struct": Float[jax.ShapeDtypeStruct, "a b"],
}


def contract(checker):
    @jaxtyped(typechecker=checker)
    def multiply(x: Float[Array, "a b"], y: Float[Array, "b c"]) -> Float[Array, "a c"]:
        return x @ y

    return multiply


def misuse(checker):
    return contract(checker)(X, X)


@jaxtyped(typechecker=beartype)
def same(x: PyTree[Float[Array, "?n"], "T"], y: PyTree[Float[Array, "?n"], "T"]) -> PyTree:
    return jax.tree.map(lambda a, b: a + b, x, y)


class Byte(AbstractDtype):
    dtypes = ["uint8", "int8"]


def in_context():
    with jaxtyped("context"):
        first = isinstance(X, Float[Array, "n m"])
        return first, isinstance(Y, Float[Array, "n m"]), isinstance(Y, Float[Array, "m k"])


CASES = (
    {
        f"{value} as {kind}": lambda v=held, t=annotation: isinstance(v, t)
        for value, held in VALUES.items()
        for kind, annotation in TYPES.items()
    }
    | {
        f"{use} {checker.__name__}": partial(run, checker)
        for checker in (beartype, typechecked)
        for use, run in {
            "call": lambda c: contract(c)(X, Y),
            "jit": lambda c: jax.jit(contract(c))(X, Y),
            "grad": lambda c: jax.grad(lambda x: contract(c)(x, Y).sum())(X),
            "vmap": lambda c: jax.vmap(contract(c), (0, None))(jnp.stack([X, X]), Y),
            "eval_shape": lambda c: jax.eval_shape(contract(c), X, Y).shape,
            "misuse": misuse,
            "misuse jit": lambda c: jax.jit(contract(c))(X, X),
        }.items()
    }
    | {
        "tree": lambda: same(
            {"a": jnp.ones(2), "b": jnp.ones(3)}, {"a": jnp.ones(2), "b": Y[:, 0]}
        ),
        "tree wrong": lambda: same({"a": jnp.ones(2)}, {"b": jnp.ones(2)}),
        "own dtype": lambda: isinstance(VALUES["bytes"], Byte[Array, "2 2"]),
        "context": in_context,
    }
)
