"""Export a transformer of Flax, with its weights inside, to the folder that is given.

Run on the drop-in; `packages/xla/tests/test_exported.py` runs the file without it.
"""

import sys
from pathlib import Path

import flax.linen as nn
import numpy as np

import jax
import jax.numpy as jnp
from jax import export

LENGTH, WIDTH = 12, 16


class Transformer(nn.Module):
    @nn.compact
    def __call__(self, tokens):
        place = self.param("place", nn.initializers.normal(0.02), (LENGTH, WIDTH))
        x = nn.Embed(32, WIDTH)(tokens) + place
        attend = nn.MultiHeadDotProductAttention(num_heads=2)
        x = x + attend(nn.LayerNorm()(x), mask=nn.make_causal_mask(tokens))
        x = x + nn.Dense(WIDTH)(nn.gelu(nn.Dense(2 * WIDTH)(nn.LayerNorm()(x))))
        return {"logits": nn.Dense(32)(nn.LayerNorm()(x)), "hidden": x}


def main(folder):
    model = Transformer()
    tokens = np.arange(3 * LENGTH, dtype=np.int32).reshape(3, LENGTH) * 7 % 32
    variables = model.init(jax.random.key(0), jnp.asarray(tokens))
    predict = jax.jit(lambda tokens: model.apply(variables, tokens))
    exported = export.export(predict, platforms=["cpu", "cuda", "rocm", "tpu"])(tokens)
    (folder / "flax.export").write_bytes(exported.serialize())
    (folder / "flax.jax").write_bytes(exported.serialize(format="jax"))
    found = predict(tokens)
    np.savez_compressed(
        folder / "flax.npz", tokens=tokens, **{k: np.asarray(v) for k, v in found.items()}
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
