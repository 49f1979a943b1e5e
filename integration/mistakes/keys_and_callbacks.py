"""Random keys; functions that programs call in Python; checks; modules that are absent."""

from ._mistake import Mistake

MISTAKES = [
    Mistake(
        "arithmetic on keys",
        """
key = ricci.random.key(0)
key + 1  # here
""",
        "TypeError",
        ("key<fry>", "split", "fold_in"),
    ),
    Mistake(
        "arithmetic on traced keys",
        """
@ricci.jit
def sample(key):
    return ricci.random.normal(key * 2)  # here

sample(ricci.random.key(0))
""",
        "TypeError",
        ("key<fry>", "split", "fold_in"),
    ),
    Mistake(
        "a seed instead of a key",
        """
ricci.random.normal(0, (3,))  # here
""",
        "TypeError",
        ("key", "random.key"),
    ),
    Mistake(
        "keys of a batch in place of one",
        """
keys = ricci.random.split(ricci.random.key(0), 3)
ricci.random.normal(keys, (2,))  # here
""",
        "ValueError",
        ("key", "(3,)", "vmap"),
    ),
    Mistake(
        "a shape of floats for a sampler",
        """
ricci.random.normal(ricci.random.key(0), (3.0,))  # here
""",
        "TypeError",
        ("3.0",),
    ),
    Mistake(
        "a key used twice",
        """
with ricci.debug_key_reuse(True):
    key = ricci.random.key(0)
    ricci.random.normal(key)
    ricci.random.normal(key)  # here
""",
        "KeyReuseError",
        ("key",),
    ),
    Mistake(
        "a generator that is none",
        """
ricci.random.key(0, impl="threefly")  # here
""",
        "ValueError",
        ("threefly", "threefry2x32"),
    ),
    Mistake(
        "a callback with another shape",
        """
import numpy as np

f = lambda x: ricci.pure_callback(lambda x: np.ones(4, np.float32), x, x)
ricci.block_until_ready(ricci.jit(f)(jnp.ones(3)))  # here
""",
        "JaxRuntimeError",
        ("pure_callback", "float32[4]", "float32[3]"),
    ),
    Mistake(
        "a callback that fails",
        """
def look_up(x):
    return {}["missing"]  # raised here

f = ricci.jit(lambda x: ricci.pure_callback(look_up, x, x))
ricci.block_until_ready(f(jnp.ones(3)))  # here
""",
        "JaxRuntimeError",
        ("KeyError", "missing", "look_up"),
    ),
    Mistake(
        "a NaN under debug_nans",
        """
def inverse_log(x):
    return 1 / jnp.log(x)

with ricci.debug_nans(True):
    ricci.jit(inverse_log)(-1.0)  # here
""",
        "FloatingPointError",
        ("log", "nan"),
    ),
    Mistake(
        "a check of checkify",
        """
from ricci.experimental import checkify

def root(x):
    checkify.check(x >= 0, "x is negative: {x}", x=x)
    return jnp.sqrt(x)

error, result = checkify.checkify(ricci.jit(root))(-1.0)
error.throw()  # here
""",
        "JaxRuntimeError",
        ("x is negative: -1.0",),
    ),
    Mistake(
        "check outside of checkify",
        """
from ricci.experimental import checkify

@ricci.jit
def root(x):
    checkify.check(x >= 0, "negative")
    return jnp.sqrt(x)

root(1.0)  # here
""",
        "ValueError",
        ("checkify", "root"),
    ),
    Mistake(
        "a module that is absent",
        """
from ricci.experimental import jax2tf  # here
""",
        "ImportError",
        ("jax2tf", "export"),
    ),
    Mistake(
        "a module of kernels that is absent",
        """
import ricci.experimental.pallas.mosaic_gpu as plgpu  # here
""",
        "ModuleNotFoundError",
        ("pallas", "ffi"),
    ),
    Mistake(
        "a module that was removed",
        """
from ricci.experimental import host_callback  # here
""",
        "ModuleNotFoundError",
        ("host_callback", "pure_callback"),
    ),
    Mistake(
        "a name of another module",
        """
from ricci.numpy import softmax  # here
""",
        "ModuleNotFoundError",
        ("softmax", "nn.softmax"),
    ),
    Mistake(
        "a function that was removed",
        """
ricci.tree_map(lambda x: x, 1.0)  # here
""",
        "AttributeError",
        ("tree_map", "tree.map"),
    ),
]
