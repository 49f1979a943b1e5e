"""Calls a function by a bundle: `python program.py BUNDLE record|once|check`.

``record`` makes the call and writes the bundle, ``once`` makes it again, ``check`` makes each
change of the table and then the call. A call prints a line of JSON: what the bundle did,
why, and the result beside that of the same function without ``jit``.
"""

import json
import sys

import layers
import numpy as np

import ricci
import ricci.numpy as jnp
from ricci.sharding import NamedSharding, PartitionSpec

SCALE = 2.0


class Box:
    """A tree node with static data."""

    def __init__(self, content, label):
        self.content, self.label = content, label


ricci.tree_util.register_pytree_node(
    Box, lambda b: ((b.content,), b.label), lambda label, c: Box(c[0], label)
)


class Case:
    """The parts of a call. A change sets an attribute, or changes something outside."""

    def __init__(self):
        self.factor = 3.0
        self.array = np.arange(4, dtype="float32")
        self.default = 1
        self.layer = layers.Layer(2)
        self.extra = ()
        self.static = 1
        self.x = np.ones(4, "float32")
        self.tree = {"a": jnp.ones(2)}
        self.box = Box(np.float32(1), "label")
        self.options = {}
        self.context = ricci.enable_x64(False)

    def function(self):
        factor, array, layer, extra = self.factor, self.array, self.layer, self.extra

        def model(x, tree, box, static, default=self.default):
            inner = ricci.jit(lambda y: layers.activate(y) * SCALE)(x)
            looped = ricci.lax.fori_loop(0, 2, lambda i, y: layer(y), inner)
            total = looped * factor + array + default + static + len(extra) + len(box.label)
            weights = layers.WEIGHTS["first"]
            return {"out": total * weights, "box": Box(tree["a"] * box.content, box.label)}

        return model

    def call(self):
        """The result of the jitted function, and of the function itself."""
        model = self.function()
        with self.context:
            given = self.x, self.tree, self.box, self.static
            jitted = ricci.jit(model, static_argnums=3, **self.options)
            return jitted(*given), model(*given)


def on(device):
    return lambda case: setattr(case, "x", ricci.device_put(case.x, ricci.devices()[device]))


def sharded(case):
    mesh = ricci.make_mesh((2,), ("i",))
    case.x = ricci.device_put(case.x, NamedSharding(mesh, PartitionSpec("i")))


def meshed(case):
    case.context = ricci.set_mesh(ricci.make_mesh((1,), ("i",)))  # holds from here on


def setting(target, name, value):
    put = dict.__setitem__ if isinstance(target, dict) else setattr
    return lambda case: put(target, name, value)


def given(**attributes):
    return lambda case: [setattr(case, name, value) for name, value in attributes.items()]


CHANGES = {
    "nothing": given(),
    "an equal object": given(layer=layers.Layer(2)),
    "an equal array": given(array=np.arange(4, dtype="float32")),
    "an equal argument": given(x=jnp.ones(4) * 5),
    "a global value": setting(globals(), "SCALE", 2.5),
    "a global of a module": setting(layers, "SHIFT", 0.25),
    "an item of a global dict": setting(layers.WEIGHTS, "first", 1.5),
    "a function of a module": setting(layers, "activate", lambda x: x - 1),
    "an attribute of a class": setting(layers.Layer, "gain", 2.0),
    "an attribute of an object": given(layer=layers.Layer(3)),
    "a closed-over value": given(factor=4.0),
    "its type": given(factor=3),
    "a closed-over array": given(array=np.arange(1, 5, dtype="float32")),
    "a default": given(default=2),
    "a static argument": given(static=2),
    "the type of a static argument": given(static=1.0),
    "the shape": given(x=np.ones((2, 4), "float32")),
    "the dtype": given(x=np.ones(4, "int32")),
    "a weak type": given(x=1.0),
    "the tree": given(tree={"a": jnp.ones(2), "b": None}),
    "a node's static data": given(box=Box(np.float32(1), "label!")),
    "x64": given(context=ricci.enable_x64(True)),
    "the precision of dots": given(context=ricci.default_matmul_precision("highest")),
    "an option of jit": given(options={"keep_unused": True}),
    "donation": given(options={"donate_argnums": 0}),
    "the device": on(1),
    "the sharding": sharded,
    "a mesh": meshed,
}


def values(result):
    return [np.asarray(leaf).tolist() for leaf in ricci.tree.leaves(result)]


def tell(path, name, mode="read"):
    """Make one call after a change, and print what became of it."""
    case = Case()
    before = SCALE, layers.SHIFT, layers.activate, layers.Layer.gain
    with ricci.warm_start(path, mode=mode) as start:
        CHANGES[name](case)
        found, expected = case.call()
    globals()["SCALE"], layers.SHIFT, layers.activate, layers.Layer.gain = before
    layers.WEIGHTS["first"] = 1.0
    call = next(call for call in start.calls if call.function.endswith("model"))
    row = {"name": name, "outcome": call.outcome, "reason": call.reason}
    print(json.dumps(row | {"found": values(found), "expected": values(expected)}))


if __name__ == "__main__":
    match sys.argv[2]:
        case "record":
            tell(sys.argv[1], "nothing", mode="auto")
        case "once":
            tell(sys.argv[1], "nothing")
        case "check":
            for change in CHANGES:
                tell(sys.argv[1], change)
