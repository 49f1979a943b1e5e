"""Options for a whole program, and for a part of it."""

import ricci
import ricci.numpy as np
from ricci import Array


def difference(x: Array) -> Array:
    return (x + 1) - x


def main() -> None:
    ricci.config.update("jax_default_matmul_precision", "highest")
    with ricci.enable_x64(True):
        assert difference(np.asarray(1e9)).dtype == np.float64
    with ricci.disable_jit(), ricci.debug_nans(True):
        assert float(ricci.jit(difference)(np.asarray(1.0))) == 1.0
    with ricci.default_matmul_precision("float32"):
        assert (np.ones((2, 2)) @ np.ones(2)).shape == (2,)
    ricci.config.update("jax_default_matmul_precision", None)
