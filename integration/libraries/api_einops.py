"""Einops: layout changes, reductions, packing and contractions on arrays and traced arrays."""

from functools import partial

from einops import asnumpy, einsum, pack, parse_shape, rearrange, reduce, repeat, unpack

import jax
import jax.numpy as jnp

X = jnp.arange(120.0).reshape(2, 3, 4, 5)

REARRANGED = {
    "transpose": ("a b c d -> d c b a", {}),
    "merge": ("a b c d -> (a b) (c d)", {}),
    "split": ("a b (c e) d -> a e b c d", {"e": 2}),
    "ellipsis": ("a ... -> ... a", {}),
    "ones": ("a b c d -> a 1 b (c d) 1", {}),
}
REDUCED = {name: name for name in ("sum", "mean", "max", "min", "prod")}


def with_gradient(function):
    return jax.jit(jax.value_and_grad(lambda x: jnp.sum(jnp.sin(function(x)))))(X)


def packed():
    whole, shapes = pack([X[..., 0], X[:, 0, :, 0]], "a * c")
    return whole, unpack(whole, shapes, "a * c")


CASES = (
    {
        f"rearrange {name}": lambda p=pattern, n=names: with_gradient(
            lambda x: rearrange(x, p, **n)
        )
        for name, (pattern, names) in REARRANGED.items()
    }
    | {
        # Small numbers, since the sine of a large product is a matter of its last places.
        f"reduce {name}": lambda n=name: with_gradient(
            lambda x: reduce(x / 100, "a b c d -> b d", n)
        )
        for name in REDUCED
    }
    | {
        "reduce any": lambda: reduce(X > 3, "a b c d -> a", "any"),
        "pool": lambda: with_gradient(lambda x: reduce(x, "a b (c e) d -> a b c d", "max", e=2)),
        "repeat": lambda: with_gradient(lambda x: repeat(x, "a b c d -> a b (c n) d", n=3)),
        "einsum": lambda: with_gradient(lambda x: einsum(x, x, "a b c d, a e c d -> a b e")),
        "einsum of one": lambda: with_gradient(lambda x: einsum(x, "a b c d -> d a")),
        "pack": packed,
        "list": lambda: rearrange([X, X + 1], "n a b c d -> a n b c d"),
        "vmap": lambda: jax.vmap(partial(rearrange, pattern="a b c -> c (a b)"))(X),
        "parse shape": lambda: parse_shape(X, "a _ c d"),
        "as numpy": lambda: asnumpy(X),
        "wrong": lambda: rearrange(X, "a b -> b a"),
    }
)
