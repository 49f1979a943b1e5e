"""Derivatives and rules for them."""

from ._mistake import Mistake

MISTAKES = [
    Mistake(
        "grad of a function with an array result",
        """
def predict(x):
    return x * 2

ricci.grad(predict)(jnp.ones(3))  # here
""",
        "TypeError",
        ("scalar", "(3,)", "predict"),
    ),
    Mistake(
        "grad of a function with auxiliary results",
        """
def loss(w):
    return w ** 2, {"norm": w}

ricci.grad(loss)(1.0)  # here
""",
        "TypeError",
        ("has_aux", "loss"),
    ),
    Mistake(
        "grad with respect to integers",
        """
def loss(weights):
    return weights * 2.0

ricci.grad(loss)(3)  # here
""",
        "TypeError",
        ("int32", "allow_int"),
        "weights",
    ),
    Mistake(
        "grad of a function that returns nothing",
        """
def loss(w):
    w ** 2

ricci.grad(loss)(1.0)  # here
""",
        "TypeError",
        ("None", "return", "loss"),
    ),
    Mistake(
        "grad of a function that returns text",
        """
def loss(w):
    return "small"

ricci.grad(loss)(1.0)  # here
""",
        "TypeError",
        ("loss", "str"),
    ),
    Mistake(
        "grad with respect to an argument that is not there",
        """
def loss(w):
    return w ** 2

ricci.grad(loss, argnums=1)(1.0)  # here
""",
        "TypeError",
        ("argnums", "1"),
    ),
    Mistake(
        "grad of what was already called",
        """
def loss(w):
    return w ** 2

ricci.grad(loss(3.0))  # here
""",
        "TypeError",
        ("grad", "callable"),
    ),
    Mistake(
        "jvp with tangents of another shape",
        """
ricci.jvp(jnp.sin, (jnp.ones(3),), (jnp.ones(2),))  # here
""",
        "ValueError",
        ("tangent", "[3]", "[2]"),
    ),
    Mistake(
        "vjp called with another structure",
        """
result, pull_back = ricci.vjp(lambda x: {"a": x}, 1.0)
pull_back(1.0)  # here
""",
        "ValueError",
        ("structure", "'a'"),
    ),
    Mistake(
        "reverse mode through while_loop",
        """
def halve(x):
    return ricci.lax.while_loop(lambda v: v > 1, lambda v: v / 2, x)

ricci.grad(halve)(8.0)  # here
""",
        "ValueError",
        ("while_loop", "scan", "halve"),
    ),
    Mistake(
        "custom_vjp without rules",
        """
@ricci.custom_vjp
def clip(x):
    return jnp.clip(x, 0, 1)

ricci.grad(clip)(0.5)  # here
""",
        "AttributeError",
        ("clip", "defvjp"),
    ),
    Mistake(
        "custom_jvp without a rule",
        """
@ricci.custom_jvp
def clip(x):
    return jnp.clip(x, 0, 1)

ricci.grad(clip)(0.5)  # here
""",
        "AttributeError",
        ("clip", "defjvp"),
    ),
    Mistake(
        "a backward rule that returns too much",
        """
@ricci.custom_vjp
def scale(x):
    return 2 * x

scale.defvjp(lambda x: (2 * x, None), lambda residuals, ct: (ct, ct))
ricci.grad(scale)(1.0)  # here
""",
        "TypeError",
        ("scale", "backward", "tuple"),
    ),
    Mistake(
        "a backward rule that returns no tuple",
        """
@ricci.custom_vjp
def scale(x):
    return 2 * x

scale.defvjp(lambda x: (2 * x, None), lambda residuals, ct: 2 * ct)
ricci.grad(scale)(1.0)  # here
""",
        "TypeError",
        ("scale", "tuple"),
    ),
    Mistake(
        "a backward rule with another shape",
        """
@ricci.custom_vjp
def total(x):
    return x.sum()

total.defvjp(lambda x: (x.sum(), None), lambda residuals, ct: (ct,))
ricci.grad(total)(jnp.ones(3))  # here
""",
        "ValueError",
        ("total", "[3]"),
        "x",
    ),
    Mistake(
        "a policy that is none",
        """
f = ricci.checkpoint(jnp.sin, policy="dots_saveable")  # here
ricci.grad(f)(1.0)
""",
        "TypeError",
        ("policy", "dots_saveable"),
        "policy",
    ),
    Mistake(
        "stop_gradient forgotten under a callback",
        """
import numpy as np

def loss(x):
    return ricci.pure_callback(np.sin, x, x)  # here

ricci.grad(loss)(1.0)
""",
        "ValueError",
        ("pure_callback", "custom_jvp"),
    ),
]
