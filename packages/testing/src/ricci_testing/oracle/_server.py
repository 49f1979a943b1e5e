"""The oracle's server: evaluates requests with real JAX.

Run by the oracle's own interpreter and never imported.
"""

import jaxlib  # pyright: ignore[reportMissingImports]
import numpy
from _serving import serve  # pyright: ignore[reportMissingImports]

import jax  # pyright: ignore[reportMissingImports]
import jax.numpy  # pyright: ignore[reportMissingImports]

NAMESPACE = {"jax": jax, "jnp": jax.numpy, "lax": jax.lax, "np": numpy, "random": jax.random}

if __name__ == "__main__":
    jax.device_count()  # initialize before the first request
    serve(
        NAMESPACE,
        {"jax": jax.__version__, "jaxlib": jaxlib.version.__version__, "numpy": numpy.__version__},
    )
