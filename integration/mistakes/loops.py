"""Loops, branches and pytrees whose types or structures differ."""

from ._mistake import Mistake

MISTAKES = [
    Mistake(
        "a carry of scan that changes its shape",
        """
def step(carry, x):
    return jnp.stack([carry, x]), x

ricci.lax.scan(step, 0.0, jnp.ones(3))  # here
""",
        "TypeError",
        ("carry", "float32[2]", "step"),
    ),
    Mistake(
        "a carry of scan that changes its dtype",
        """
def step(count, x):
    return count + x, None

ricci.lax.scan(step, jnp.int32(0), jnp.ones(3))  # here
""",
        "TypeError",
        ("carry", "int32", "float32"),
        "count",
    ),
    Mistake(
        "a body of scan that returns no pair",
        """
def step(carry, x):
    return carry + x

ricci.lax.scan(step, 0.0, jnp.ones(3))  # here
""",
        "TypeError",
        ("pair", "step"),
    ),
    Mistake(
        "inputs of scan that differ in length",
        """
def step(carry, xs):
    return carry, None

ricci.lax.scan(step, 0.0, (jnp.ones(3), jnp.ones(4)))  # here
""",
        "ValueError",
        ("3", "4"),
    ),
    Mistake(
        "branches of cond with results of other types",
        """
def choose(flag, x):
    return ricci.lax.cond(flag, lambda: x, lambda: x > 0)  # here

choose(True, jnp.ones(3))
""",
        "TypeError",
        ("float32[3]", "bool[3]", "branches"),
    ),
    Mistake(
        "branches of cond with results of other structures",
        """
def choose(flag, x):
    return ricci.lax.cond(flag, lambda: (x, x), lambda: x)  # here

choose(True, jnp.ones(3))
""",
        "TypeError",
        ("structure",),
    ),
    Mistake(
        "a condition of cond that is an array",
        """
x = jnp.arange(3.0)
ricci.lax.cond(x > 1, lambda: 1, lambda: 2)  # here
""",
        "TypeError",
        ("scalar", "(3,)"),
    ),
    Mistake(
        "branches of cond that are values",
        """
ricci.lax.cond(True, 1.0, 2.0)  # here
""",
        "TypeError",
        ("cond",),
    ),
    Mistake(
        "a carry of while_loop that changes its type",
        """
ricci.lax.while_loop(lambda n: n < 3, lambda n: n * 1.5, jnp.int32(1))  # here
""",
        "TypeError",
        ("carry", "int32", "float32"),
        "n",
    ),
    Mistake(
        "a condition of while_loop that is not a scalar",
        """
ricci.lax.while_loop(lambda x: x < 3, lambda x: x + 1, jnp.ones(2))  # here
""",
        "TypeError",
        ("bool[2]",),
    ),
    Mistake(
        "a body of fori_loop without the index",
        """
ricci.lax.fori_loop(0, 3, lambda x: x + 1, 0.0)  # here
""",
        "TypeError",
        ("positional argument",),
    ),
    Mistake(
        "a body of fori_loop that returns another structure",
        """
ricci.lax.fori_loop(0, 3, lambda i, x: (x, i), 0.0)  # here
""",
        "TypeError",
        ("carry", "structure"),
    ),
    Mistake(
        "switch without branches",
        """
ricci.lax.switch(0, [])  # here
""",
        "ValueError",
        ("branches",),
    ),
    Mistake(
        "if on what scan carries",
        """
def body(total, x):
    if x > 0:  # here
        total = total + x
    return total, x

ricci.lax.scan(body, 0.0, jnp.ones(3))
""",
        "TracerBoolConversionError",
        ("bool[]", "lax.cond", "body", "scan"),
    ),
    Mistake(
        "range() of a branch's operand",
        """
def power(n):
    return sum(range(n))  # here

ricci.lax.cond(True, power, lambda n: n, 3)
""",
        "TracerIntegerConversionError",
        ("int32[]", "fori_loop", "power"),
        "n",
    ),
    Mistake(
        "trees of other structures",
        """
params = {"w": 1.0, "b": 2.0}
grads = {"w": 0.1}
ricci.tree.map(lambda p, g: p - g, params, grads)  # here
""",
        "ValueError",
        ("'b'",),
    ),
    Mistake(
        "a tuple for a list in a tree",
        """
ricci.tree.map(lambda a, b: a + b, [1.0, 2.0], (1.0, 2.0))  # here
""",
        "ValueError",
        ("list", "tuple"),
    ),
    Mistake(
        "leaves of another number",
        """
tree = ricci.tree.structure({"a": 0, "b": 0})
ricci.tree.unflatten(tree, [1.0])  # here
""",
        "ValueError",
        ("2", "1"),
    ),
    Mistake(
        "keys of a dict that cannot be ordered",
        """
ricci.tree.leaves({"a": 1, 2: 3})  # here
""",
        "ValueError",
        ("keys",),
    ),
]
