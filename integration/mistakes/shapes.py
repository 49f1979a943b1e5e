"""Shapes, ranks, dtypes and indices that do not fit."""

from ._mistake import Mistake

MISTAKES = [
    Mistake(
        "sum of shapes that do not broadcast",
        """
x, bias = jnp.ones((2, 3)), jnp.ones(4)
x + bias  # here
""",
        "ValueError",
        ("add", "(2, 3)", "(4,)"),
    ),
    Mistake(
        "matmul of shapes that do not fit",
        """
def layer(x, w):
    return x @ w  # here

layer(jnp.ones((2, 3)), jnp.ones((2, 3)))
""",
        "TypeError",
        ("(2, 3)", "matmul"),
    ),
    Mistake(
        "matmul under vmap",
        """
def layer(x, w):
    return x @ w  # here

ricci.vmap(layer, in_axes=(0, None))(jnp.ones((8, 3)), jnp.ones((4, 5)))
""",
        "TypeError",
        ("layer", "(3,)", "(4, 5)"),
    ),
    Mistake(
        "sum of shapes under vmap",
        """
def shift(x, bias):
    return x + bias  # here

ricci.vmap(shift)(jnp.ones((8, 3)), jnp.ones((8, 4)))
""",
        "TypeError",
        ("add", "(3,)", "(4,)"),
    ),
    Mistake(
        "concatenate of other widths",
        """
jnp.concatenate([jnp.ones((2, 3)), jnp.ones((2, 4))])  # here
""",
        "TypeError",
        ("concatenate", "(2, 3)", "(2, 4)"),
    ),
    Mistake(
        "stack of other shapes",
        """
jnp.stack([jnp.ones(3), jnp.ones(4)])  # here
""",
        "ValueError",
        ("stack", "(3,)", "(4,)"),
    ),
    Mistake(
        "einsum with sizes that differ",
        """
jnp.einsum("ij,jk->ik", jnp.ones((2, 3)), jnp.ones((4, 5)))  # here
""",
        "ValueError",
        ("j", "3", "4"),
    ),
    Mistake(
        "einsum with too many letters",
        """
jnp.einsum("ijk->i", jnp.ones((2, 3)))  # here
""",
        "ValueError",
        ("ijk", "2"),
    ),
    Mistake(
        "reshape to another size",
        """
jnp.ones((2, 3)).reshape(4, 2)  # here
""",
        "TypeError",
        ("reshape", "(2, 3)", "(4, 2)"),
    ),
    Mistake(
        "an axis that is not there",
        """
jnp.ones((2, 3)).sum(axis=2)  # here
""",
        "ValueError",
        ("sum", "axis 2"),
    ),
    Mistake(
        "a float as an index",
        """
x = jnp.arange(10)
x[len(x) / 2]  # here
""",
        "TypeError",
        ("float", "integer"),
    ),
    Mistake(
        "too many indices",
        """
jnp.ones((2, 3))[0, 1, 2]  # here
""",
        "IndexError",
        ("3", "2"),
    ),
    Mistake(
        "a list as an operand",
        """
jnp.sin([1.0, 2.0])  # here
""",
        "TypeError",
        ("sin", "list", "asarray"),
    ),
    Mistake(
        "text as an array",
        """
jnp.asarray(["cat", "dog"])  # here
""",
        "TypeError",
        ("cat",),
    ),
    Mistake(
        "a ragged list",
        """
jnp.array([[1, 2], [3]])  # here
""",
        "ValueError",
        ("shape",),
    ),
    Mistake(
        "an operation that has no such dtype",
        """
jnp.ones(3) & jnp.ones(3)  # here
""",
        "TypeError",
        ("and", "float32"),
    ),
    Mistake(
        "a dtype that is none",
        """
jnp.zeros(3, dtype="float23")  # here
""",
        "TypeError",
        ("float23",),
    ),
    Mistake(
        "a misspelt keyword",
        """
jnp.sum(jnp.ones((2, 3)), axes=0)  # here
""",
        "TypeError",
        ("sum", "axes", "axis"),
        "axes",
    ),
    Mistake(
        "a misspelt keyword of a transformation",
        """
ricci.jit(lambda x, n: x * n, static_argnum=1)  # here
""",
        "TypeError",
        ("jit", "static_argnum", "static_argnums"),
        "static_argnum",
    ),
    Mistake(
        "a misspelt keyword of the user's function",
        """
@ricci.jit
def scale(x, factor):
    return x * factor

scale(1.0, facter=2.0)  # here
""",
        "TypeError",
        ("scale", "facter", "factor"),
        "facter",
    ),
    Mistake(
        "a misspelt keyword of a method",
        """
jnp.ones(3).astype(dtyp=int)  # here
""",
        "TypeError",
        ("dtyp", "astype", "dtype"),
    ),
    Mistake(
        "a misspelt keyword of an update",
        """
jnp.ones(3).at[5].set(1.0, mod="drop")  # here
""",
        "TypeError",
        ("mod", "set", "mode"),
    ),
    Mistake(
        "a misspelt function",
        """
jnp.softmax(jnp.ones(3))  # here
""",
        "AttributeError",
        ("softmax", "nn.softmax"),
    ),
    Mistake(
        "a misspelt method",
        """
jnp.ones((2, 3)).tranpose()  # here
""",
        "AttributeError",
        ("tranpose", "transpose"),
    ),
]
