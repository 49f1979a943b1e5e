"""FlowJAX: bijections and their inverses, distributions, normalizing flows, one that is fitted."""

import equinox as eqx
import flowjax.bijections as bij
import flowjax.distributions as dist
from flowjax import flows
from flowjax.train import fit_to_data, fit_to_key_based_loss
from flowjax.train.losses import ElboLoss

import jax
import jax.numpy as jnp

KEY = jax.random.key(7)
POINT = jnp.array([0.3, -0.8, 1.1])
SMALL = {"flow_layers": 2, "nn_width": 8}


def through(bijection, x=POINT):
    """A bijection there and back, with the logarithms of both determinants."""
    y, forward = bijection.transform_and_log_det(x)
    return y, forward, bijection.inverse_and_log_det(y)


def of_distribution(d):
    shape = (4, *d.shape)
    x = d.sample(KEY, (4,))
    return x.shape == shape, x, d.log_prob(x), jax.vmap(jax.grad(d.log_prob))(x)


def of_flow(make, **options):
    flow = make(KEY, base_dist=dist.Normal(jnp.zeros(2)), **options)
    x = jnp.array([[0.1, -0.4], [1.2, 0.7]])
    gradient = eqx.filter_grad(lambda f: f.log_prob(x).sum())(flow)
    sizes = [jnp.sum(leaf**2) for leaf in jax.tree.leaves(gradient)]
    return flow.log_prob(x), flow.sample(KEY, (3,)), sizes


def fitted():
    data = jax.random.normal(KEY, (60, 2)) @ jnp.array([[1.0, 0.5], [0.0, 0.3]])
    flow = flows.coupling_flow(KEY, base_dist=dist.Normal(jnp.zeros(2)), **SMALL)
    _, losses = fit_to_data(
        KEY, flow, data, max_epochs=3, batch_size=20, show_progress=False, learning_rate=1e-2
    )
    return losses["train"], losses["val"]


def variational():
    target = dist.MultivariateNormal(jnp.ones(2), jnp.array([[1.0, 0.4], [0.4, 0.5]]))
    base = dist.Normal(jnp.zeros(2))
    flow = flows.planar_flow(KEY, base_dist=base, flow_layers=2, negative_slope=0.2)
    loss = ElboLoss(target.log_prob, num_samples=16)
    _, losses = fit_to_key_based_loss(
        KEY, flow, loss_fn=loss, steps=4, learning_rate=1e-2, show_progress=False
    )
    return losses


CASES = {
    "affine": lambda: through(bij.Affine(jnp.ones(3), jnp.array([0.5, 2.0, 3.0]))),
    "exp": lambda: through(bij.Exp((3,))),
    "softplus": lambda: through(bij.SoftPlus((3,))),
    "tanh that leaks": lambda: through(bij.LeakyTanh(2.0, (3,))),
    "flip and permute": lambda: through(
        bij.Chain([bij.Flip((3,)), bij.Permute(jnp.array([1, 2, 0]))])
    ),
    "spline": lambda: through(
        bij.Vmap(bij.RationalQuadraticSpline(knots=5, interval=2.0), axis_size=3)
    ),
    "triangular": lambda: through(
        bij.TriangularAffine(jnp.zeros(3), jnp.eye(3) + jnp.tril(jnp.ones((3, 3)), -1))
    ),
    "normal": lambda: of_distribution(dist.Normal(jnp.arange(3.0), 2.0)),
    "Student's t": lambda: of_distribution(dist.StudentT(jnp.array([3.0, 5.0]))),
    "Gumbel and Cauchy": lambda: [
        of_distribution(d(jnp.zeros(2), 1.5)) for d in (dist.Gumbel, dist.Cauchy)
    ],
    "transformed": lambda: of_distribution(
        dist.Transformed(dist.Normal(jnp.zeros(3)), bij.Exp((3,)))
    ),
    "coupling flow": lambda: of_flow(flows.coupling_flow, **SMALL),
    "masked autoregressive flow": lambda: of_flow(flows.masked_autoregressive_flow, **SMALL),
    "planar flow": lambda: of_flow(flows.planar_flow, flow_layers=2, negative_slope=0.1),
    "fit": fitted,
    "fit by variation": variational,
}
