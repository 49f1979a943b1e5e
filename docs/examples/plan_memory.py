"""What a training step of a transformer holds in memory, and what checkpoints would save.

``python docs/examples/plan_memory.py`` prints the plan; with ``--save docs/guides/memory.svg`` it
draws it as well. Nothing is run, and no parameter exists.
"""

import argparse

import ricci
import ricci.numpy as jnp
from ricci import ShapeDtypeStruct, lax

LAYERS, WIDTH, HEADS, LENGTH, WORDS, BATCH = 6, 256, 4, 256, 2048, 8


def parameters():
    described = lambda *shape: ShapeDtypeStruct(shape, jnp.float32)
    layer = {
        "query_key_value": described(LAYERS, WIDTH, 3, HEADS, WIDTH // HEADS),
        "out": described(LAYERS, HEADS, WIDTH // HEADS, WIDTH),
        "up": described(LAYERS, WIDTH, 4 * WIDTH),
        "down": described(LAYERS, 4 * WIDTH, WIDTH),
    }
    return {"words": described(WORDS, WIDTH), "layers": layer}


def normalized(x):
    return x * lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6)


def attention(x, w):
    q, k, v = jnp.einsum("btd,dchk->cbthk", normalized(x), w["query_key_value"])
    scores = jnp.einsum("bthk,bshk->bhts", q, k) * q.shape[-1] ** -0.5
    causal = jnp.tril(jnp.ones((LENGTH, LENGTH), bool))
    weights = ricci.nn.softmax(jnp.where(causal, scores, -1e9))
    return jnp.einsum("bhts,bshk,hkd->btd", weights, v, w["out"])


def layer(x, w):
    x = x + attention(x, w)
    return x + ricci.nn.gelu(normalized(x) @ w["up"]) @ w["down"], None


def loss(parameters, tokens):
    x = parameters["words"][tokens]
    x, _ = lax.scan(layer, x, parameters["layers"])
    logits = normalized(x) @ parameters["words"].T
    chosen = jnp.take_along_axis(logits[:, :-1], tokens[:, 1:, None], -1)[..., 0]
    return jnp.mean(ricci.nn.logsumexp(logits[:, :-1], -1) - chosen)


def step(parameters, tokens):
    value, gradient = ricci.value_and_grad(loss)(parameters, tokens)
    return ricci.tree.map(lambda p, g: p - 0.1 * g, parameters, gradient), value


def planned():
    tokens = ShapeDtypeStruct((BATCH, LENGTH), jnp.int32)
    return ricci.memory_plan(ricci.jit(step, donate_argnums=0), parameters(), tokens)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--save", help="a file for the picture, such as plan.svg")
    given = parser.parse_args()
    plan = planned()
    print(plan)
    if given.save:
        plan.save(given.save)


if __name__ == "__main__":
    main()
