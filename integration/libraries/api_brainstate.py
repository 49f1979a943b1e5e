"""brainstate and saiunit: layers with states, transformations that thread them, units."""

import brainstate
import saiunit

import jax
import jax.numpy as jnp

nn, transform = brainstate.nn, brainstate.transform


def trained():
    brainstate.random.seed(0)
    model = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 2))
    parameters = model.states(brainstate.ParamState)

    @transform.jit
    def step():
        loss = lambda: jnp.mean((model(jnp.ones((4, 3))) - 1) ** 2)
        gradients, value = transform.grad(loss, parameters, return_value=True)()
        for name, state in parameters.items():
            state.value = jax.tree.map(lambda p, g: p - 0.1 * g, state.value, gradients[name])
        return value

    return [step() for _ in range(4)]


def counted():
    state = brainstate.ShortTermState(jnp.zeros(2))

    def add(i):
        state.value = state.value + i
        return state.value

    return transform.for_loop(add, jnp.arange(4.0)), state.value


def recurrent(cell):
    brainstate.random.seed(1)
    layer = cell(3, 4)
    layer.init_state(2)
    return transform.for_loop(layer, jnp.ones((5, 2, 3)))


def mapped():
    state = brainstate.ShortTermState(jnp.arange(2.0))
    return transform.vmap(lambda x: x * state.value)(jnp.ones((3, 2)))


def drawn():
    generator = brainstate.random.RandomState(3)
    return generator.uniform(size=(3,)), generator.normal(size=(2,)), generator.randint(0, 9, (3,))


def source():
    """The jaxpr of a function of states, optimized."""
    fun = transform.StatefulFunction(lambda x: x * 2 + 0 * x).make_jaxpr(jnp.ones(2))
    return len(transform.optimize_jaxpr(fun.get_jaxpr(jnp.ones(2))).eqns)


def quantities():
    q = jnp.arange(4.0) * saiunit.mV
    return [
        x.to_decimal(unit)
        for x, unit in (
            (q, saiunit.volt),
            (saiunit.math.sum(q), saiunit.mV),
            (saiunit.math.einsum("i,i->", q, q), saiunit.mV**2),
            (jax.jit(lambda q: q * 2)(q), saiunit.mV),
            (saiunit.linalg.norm(q), saiunit.mV),
        )
    ]


CASES = {
    "training": trained,
    "loop over a state": counted,
    "LSTM": lambda: recurrent(nn.LSTMCell),
    "GRU": lambda: recurrent(nn.GRUCell),
    "vmap": mapped,
    "random": drawn,
    "convolution": lambda: nn.Conv2d((8, 8, 3), 4, (3, 3))(jnp.ones((1, 8, 8, 3))).shape,
    "optimized jaxpr": source,
    "units": quantities,
}
