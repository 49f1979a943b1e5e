"""Traced arrays used as if they had values, or after their trace."""

from ._mistake import Mistake

MISTAKES = [
    Mistake(
        "if on a traced array",
        """
@ricci.jit
def absolute(x):
    if x > 0:  # here
        return x
    return -x

absolute(1.0)
""",
        "TracerBoolConversionError",
        ("bool[]", "jnp.where", "lax.cond"),
    ),
    Mistake(
        "and of traced conditions",
        """
@ricci.jit
def inside(x, low, high):
    return low < x and x < high  # here

inside(1.0, 0.0, 2.0)
""",
        "TracerBoolConversionError",
        ("bool[]", "&"),
    ),
    Mistake(
        "int() of a traced array",
        """
@ricci.jit
def first(x, count):
    return x[: int(count)]  # here

first(jnp.arange(4.0), 2)
""",
        "ConcretizationTypeError",
        ("int32[]", "static"),
        "count",
    ),
    Mistake(
        "float() of a traced array",
        """
def loss(weight):
    return float(weight) ** 2  # here

ricci.grad(loss)(3.0)
""",
        "ConcretizationTypeError",
        ("float32[]", "float"),
        "weight",
    ),
    Mistake(
        "range() of a traced array",
        """
@ricci.jit
def power(x, n):
    result = 1.0
    for _ in range(n):  # here
        result = result * x
    return result

power(2.0, 3)
""",
        "TracerIntegerConversionError",
        ("int32[]", "fori_loop", "static"),
        "n",
    ),
    Mistake(
        "a list indexed by a traced array",
        """
@ricci.jit
def choose(i):
    return [1.0, 2.0, 3.0][i]  # here

choose(1)
""",
        "TracerIntegerConversionError",
        ("int32[]", "jnp.asarray"),
        "i",
    ),
    Mistake(
        "a function of NumPy on a traced array",
        """
import numpy as np

@ricci.jit
def wave(x):
    return np.sin(x)  # here

wave(1.0)
""",
        "TracerArrayConversionError",
        ("float32[]", "jnp"),
        "x",
    ),
    Mistake(
        "item() of a traced array",
        """
@ricci.jit
def log_loss(x):
    print(x.mean().item())  # here
    return x

log_loss(jnp.ones(3))
""",
        "ConcretizationTypeError",
        ("float32[]",),
    ),
    Mistake(
        "a traced mask as an index",
        """
@ricci.jit
def positive(x):
    return x[x > 0]  # here

positive(jnp.arange(3.0))
""",
        "NonConcreteBooleanIndexError",
        ("bool[3]", "jnp.where"),
    ),
    Mistake(
        "a traced array as a shape",
        """
@ricci.jit
def empty(rows):
    return jnp.zeros((rows, 2))  # here

empty(3)
""",
        "TypeError",
        ("static",),
        "rows",
    ),
    Mistake(
        "assignment to an element",
        """
x = jnp.zeros(3)
x[1] = 2.0  # here
""",
        "TypeError",
        (".at[",),
    ),
    Mistake(
        "assignment to an element of a traced array",
        """
@ricci.jit
def clear(x):
    x[0] = 0.0  # here
    return x

clear(jnp.ones(3))
""",
        "TypeError",
        (".at[",),
    ),
    Mistake(
        "a traced array that escaped",
        """
seen = []

@ricci.jit
def double(x):
    y = x * 2
    seen.append(y)
    return y

double(1.0)
print(seen[0] + 1)  # here
""",
        "UnexpectedTracerError",
        ("escaped", "double"),
    ),
    Mistake(
        "a global that a traced function changed",
        """
state = {"total": 0.0}

@ricci.jit
def add(x):
    state["total"] = state["total"] + x
    return x

add(1.0)
add(jnp.ones(2))  # here
""",
        "UnexpectedTracerError",
        ("escaped", "add"),
    ),
    Mistake(
        "a static size taken from a value",
        """
@ricci.jit
def grid(n):
    return jnp.arange(n)  # here

grid(4)
""",
        "ConcretizationTypeError",
        ("arange", "static"),
        "n",
    ),
    Mistake(
        "unique without a size",
        """
@ricci.jit
def labels(x):
    return jnp.unique(x)  # here

labels(jnp.arange(3))
""",
        "ConcretizationTypeError",
        ("unique", "size=..."),
    ),
    Mistake(
        "the value of a traced array that escaped",
        """
seen = []

@ricci.jit
def double(x):
    seen.append(2 * x)
    return x

double(1.0)
print(float(seen[0]))  # here
""",
        "ConcretizationTypeError",
        ("escaped", "double"),
    ),
    Mistake(
        "a format of a traced array",
        """
@ricci.jit
def log(x):
    print(f"{x:.2f}")  # here
    return x

log(1.0)
""",
        "TypeError",
        ("float32[]", "debug.print", ".2f"),
    ),
    Mistake(
        "nonzero without a size",
        """
@ricci.jit
def places(x):
    return jnp.nonzero(x)  # here

places(jnp.arange(3))
""",
        "ConcretizationTypeError",
        ("nonzero", "size"),
    ),
    Mistake(
        "a traced array as a key",
        """
WEIGHTS = {1: 0.5, 2: 0.25}

@ricci.jit
def weighted(x, kind):
    return x * WEIGHTS[kind]  # here

weighted(1.0, 2)
""",
        "TypeError",
        ("unhashable type", "dict", "jnp.asarray", "static"),
        "kind",
    ),
    Mistake(
        "a mapped array in a set",
        """
def seen(label):
    return len({label, 0})  # here

ricci.vmap(seen)(jnp.arange(3))
""",
        "TypeError",
        ("unhashable type", "set", "traced"),
        "label",
    ),
    Mistake(
        "a traced array as a static argument",
        """
from functools import partial

@partial(ricci.jit, static_argnames="length")
def ramp(x, length):
    return x * jnp.arange(length)

@ricci.jit
def twice(x, count):
    return 2 * ramp(x, count)  # here

twice(1.0, 3)
""",
        "ValueError",
        ("static", "hashed", "int32[]", "count"),
        "length",
    ),
    Mistake(
        "a traced array written into one of NumPy",
        """
import numpy as np

@ricci.jit
def padded(x):
    result = np.zeros(4, np.float32)
    result[0] = x  # here
    return result

padded(1.0)
""",
        "ValueError",
        ("setting an array element", "float32[]", "jnp", ".at["),
        "x",
    ),
    Mistake(
        "if on a mapped array",
        """
def absolute(value):
    if value > 0:  # here
        return value
    return -value

ricci.vmap(absolute)(jnp.arange(3.0))
""",
        "TracerBoolConversionError",
        ("bool[]", "jnp.where", "absolute"),
        "value",
    ),
    Mistake(
        "a list indexed by a mapped array",
        """
def choose(place):
    return [1.0, 2.0, 3.0][place["row"]]  # here

ricci.vmap(choose)({"row": jnp.arange(3)})
""",
        "TracerIntegerConversionError",
        ("int32[]", "jnp.asarray", "['row']"),
        "place",
    ),
    Mistake(
        "a function of NumPy on a differentiated array",
        """
import numpy as np

def loss(weight):
    return np.sin(weight)  # here

ricci.grad(loss)(1.0)
""",
        "TracerArrayConversionError",
        ("float32[]", "jnp"),
        "weight",
    ),
]
