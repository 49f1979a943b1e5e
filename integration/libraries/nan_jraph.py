"""A network on a graph in jraph, that divides by the degree of a node without edges."""

from typing import Any

import jraph
import numpy as np
from planted_cases import cases

import jax
import jax.numpy as jnp


def normalize(sums: Any, receivers: Any) -> Any:
    """Return the means of what nodes receive."""
    degrees = jax.ops.segment_sum(jnp.ones(receivers.shape), receivers, 4)
    return sums / degrees[:, None]  # cause


def network(weights: Any, nodes: Any, receivers: Any) -> Any:
    """Return the loss with its gradient of a graph network."""
    senders = np.arange(4)

    def loss(weights: Any) -> Any:
        graph = jraph.GraphsTuple(
            nodes=nodes,
            edges=jnp.ones((4, 1)),
            senders=senders,
            receivers=receivers,
            globals=None,
            n_node=np.array([4]),
            n_edge=np.array([4]),
        )
        layer = jraph.GraphNetwork(
            update_edge_fn=lambda edges, sent, received, _: sent @ weights,
            update_node_fn=lambda nodes, sent, received, _: normalize(received, receivers),
        )
        return jnp.sum(jnp.tanh(layer(graph).nodes))

    return jax.value_and_grad(loss)(weights)


NODES = np.arange(8, dtype=np.float32).reshape(4, 2)
WEIGHTS = np.full((2, 2), 0.1, np.float32)
PROGRAMS = cases(
    network,
    normalize,
    "div",
    healthy=(WEIGHTS, NODES, np.array([1, 2, 3, 0])),
    planted=(WEIGHTS, NODES, np.array([1, 2, 2, 0])),
)
