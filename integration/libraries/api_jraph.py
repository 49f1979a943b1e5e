"""Jraph: graphs in batches, message passing, and attention over the edges of a graph."""

import jraph

import jax
import jax.numpy as jnp

NODES = jnp.sin(jnp.arange(12.0)).reshape(4, 3)
EDGES = jnp.cos(jnp.arange(10.0)).reshape(5, 2)
SENDERS, RECEIVERS = jnp.array([0, 1, 2, 3, 0]), jnp.array([1, 2, 3, 0, 2])
LOGITS = jnp.linspace(-1.0, 1.0, 5)


def graph(scale=1.0):
    return jraph.GraphsTuple(
        nodes=scale * NODES,
        edges=scale * EDGES,
        senders=SENDERS,
        receivers=RECEIVERS,
        n_node=jnp.array([4]),
        n_edge=jnp.array([5]),
        globals=scale * jnp.ones((1, 2)),
    )


def network():
    def joined(*parts):
        return jnp.tanh(jnp.concatenate(parts, axis=-1).sum(-1, keepdims=True) * jnp.arange(1.0, 4))

    return jraph.GraphNetwork(
        update_edge_fn=lambda edges, sent, received, globals_: joined(edges, sent, received),
        update_node_fn=lambda nodes, sent, received, globals_: joined(nodes, sent, received),
        update_global_fn=lambda nodes, edges, globals_: joined(nodes, edges, globals_),
    )


def convolved(nodes):
    layer = jraph.GraphConvolution(update_node_fn=lambda n: n * 2.0, add_self_edges=True)
    return layer(graph()._replace(nodes=nodes)).nodes


def attended():
    layer = jraph.GAT(
        attention_query_fn=lambda n: n,
        attention_logit_fn=lambda sent, received, _: jnp.sum(sent * received, -1, keepdims=True),
        node_update_fn=jnp.tanh,
    )
    return layer(graph()).nodes


def loss(nodes):
    return jnp.sum(network()(graph()._replace(nodes=nodes)).globals ** 2)


def batched():
    return jraph.batch([graph(), graph(0.5)])


def padded():
    return jraph.pad_with_graphs(batched(), n_node=12, n_edge=16, n_graph=4)


CASES = {
    "network": lambda: network()(graph()),
    "network of a batch, jitted": lambda: jax.jit(network())(batched()),
    "gradient": lambda: jax.jit(jax.grad(loss))(NODES),
    "convolution": lambda: convolved(NODES),
    "convolution's Jacobian": lambda: jax.jacrev(convolved)(NODES),
    "attention": attended,
    "batch": batched,
    "unbatch": lambda: jraph.unbatch(batched()),
    "padded": padded,
    "unpadded": lambda: jraph.unpad_with_graphs(padded()),
    "padding masks": lambda: (
        jraph.get_node_padding_mask(padded()),
        jraph.get_edge_padding_mask(padded()),
        jraph.get_graph_padding_mask(padded()),
    ),
    "dynamic batches": lambda: list(
        jraph.dynamically_batch([graph(), graph(2.0), graph(3.0)], n_node=9, n_edge=12, n_graph=3)
    ),
    "segment softmax": lambda: jraph.segment_softmax(LOGITS, RECEIVERS, 4),
    "segment mean": lambda: jraph.segment_mean(EDGES, RECEIVERS, 4),
    "segment variance": lambda: jraph.segment_variance(EDGES, RECEIVERS, 4),
    "segment normalize": lambda: jraph.segment_normalize(EDGES, RECEIVERS, 4),
    "segment maximum": lambda: jraph.segment_max_or_constant(EDGES, RECEIVERS, 5),
    "partition softmax": lambda: jraph.partition_softmax(LOGITS, jnp.array([2, 3])),
    "concatenated arguments": lambda: jraph.concatenated_args(jnp.tanh)(NODES, a=NODES),
}
