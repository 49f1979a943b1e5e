"""Devices, memory and sharded arrays. Written for eight devices of the CPU."""

from ._mistake import Mistake

_MESH = """
from ricci.sharding import NamedSharding, PartitionSpec as P

mesh = ricci.make_mesh((8,), ("data",))
"""

MISTAKES = [
    Mistake(
        "arguments on different devices",
        """
first, second = ricci.devices()[:2]

@ricci.jit
def layer(x, params):
    return x * params["scale"]

x = ricci.device_put(jnp.ones(3), first)
params = {"scale": ricci.device_put(jnp.ones(3), second)}
layer(x, params)  # here
""",
        "ValueError",
        ("device", "params['scale']", "device_put"),
        "x",
    ),
    Mistake(
        "operands on different devices",
        """
first, second = ricci.devices()[:2]
x = ricci.device_put(jnp.ones(3), first)
y = ricci.device_put(jnp.ones(3), second)
x + y  # here
""",
        "ValueError",
        ("add", "device_put"),
    ),
    Mistake(
        "a donated buffer used again",
        """
def update(state, x):
    return state + x

step = ricci.jit(update, donate_argnums=0)
state = jnp.zeros(3)
step(state, 1.0)
print(state + 1)  # here
""",
        "RuntimeError",
        ("deleted", "update"),
        "state",
    ),
    Mistake(
        "a donated buffer passed again",
        """
def update(state, x):
    return state + x

step = ricci.jit(update, donate_argnums=0)
state = jnp.zeros(3)
step(state, 1.0)
step(state, 1.0)  # here
""",
        "RuntimeError",
        ("deleted", "update"),
        "state",
    ),
    Mistake(
        "a donated buffer printed",
        """
def update(state, x):
    return state + x

step = ricci.jit(update, donate_argnames="state")
state = jnp.zeros(3)
step(state=state, x=1.0)
print(state)  # here
""",
        "RuntimeError",
        ("deleted", "update"),
        "state",
    ),
    Mistake(
        "donated and static at once",
        """
def update(state, x):
    return state + x

ricci.jit(update, donate_argnums=0, static_argnums=0)  # here
""",
        "ValueError",
        ("static", "donated"),
        "state",
    ),
    Mistake(
        "too little memory",
        """
y = jnp.zeros((2**15, 2**15, 2**15))  # here
""",
        "JaxRuntimeError",
        ("RESOURCE_EXHAUSTED", "float32[32768,32768,32768]"),
    ),
    Mistake(
        "too little memory in a program",
        """
@ricci.jit
def everything(x):
    return x[:, None, None] * x[:, None] * x

everything(jnp.ones(2**15))  # here
""",
        "JaxRuntimeError",
        ("RESOURCE_EXHAUSTED", "float32[32768,32768,32768]"),
    ),
    Mistake(
        "device_put to a value that is not a device",
        """
ricci.device_put(jnp.ones(3), "cpu:1")  # here
""",
        "ValueError",
        ("cpu:1", "device"),
    ),
    Mistake(
        "a device that is not there",
        """
ricci.devices("gpu")  # here
""",
        "RuntimeError",
        ("gpu", "cpu"),
    ),
    Mistake(
        "a size that a sharding does not divide",
        _MESH
        + """
ricci.device_put(jnp.ones(6), NamedSharding(mesh, P("data")))  # here
""",
        "ValueError",
        ("6", "8", "data"),
    ),
    Mistake(
        "an axis that the mesh has not",
        _MESH
        + """
NamedSharding(mesh, P("model"))  # here
""",
        "ValueError",
        ("model", "data"),
    ),
    Mistake(
        "a spec with too many dimensions",
        _MESH
        + """
ricci.device_put(jnp.ones(8), NamedSharding(mesh, P(None, "data")))  # here
""",
        "ValueError",
        ("rank 2", "rank 1"),
    ),
    Mistake(
        "a mesh of too many devices",
        """
ricci.make_mesh((4, 4), ("data", "model"))  # here
""",
        "ValueError",
        ("16", "8"),
    ),
    Mistake(
        "a named axis that is not bound",
        """
def normalize(x):
    return x / ricci.lax.psum(x, "batch")  # here

normalize(jnp.ones(3))
""",
        "NameError",
        ("batch", "axis_name"),
    ),
    Mistake(
        "pmap over more than there are devices",
        """
ricci.pmap(lambda x: x)(jnp.ones(100))  # here
""",
        "ValueError",
        ("100", "8"),
    ),
    Mistake(
        "shard_map with results that differ",
        """
from ricci.sharding import AxisType, PartitionSpec as P

mesh = ricci.make_mesh((8,), ("data",), axis_types=(AxisType.Auto,))
f = ricci.shard_map(lambda x: x, mesh=mesh, in_specs=P("data"), out_specs=P())
f(jnp.ones(8))  # here
""",
        "ValueError",
        ("out_specs", "data"),
    ),
    Mistake(
        "shard_map of a size that the mesh does not divide",
        _MESH
        + """
f = ricci.shard_map(lambda x: x, mesh=mesh, in_specs=P("data"), out_specs=P("data"))
f(jnp.ones(6))  # here
""",
        "ValueError",
        ("6", "8"),
    ),
]
