"""Optax: three steps of every optimizer, and its losses, schedules, transformations and trees."""

from functools import partial

import optax

import jax
import jax.numpy as jnp

OPTIMIZERS = {
    name: partial(getattr(optax, name), learning_rate=0.1)
    for name in (
        "adabelief adadelta adafactor adagrad adam adamax adamaxw adamw adan amsgrad fromage lamb "
        "lars lion nadam nadamw novograd optimistic_gradient_descent radam rmsprop rprop sgd "
        "sign_sgd sm3 yogi optimistic_adam_v2"
    ).split()
} | {
    "noisy_sgd": partial(optax.noisy_sgd, 0.1, key=jax.random.key(3)),
    "momentum": partial(optax.sgd, 0.1, momentum=0.9, nesterov=True),
    "centered": partial(optax.rmsprop, 0.1, centered=True, momentum=0.5),
    "cocob": optax.contrib.cocob,
    "dadapt_adamw": optax.contrib.dadapt_adamw,
    "dog": optax.contrib.dog,
    "dowg": optax.contrib.dowg,
    "mechanic": lambda: optax.contrib.mechanize(optax.sgd(0.1)),
    "momo": partial(optax.contrib.momo, 0.1),
    "muon": partial(optax.contrib.muon, 0.1),
    "prodigy": optax.contrib.prodigy,
    "schedule_free_sgd": partial(optax.contrib.schedule_free_sgd, 0.1),
    "sophia": partial(optax.contrib.sophia, 0.1),
    "ademamix": partial(optax.contrib.ademamix, 0.1),
    "polyak_sgd": optax.polyak_sgd,
    "lbfgs": optax.lbfgs,
    "apply_if_finite": lambda: optax.apply_if_finite(optax.adam(0.1), 3),
    "multi_steps": lambda: optax.MultiSteps(optax.adam(0.1), 2),
    "lookahead_chain": lambda: optax.chain(
        optax.adaptive_grad_clip(0.5),
        optax.add_noise(0.1, 0.5, key=jax.random.key(1)),
        optax.trace(0.9),
        optax.ema(0.9),
        optax.scale_by_schedule(optax.exponential_decay(0.1, 2, 0.5)),
        optax.scale(-1.0),
    ),
    "partition": lambda: optax.partition(
        {"a": optax.adam(0.1), "b": optax.sgd(0.2)}, {"w": "a", "b": "b"}
    ),
    "inject": lambda: optax.inject_hyperparams(optax.adamw)(
        learning_rate=optax.linear_schedule(0.1, 0.0, 5), weight_decay=0.01
    ),
    "flatten": lambda: optax.flatten(optax.adam(0.1)),
    "masked": lambda: optax.masked(optax.adam(0.1), {"w": True, "b": False}),
    "clip": lambda: optax.chain(optax.clip(0.1), optax.clip_by_block_rms(0.05), optax.sgd(0.1)),
    "centralize": lambda: optax.chain(optax.centralize(), optax.sgd(0.1)),
    "nonnegative": lambda: optax.chain(optax.sgd(0.1), optax.keep_params_nonnegative()),
    "reduce_on_plateau": lambda: optax.chain(
        optax.sgd(0.1), optax.contrib.reduce_on_plateau(patience=1)
    ),
    "linesearch": lambda: optax.chain(
        optax.sgd(1.0), optax.scale_by_backtracking_linesearch(max_backtracking_steps=5)
    ),
}


def loss_of(p):
    x = jnp.linspace(-1.0, 1.0, 12).reshape(4, 3)
    return jnp.mean((jnp.tanh(x @ p["w"]) + p["b"] - jnp.arange(8.0).reshape(4, 2) / 8) ** 2)


def three_steps(make):
    p = {"w": jnp.arange(1.0, 7.0).reshape(3, 2) / 6, "b": jnp.array([0.5, -0.25])}
    optimizer = make()
    state = optimizer.init(p)
    extended = isinstance(optimizer, optax.GradientTransformationExtraArgs)

    @jax.jit
    def step(p, state):
        value, gradient = jax.value_and_grad(loss_of)(p)
        extra = {"value": value, "grad": gradient, "value_fn": loss_of}
        updates, state = optimizer.update(gradient, state, p, **(extra if extended else {}))
        return optax.apply_updates(p, updates), state

    for _ in range(3):
        p, state = step(p, state)
    return p, state


LOGITS = jnp.linspace(-2.0, 3.0, 12).reshape(3, 4)
LABELS = jax.nn.softmax(jnp.cos(LOGITS * 3))
SCALAR_LOSSES = (
    "cosine_distance cosine_similarity hinge_loss huber_loss l2_loss log_cosh "
    "sigmoid_binary_cross_entropy softmax_cross_entropy squared_error kl_divergence "
    "safe_softmax_cross_entropy"
).split()


def with_gradient(function, *arguments):
    return jax.value_and_grad(lambda x: jnp.sum(function(x, *arguments)))(LOGITS)


def ctc():
    frames = jnp.sin(jnp.arange(60.0)).reshape(2, 6, 5)
    labels = jnp.array([[1, 2, 0], [3, 3, 4]])
    none = jnp.zeros((2, 6))
    loss = lambda x: optax.losses.ctc_loss(x, none, labels, jnp.zeros((2, 3))).sum()
    return jax.value_and_grad(loss)(frames)


SCHEDULES = {
    "constant": optax.constant_schedule(0.1),
    "cosine": optax.cosine_decay_schedule(0.1, 10, 0.1),
    "onecycle": optax.cosine_onecycle_schedule(20, 0.1),
    "exponential": optax.exponential_decay(0.1, 5, 0.9, staircase=True),
    "join": optax.join_schedules([optax.linear_schedule(0, 1, 4), optax.constant_schedule(1)], [4]),
    "piecewise": optax.piecewise_constant_schedule(0.1, {3: 0.1, 7: 0.5}),
    "interpolated": optax.piecewise_interpolate_schedule("cosine", 0.1, {3: 0.1, 7: 0.5}),
    "polynomial": optax.polynomial_schedule(0.1, 0.01, 2, 8),
    "sgdr": optax.sgdr_schedule(
        [{"init_value": 0.0, "peak_value": 1.0, "decay_steps": 6, "warmup_steps": 2}] * 2
    ),
    "warmup_exponential": optax.warmup_exponential_decay_schedule(0.0, 0.1, 3, 5, 0.9),
}
PROJECTIONS = {
    "non_negative": optax.projections.projection_non_negative,
    "simplex": optax.projections.projection_simplex,
    "l1_ball": optax.projections.projection_l1_ball,
    "l2_ball": optax.projections.projection_l2_ball,
    "l1_sphere": optax.projections.projection_l1_sphere,
    "box": lambda x: optax.projections.projection_box(x, -1.0, 1.0),
    "hypercube": optax.projections.projection_hypercube,
}
TREE = {"a": jnp.arange(3.0), "b": (jnp.ones((2, 2)), jnp.float32(2))}


def assignment():
    return optax.assignment.hungarian_algorithm(jnp.cos(jnp.arange(20.0)).reshape(4, 5))


def perturbed():
    smooth = optax.perturbations.make_perturbed_fun(lambda x: jax.nn.one_hot(x.argmax(), 4), 50)
    return jax.jacobian(lambda x: smooth(jax.random.key(0), x))(LOGITS[0])


def hessian_products():
    v = jnp.arange(4.0)
    loss = lambda p, x, y: jnp.sum((jnp.tanh(x @ p) - y) ** 2)
    return optax.second_order.hvp(loss, v, jnp.ones(4) / 3, LOGITS, jnp.ones(3)), (
        optax.second_order.hessian_diag(loss, jnp.ones(4) / 3, LOGITS, jnp.ones(3))
    )


CASES = (
    {f"optimizer {name}": partial(three_steps, make) for name, make in OPTIMIZERS.items()}
    | {
        f"loss {name}": partial(with_gradient, getattr(optax.losses, name), LABELS)
        for name in SCALAR_LOSSES
    }
    | {
        "loss integer labels": partial(
            with_gradient, optax.softmax_cross_entropy_with_integer_labels, jnp.array([0, 3, 1])
        ),
        "loss smooth labels": lambda: optax.losses.smooth_labels(jnp.eye(3), 0.1),
        "loss focal": partial(with_gradient, optax.losses.sigmoid_focal_loss, LABELS > 0.3),
        "loss ctc": ctc,
        "loss poly": partial(with_gradient, optax.losses.poly_loss_cross_entropy, LABELS),
        "loss triplet": lambda: optax.losses.triplet_margin_loss(LOGITS, LOGITS + 1, LABELS),
        "loss ranking": partial(with_gradient, optax.losses.ranking_softmax_loss, LABELS),
        "loss sparsemax": partial(
            with_gradient, optax.losses.multiclass_sparsemax_loss, jnp.array([0, 3, 1])
        ),
        "loss dice": lambda: optax.losses.dice_loss(LOGITS, LABELS > 0.2),
        "loss ntxent": lambda: optax.losses.ntxent(LOGITS[:, :3], jnp.array([0, 1, 0])),
    }
    | {
        f"schedule {name}": partial(jax.jit(jax.vmap(schedule)), jnp.arange(20))
        for name, schedule in SCHEDULES.items()
    }
    | {
        f"projection {name}": lambda p=p: (p(LOGITS[0]), jax.jacobian(p)(LOGITS[0]))
        for name, p in PROJECTIONS.items()
    }
    | {
        "tree norm": lambda: (optax.tree.norm(TREE), jax.grad(optax.tree.norm)(TREE)),
        "tree arithmetic": lambda: optax.tree.add_scale(TREE, 0.5, optax.tree.mul(TREE, TREE)),
        "tree random": lambda: optax.tree.random_like(jax.random.key(0), TREE),
        "tree vdot": lambda: optax.tree.vdot(TREE, TREE),
        "tree get": lambda: optax.tree.get(optax.adam(0.1).init(TREE), "mu"),
        "tree cast": lambda: optax.tree.cast(TREE, jnp.bfloat16),
        "global norm": lambda: optax.global_norm(TREE),
        "incremental update": lambda: optax.incremental_update(TREE, TREE, 0.1),
        "periodic update": lambda: optax.periodic_update(TREE, TREE, jnp.int32(4), 2),
        "safe norm": lambda: jax.grad(optax.safe_norm)(jnp.zeros(3), 1e-3),
        "power iteration": lambda: optax.power_iteration(jnp.diag(jnp.arange(1.0, 5.0)))[0],
        "assignment": assignment,
        "perturbed": perturbed,
        "hessian products": hessian_products,
    }
)
