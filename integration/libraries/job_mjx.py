"""A pole swung up by torques that are optimized through MuJoCo's physics on JAX."""

import mujoco
import optax
from mujoco import mjx

import jax
import jax.numpy as jnp

jax.config.update("jax_enable_x64", True)

STEPS = 30
LENGTH = 30
QUALITY = {"gain": 0.5}
POLE = """
<mujoco>
  <option timestep="0.02" iterations="1" ls_iterations="4" integrator="Euler">
    <flag eulerdamp="disable" contact="disable"/>
  </option>
  <worldbody>
    <body pos="0 0 1">
      <joint name="hinge" type="hinge" axis="0 1 0" damping="0.05"/>
      <geom type="capsule" size="0.04" fromto="0 0 0 0 0 -0.6" mass="0.5"/>
      <body pos="0 0 -0.6">
        <joint name="elbow" type="hinge" axis="0 1 0" damping="0.05" range="-2 2" limited="true"/>
        <geom type="capsule" size="0.03" fromto="0 0 0 0 0 -0.4" mass="0.2"/>
      </body>
    </body>
  </worldbody>
  <actuator><motor joint="hinge" gear="6"/><motor joint="elbow" gear="3"/></actuator>
</mujoco>
"""


def train(data):
    model = mjx.put_model(mujoco.MjModel.from_xml_string(POLE))
    start = mjx.make_data(model)
    optimizer = optax.adam(0.05)
    torques = 0.1 * jax.random.normal(jax.random.key(5), (LENGTH, 2))
    moments = optimizer.init(torques)

    def moved(state, torque):
        state = mjx.step(model, state.replace(ctrl=jnp.tanh(torque)))
        height = -jnp.cos(state.qpos[0]) - 0.5 * jnp.cos(state.qpos[0] + state.qpos[1])
        return state, height - 1e-3 * jnp.sum(state.qvel**2)

    def loss_of(torques, angle):
        state = start.replace(qpos=start.qpos + angle)
        return -jax.lax.scan(moved, state, torques)[1][LENGTH // 2 :].mean()

    def over_starts(torques):
        return jax.vmap(loss_of, (None, 0))(torques, jnp.linspace(-0.1, 0.1, 4)).mean()

    @jax.jit
    def step(torques, moments):
        loss, slope = jax.value_and_grad(over_starts)(torques)
        updates, moments = optimizer.update(slope, moments)
        return optax.apply_updates(torques, updates), moments, loss

    losses = []
    for _ in range(STEPS):
        torques, moments, loss = step(torques, moments)
        losses.append(loss)
        yield loss
    return {"gain": losses[0] - losses[-1]}
