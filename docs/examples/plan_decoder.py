"""Plans a training step of a 7-billion-parameter decoder for TPUs that need not be there.

``python docs/examples/plan_decoder.py v5e:8x8 --fsdp 64 --tensor 1`` compiles the step with libtpu
and prints its plan. Nothing is run, and no parameter exists.
"""

import argparse
import dataclasses

import numpy as np

import ricci
import ricci.numpy as jnp
from ricci import NamedSharding, P, ShapeDtypeStruct, lax
from ricci.experimental import topologies
from ricci.parallel import plan


@dataclasses.dataclass(frozen=True)
class Shape:
    """The sizes of a decoder, and of the sequences that it is trained on.

    These give 6.7 billion parameters.
    """

    layers: int = 32
    width: int = 4096
    heads: int = 32
    hidden: int = 11008
    words: int = 32000
    length: int = 2048


# How each weight of a layer is divided: over the axis that stores it in parts, and over the axis
# that divides its product. The leading dimension is the layer's.
LAYER = {
    "query": ("fsdp", "tensor", None),
    "key": ("fsdp", "tensor", None),
    "value": ("fsdp", "tensor", None),
    "out": ("tensor", None, "fsdp"),
    "gate": ("fsdp", "tensor"),
    "up": ("fsdp", "tensor"),
    "down": ("tensor", "fsdp"),
    "before_attention": (None,),
    "before_hidden": (None,),
}


class Decoder:
    """A decoder whose weights are stored in parts on the devices of a mesh.

    Args:
      shape: its sizes.
      mesh: has the axes ``fsdp``, which divides the batch and the stored weights, and ``tensor``,
        which divides the products and the sequences between them.
    """

    def __init__(self, shape, mesh):
        self.shape, self.mesh = shape, mesh

    def on(self, *spec):
        return NamedSharding(self.mesh, P(*spec))

    def described(self, shape, *spec, dtype=jnp.bfloat16):
        return ShapeDtypeStruct(shape, dtype, sharding=self.on(*spec))

    def weights(self):
        s = self.shape
        size = s.width // s.heads
        inner = (s.width, s.heads, size)
        sizes = {
            **dict.fromkeys(("query", "key", "value"), inner),
            "out": (s.heads, size, s.width),
            **dict.fromkeys(("gate", "up"), (s.width, s.hidden)),
            "down": (s.hidden, s.width),
            **dict.fromkeys(("before_attention", "before_hidden"), (s.width,)),
        }
        return {
            "words": self.described((s.words, s.width), None, ("fsdp", "tensor")),
            "layers": {
                name: self.described((s.layers, *sizes[name]), None, *spec)
                for name, spec in LAYER.items()
            },
            "last": self.described((s.width,)),
            "logits": self.described((s.width, s.words), "fsdp", "tensor"),
        }

    def gathered(self, weight, *spec):
        """A weight whole along the axis that stores it in parts; its gradient is stored so, too."""
        stored = self.on(*spec)
        whole = self.on(*(None if axis == "fsdp" else axis for axis in spec))

        @ricci.custom_vjp
        def gather(weight):
            return lax.with_sharding_constraint(weight, whole)

        gather.defvjp(
            lambda weight: (gather(weight), None),
            lambda _, g: (lax.with_sharding_constraint(g, stored),),
        )
        return gather(weight)

    def layer(self, x, weights):
        w = {name: self.gathered(weights[name], *spec) for name, spec in LAYER.items()}
        h = self.whole(normalized(x, w["before_attention"]))
        q, k, v = (self.divided("btd,dhk->bthk", h, w[name]) for name in ("query", "key", "value"))
        q, k = rotated(q), rotated(k)
        scores = self.on_heads(jnp.einsum("bthk,bshk->bhts", q, k) * q.shape[-1] ** -0.5)
        position = jnp.arange(x.shape[1])
        scores = jnp.where(position[:, None] >= position, scores.astype(jnp.float32), -1e9)
        weighted = self.on_heads(ricci.nn.softmax(scores).astype(x.dtype))
        mixed = self.divided("bhts,bshk->bthk", weighted, v)
        x = self.between(x + jnp.einsum("bthk,hkd->btd", mixed, w["out"]))
        h = self.whole(normalized(x, w["before_hidden"]))
        gate, up = (self.divided("btd,dh->bth", h, w[name]) for name in ("gate", "up"))
        return self.between(x + (ricci.nn.silu(gate) * up) @ w["down"]), None

    def whole(self, x):
        """Each device has some sequences, whole."""
        return lax.with_sharding_constraint(x, self.on("fsdp"))

    def divided(self, contraction, x, weight):
        """A product of which each device has some heads, or some of the hidden values."""
        return lax.with_sharding_constraint(
            jnp.einsum(contraction, x, weight), self.on("fsdp", None, "tensor")
        )

    def on_heads(self, scores):
        """Scores of pairs of positions: each device has those of some heads."""
        return lax.with_sharding_constraint(scores, self.on("fsdp", "tensor"))

    def between(self, x):
        """The residual stream: each device has some sequences, and a part of each."""
        return lax.with_sharding_constraint(x, self.on("fsdp", "tensor"))

    def loss(self, weights, tokens):
        table = lax.with_sharding_constraint(weights["words"], self.on())
        x = self.between(table[tokens[:, :-1]])
        x, _ = lax.scan(ricci.checkpoint(self.layer), x, weights["layers"])
        x = self.whole(normalized(x, weights["last"]))
        logits = (x @ self.gathered(weights["logits"], "fsdp", "tensor")).astype(jnp.float32)
        chosen = jnp.take_along_axis(logits, tokens[:, 1:, None], -1)[..., 0]
        return jnp.mean(ricci.nn.logsumexp(logits, -1) - chosen)

    def step(self):
        """A step of Adam, and descriptions of its arguments."""
        weights = self.weights()
        moments = ricci.tree.map(
            lambda w: ShapeDtypeStruct(w.shape, jnp.float32, sharding=w.sharding), weights
        )
        stored = ricci.tree.map(lambda w: w.sharding, weights)
        tokens = self.described((self.mesh.size, self.shape.length + 1), "fsdp", dtype=np.int32)

        def step(weights, mean, square, tokens):
            loss, gradient = ricci.value_and_grad(self.loss)(weights, tokens)
            gradient = lax.with_sharding_constraint(gradient, stored)
            mean = ricci.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, gradient)
            square = ricci.tree.map(
                lambda s, g: 0.95 * s + 0.05 * g.astype(jnp.float32) ** 2, square, gradient
            )
            weights = ricci.tree.map(adam, weights, mean, square)
            return weights, mean, square, loss

        shardings = (stored, stored, stored, self.on())
        jitted = ricci.jit(step, donate_argnums=(0, 1, 2), out_shardings=shardings)
        return jitted, (weights, moments, moments, tokens)


def adam(weight, mean, square):
    return (weight - 3e-4 * mean / (jnp.sqrt(square) + 1e-8)).astype(weight.dtype)


def normalized(x, scale):
    x32 = x.astype(jnp.float32)
    return (x32 * lax.rsqrt(jnp.mean(x32**2, -1, keepdims=True) + 1e-5)).astype(x.dtype) * scale


def rotated(x):
    half = x.shape[-1] // 2
    angle = jnp.arange(x.shape[1])[:, None] * 10000.0 ** -(jnp.arange(half) / half)
    cos, sin = (f(angle)[:, None].astype(x.dtype) for f in (jnp.cos, jnp.sin))
    a, b = x[..., :half], x[..., half:]
    return jnp.concatenate([a * cos - b * sin, a * sin + b * cos], -1)


def planned(topology, fsdp, tensor, shape):
    """The plan of a step on all devices of a topology, a sequence for each."""
    machine = topologies.get_topology_desc(topology)
    mesh = topologies.make_mesh(machine, (fsdp, tensor), ("fsdp", "tensor"))
    step, args = Decoder(shape, mesh).step()
    return plan(step, *args, topology=machine)


def row(topology, fsdp, tensor, found):
    """The plan as a row of a table."""
    memory, time = found.memory, found.time
    sizes = memory.arguments, memory.temporaries, memory.total
    seconds = () if time is None else (time.compute, time.memory, time.communication)
    steps = () if time is None else (time.overlapped, time.serial)
    sent = found.sent("fsdp"), found.sent("tensor"), found.sent()
    cells = [
        topology,
        f"{fsdp} x {tensor}",
        *(f"{size / 1e9:.2f}" for size in (*sizes, *sent)),
        *(f"{x * 1e3:.0f}" for x in (*seconds, *steps)),
    ]
    return f"| {' | '.join(cells)} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("topology", help="such as v5e:8x8; cpu:64 needs no libtpu")
    parser.add_argument("--fsdp", type=int, required=True, help="size of the axis of the batch")
    parser.add_argument("--tensor", type=int, default=1, help="size of the axis of the products")
    parser.add_argument("--layers", type=int, default=Shape.layers)
    parser.add_argument("--row", action="store_true", help="print a row of a table as well")
    given = parser.parse_args()
    shape = Shape(layers=given.layers)
    found = planned(given.topology, given.fsdp, given.tensor, shape)
    print(found)
    if given.row:
        print(row(given.topology, given.fsdp, given.tensor, found))


if __name__ == "__main__":
    main()
