"""Jaxlie: rotations and rigid motions as Lie groups, their maps and derivatives."""

import jaxlie

import jax
import jax.numpy as jnp

GROUPS = {"SO2": jaxlie.SO2, "SE2": jaxlie.SE2, "SO3": jaxlie.SO3, "SE3": jaxlie.SE3}
POINTS = jnp.sin(jnp.arange(12.0)).reshape(4, 3)


def tangents(group):
    return jnp.cos(jnp.arange(4.0 * group.tangent_dim)).reshape(4, group.tangent_dim)


def elements(group):
    return jax.vmap(group.exp)(tangents(group))


def operations(name):
    group = GROUPS[name]
    one = group.exp(tangents(group)[0])
    other = group.exp(0.5 * tangents(group)[1])
    point = POINTS[0, : group.space_dim]
    return (
        (one @ other).parameters(),
        one.inverse().as_matrix(),
        (one @ other).log(),
        one.adjoint(),
        one @ point,
        group.identity().log(),
        group.from_matrix(one.as_matrix()).parameters(),
        group.sample_uniform(jax.random.key(0)).parameters(),
        one.jlog(),
    )


def derivatives(name):
    group = GROUPS[name]
    point = POINTS[0, : group.space_dim]
    loss = lambda element: jnp.sum((element @ point - 1.0) ** 2)
    one = group.exp(tangents(group)[0])
    value, gradient = jaxlie.manifold.value_and_grad(loss)(one)
    moved = jaxlie.manifold.rplus(one, -0.1 * gradient)
    return value, gradient, moved.parameters(), jaxlie.manifold.rminus(one, moved)


def near_identity():
    groups = GROUPS.values()
    maps = [jax.jacfwd(lambda t, g=g: g.exp(t).log())(jnp.zeros(g.tangent_dim)) for g in groups]
    total = lambda g, t: jnp.sum(g.exp(t).as_matrix())
    return maps, [
        jax.grad(lambda t, g=g: total(g, t))(jnp.full(g.tangent_dim, 1e-7)) for g in groups
    ]


def logarithms(group):
    return jax.jit(jax.vmap(lambda x: x.log()))(elements(group))


def angles():
    rotation = jaxlie.SO3.from_rpy_radians(0.1, -0.4, 2.0)
    return rotation.as_rpy_radians(), rotation.compute_yaw_radians(), rotation.as_quaternion_xyzw()


def fitted():
    """A motion that carries points onto others, by gradient descent on the group."""
    target = jaxlie.SE3.exp(jnp.array([0.2, -0.3, 0.5, 0.4, 0.1, -0.2]))
    onto = jax.vmap(lambda p: target @ p)(POINTS)
    loss = lambda pose: jnp.mean(jnp.sum((jax.vmap(lambda p: pose @ p)(POINTS) - onto) ** 2, -1))

    def step(pose, _):
        value, gradient = jaxlie.manifold.value_and_grad(loss)(pose)
        return jaxlie.manifold.rplus(pose, -0.2 * gradient), value

    pose, losses = jax.jit(lambda p: jax.lax.scan(step, p, length=50))(jaxlie.SE3.identity())
    return pose.parameters(), losses


CASES = {
    **{f"{name}, operations": lambda name=name: operations(name) for name in GROUPS},
    **{f"{name}, derivatives": lambda name=name: derivatives(name) for name in GROUPS},
    **{f"{name}, batch": lambda g=g: logarithms(g) for name, g in GROUPS.items()},
    "near the identity": near_identity,
    "angles": angles,
    "fit": fitted,
    "tree": lambda: jax.tree.map(lambda x: 2 * x, jaxlie.SO3.exp(POINTS[0])).parameters(),
}
