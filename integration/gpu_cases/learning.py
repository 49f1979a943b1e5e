"""Programs of models: convolutions, activations, attention, special functions, random numbers."""

from functools import partial

import numpy as np

import jax
import jax.numpy as jnp
import jax.scipy as jsp
from gpu_cases.case import IMAGES, KERNEL, TALL, VECTOR, Table, normal
from jax import lax

ACTIVATIONS = "relu gelu silu softplus elu selu softmax log_softmax glu mish"
SPECIAL = """digamma erf erfc erfinv gammaln i0e i1e ndtri log_ndtr expit logit betaln gammainc
    gammaincc zeta spence exp1 entr wofz fresnel"""
GENERATORS = ("threefry2x32", "rbg", "unsafe_rbg")
BITS = {
    "bits": lambda key: jax.random.bits(key, (33, 5)),
    "uniform": lambda key: jax.random.uniform(key, (40,)),
    "split": lambda key: jax.random.key_data(jax.random.split(key, 4)),
    "randint": lambda key: jax.random.randint(key, (40,), 0, 1000),
    "permutation": lambda key: jax.random.permutation(key, 50),
}
SAMPLES = {
    "normal": lambda key: jax.random.normal(key, (40,)),
    "normal.bf16": lambda key: jax.random.normal(key, (40,), jnp.bfloat16).astype(np.float32),
    "gamma": lambda key: jax.random.gamma(key, 2.0, (40,)),
    "beta": lambda key: jax.random.beta(key, 2.0, 3.0, (40,)),
    "categorical": lambda key: jax.random.categorical(key, jnp.arange(9.0), shape=(40,)),
    "choice": lambda key: jax.random.choice(key, 50, (9,), replace=False),
    "bernoulli": lambda key: jax.random.bernoulli(key, 0.3, (40,)),
}


def _convolve(x, kernel, strides=(1, 1), **options):
    layout = ("NHWC", "HWIO", "NHWC")
    return lax.conv_general_dilated(x, kernel, strides, "SAME", dimension_numbers=layout, **options)


def _pool(x):
    return lax.reduce_window(x, -np.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


def _images(table: Table) -> None:
    add = partial(table.add, tolerance=5e-3)
    low = lambda x, k: _convolve(x.astype(jnp.bfloat16), k.astype(jnp.bfloat16)).astype(np.float32)
    add("conv", _convolve, IMAGES, KERNEL)
    add("conv.highest", partial(_convolve, precision="highest"), IMAGES, KERNEL)
    table.add("conv.bf16", low, IMAGES, KERNEL, tolerance=3e-2)
    add("conv.depthwise", partial(_convolve, feature_group_count=4), IMAGES, normal(3, 3, 1, 4))
    squared = lambda x, k: (_convolve(x, k, (2, 2)) ** 2).sum()
    add("conv.grad", jax.grad(squared, argnums=(0, 1)), IMAGES, KERNEL)
    line, volume = normal(2, 4, 30), normal(1, 2, 8, 8, 8)
    conv = lambda strides: lambda x, k: lax.conv(x, k, strides, "SAME")
    add("conv.1d", conv((1,)), line, normal(6, 4, 5))
    add("conv.3d", conv((1, 1, 1)), volume, normal(3, 2, 3, 3, 3))
    add("conv.transpose", lambda x, k: lax.conv_transpose(x, k, (2, 2), "SAME"), IMAGES, KERNEL)
    table.add("pool", _pool, IMAGES, exact=True)
    table.add("pool.grad", jax.grad(lambda x: (_pool(x) ** 2).sum()), IMAGES)
    for method in ("linear", "cubic", "lanczos3"):
        resize = lambda x, method=method: jax.image.resize(x, (2, 20, 9, 4), method)
        add(f"resize.{method}", resize, IMAGES)


def _attention(queries, keys, **options):
    queries, keys = queries.astype(jnp.bfloat16), keys.astype(jnp.bfloat16)
    mixed = jax.nn.dot_product_attention(queries, keys, keys, **options)
    return mixed.astype(np.float32)


def _layers(table: Table) -> None:
    for name in ACTIVATIONS.split():
        function = getattr(jax.nn, name)
        squared = lambda x, function=function: (function(x) ** 2).sum()
        table.add(f"nn.{name}", function, TALL)
        table.add(f"nn.{name}.grad", jax.grad(squared), TALL)
    queries = normal(2, 64, 4, 64)
    for backend in ("xla", "cudnn"):
        attend = partial(_attention, is_causal=True, implementation=backend)
        squared = lambda q, k, attend=attend: (attend(q, k) ** 2).sum()
        for name, keys in {"": queries, ".grouped": normal(2, 64, 2, 64)}.items():
            table.add(f"attention.{backend}{name}", attend, queries, keys, tolerance=3e-2)
            table.add(
                f"attention.{backend}{name}.grad",
                jax.grad(squared, argnums=(0, 1)),
                queries,
                keys,
                tolerance=5e-2,
            )


def _special_functions(table: Table) -> None:
    x = np.clip(VECTOR, 0.05, 0.95)
    operands = {
        "betaln": (x + 1.5, x + 0.5),
        "gammainc": (x + 1.5, x + 0.5),
        "gammaincc": (x + 1.5, x + 0.5),
        "zeta": (x + 1.5, x + 1),
        "wofz": (x.astype(np.complex64),),
    }
    for name in SPECIAL.split():
        function = getattr(jsp.special, name)
        table.add(f"special.{name}", function, *operands.get(name, (x,)), tolerance=3e-5)
    table.add("special.betainc", jsp.special.betainc, VECTOR + 0.5, VECTOR + 1, x, tolerance=1e-4)
    shape = jax.grad(lambda a: jsp.special.gammainc(a, VECTOR).sum())
    table.add("special.gammainc.grad", shape, VECTOR + 0.5, tolerance=1e-3)


def _random_numbers(table: Table) -> None:
    for generator in GENERATORS:
        for rows, exact in ((BITS, True), (SAMPLES, False)):
            for name, sample in rows.items():
                function = lambda sample=sample, g=generator: sample(jax.random.key(7, impl=g))
                table.add(f"random.{generator}.{name}", function, tolerance=1e-5, exact=exact)
    add, key = table.add, jax.random.key
    add("random.poisson", lambda: jax.random.poisson(key(1), 3.0, (40,)))
    add("random.orthogonal", lambda: jnp.abs(jax.random.orthogonal(key(1), 5)), tolerance=1e-4)
    multivariate = jax.random.multivariate_normal
    covariance = lambda: jnp.eye(3) * 2
    sample = lambda: multivariate(key(1), jnp.zeros(3), covariance(), (7,))
    add("random.multivariate", sample, tolerance=1e-4)
    total = lambda: jax.random.bits(key(3), (1 << 20,)).sum(dtype=np.uint32)
    add("random.big", total, exact=True)


def add_programs(table: Table) -> None:
    """Add the programs of this module."""
    for add in (_images, _layers, _special_functions, _random_numbers):
        add(table)
