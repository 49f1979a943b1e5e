"""jit and vmap: their options, and the arguments of the calls."""

from ._mistake import Mistake

MISTAKES = [
    Mistake(
        "sizes of mapped axes that differ",
        """
def distance(point, centre):
    return jnp.sum((point - centre) ** 2)

ricci.vmap(distance)(jnp.ones((8, 3)), jnp.ones((4, 3)))  # here
""",
        "ValueError",
        ("8", "4", "point"),
        "centre",
    ),
    Mistake(
        "vmap of a scalar",
        """
def double(x):
    return 2 * x

ricci.vmap(double)(1.0)  # here
""",
        "ValueError",
        ("in_axes", "rank"),
    ),
    Mistake(
        "in_axes of another structure",
        """
def layer(params, x):
    return params["w"] * x

ricci.vmap(layer, in_axes=({"v": None}, 0))({"w": 2.0}, jnp.ones(3))  # here
""",
        "ValueError",
        ("in_axes",),
        "params",
    ),
    Mistake(
        "too few in_axes",
        """
def layer(w, x):
    return w * x

ricci.vmap(layer, in_axes=(None,))(2.0, jnp.ones(3))  # here
""",
        "ValueError",
        ("in_axes", "2"),
    ),
    Mistake(
        "in_axes that map nothing",
        """
def layer(w, x):
    return w * x

ricci.vmap(layer, in_axes=None)(2.0, jnp.ones(3))  # here
""",
        "ValueError",
        ("in_axes", "None"),
    ),
    Mistake(
        "out_axes that are not there",
        """
ricci.vmap(lambda x: x, out_axes=2)(jnp.ones(3))  # here
""",
        "ValueError",
        ("out_axes",),
    ),
    Mistake(
        "out_axes=None for a mapped result",
        """
ricci.vmap(lambda x: 2 * x, out_axes=None)(jnp.ones(3))  # here
""",
        "ValueError",
        ("out_axes", "None"),
    ),
    Mistake(
        "text as an argument",
        """
@ricci.jit
def activate(x, kind):
    return x

activate(1.0, "relu")  # here
""",
        "TypeError",
        ("str", "static"),
        "kind",
    ),
    Mistake(
        "a list as a static argument",
        """
from functools import partial

@partial(ricci.jit, static_argnames="sizes")
def zeros(sizes):
    return jnp.zeros(sizes)

zeros(sizes=[2, 3])  # here
""",
        "ValueError",
        ("Non-hashable", "list", "[2, 3]"),
        "sizes",
        of_jaxlib=True,
    ),
    Mistake(
        "a list as a static positional argument",
        """
def zeros(x, sizes):
    return jnp.zeros(sizes)

ricci.jit(zeros, static_argnums=1)(1.0, [2, 3])  # here
""",
        "ValueError",
        ("Non-hashable", "list", "[2, 3]"),
        "sizes",
        of_jaxlib=True,
    ),
    Mistake(
        "an array as a static argument",
        """
def scale(x, factor):
    return x * factor

ricci.jit(scale, static_argnums=1)(1.0, jnp.ones(3))  # here
""",
        "ValueError",
        ("Non-hashable", "ArrayImpl"),
        "factor",
        of_jaxlib=True,
    ),
    Mistake(
        "static_argnames that are not there",
        """
def power(x, n):
    return x ** n

ricci.jit(power, static_argnames="m")  # here
""",
        "ValueError",
        ("static_argnames", "m", "power"),
    ),
    Mistake(
        "static_argnames that are misspelt",
        """
def ramp(x, length):
    return x * jnp.arange(length)

ricci.jit(ramp, static_argnames="lenght")  # here
""",
        "ValueError",
        ("static_argnames", "lenght", "ramp"),
        "length",
    ),
    Mistake(
        "static_argnums out of range",
        """
def power(x, n):
    return x ** n

ricci.jit(power, static_argnums=2)  # here
""",
        "ValueError",
        ("static_argnums", "2", "power"),
    ),
    Mistake(
        "a class that is not registered",
        """
from dataclasses import dataclass

@dataclass
class Weights:
    kernel: ricci.Array
    bias: ricci.Array

@ricci.jit
def apply(weights, x):
    return x @ weights.kernel + weights.bias

apply(Weights(jnp.ones((3, 2)), jnp.ones(2)), jnp.ones(3))  # here
""",
        "TypeError",
        ("Weights", "register_dataclass"),
        "weights",
    ),
    Mistake(
        "a result of a class that is not registered",
        """
class Weights:
    def __init__(self, kernel):
        self.kernel = kernel

@ricci.jit
def make(x):
    return Weights(x)

make(jnp.ones(3))  # here
""",
        "TypeError",
        ("Weights", "register_pytree_node_class"),
    ),
    Mistake(
        "jit of a method",
        """
class Model:
    def __init__(self, factor):
        self.factor = factor

    @ricci.jit
    def scale(self, x):
        return self.factor * x

Model(2.0).scale(1.0)  # here
""",
        "TypeError",
        ("Model", "static_argnums=0"),
        "self",
    ),
    Mistake(
        "lower with a wrong argument",
        """
@ricci.jit
def activate(x, kind):
    return x

activate.lower(1.0, "relu")  # here
""",
        "TypeError",
        ("str", "static"),
        "kind",
    ),
    Mistake(
        "lower of a function that fails",
        """
@ricci.jit
def layer(x, w):
    return x @ w  # here

layer.lower(jnp.ones((2, 3)), jnp.ones((2, 3)))
""",
        "TypeError",
        ("(2, 3)",),
    ),
    Mistake(
        "trace of a function that fails",
        """
@ricci.jit
def absolute(x):
    return x if x > 0 else -x  # here

absolute.trace(1.0)
""",
        "TracerBoolConversionError",
        ("bool[]",),
    ),
    Mistake(
        "a compiled function called with other types",
        """
compiled = ricci.jit(lambda x: 2 * x).lower(jnp.ones(3)).compile()
compiled(jnp.ones(4))  # here
""",
        "TypeError",
        ("float32[3]", "float32[4]"),
        "x",
    ),
    Mistake(
        "eval_shape of what has no type",
        """
def layer(x, name):
    return x

ricci.eval_shape(layer, jnp.ones(3), "dense")  # here
""",
        "TypeError",
        ("str",),
        "name",
    ),
    Mistake(
        "a missing argument",
        """
@ricci.jit
def layer(x, w):
    return x * w

layer(1.0)  # here
""",
        "TypeError",
        ("layer", "w"),
        "w",
    ),
    Mistake(
        "an option that is not there",
        """
ricci.config.update("jax_enable_x46", True)  # here
""",
        "AttributeError",
        ("jax_enable_x46", "jax_enable_x64"),
    ),
    Mistake(
        "a value that an option does not take",
        """
ricci.config.update("jax_default_matmul_precision", "hihgest")  # here
""",
        "ValueError",
        ("jax_default_matmul_precision", "highest"),
    ),
]
