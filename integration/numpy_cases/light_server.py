"""Answers requests with what the light install makes of them: NumPy evaluates, nothing compiles."""

import sys
from types import SimpleNamespace

sys.modules["jaxlib"] = None  # pyright: ignore[reportArgumentType]  # an import of it fails

import numpy as np  # noqa: E402

import ricci_lax as lax  # noqa: E402
import ricci_numpy as jnp  # noqa: E402
import ricci_pytree  # noqa: E402
import ricci_reference  # noqa: E402, F401  (evaluates outside of traces)
from ricci_autodiff import grad, jvp, vjp  # noqa: E402
from ricci_batching import vmap  # noqa: E402
from ricci_ir import ShapeDtypeStruct, config, eval_shape, float0, make_jaxpr  # noqa: E402
from ricci_testing.oracle._serving import serve  # noqa: E402


def not_compiled(fun, **options):
    """Stand for `jit` where nothing compiles."""
    return fun


JAX = SimpleNamespace(
    ShapeDtypeStruct=ShapeDtypeStruct,
    config=config,
    dtypes=SimpleNamespace(float0=float0),
    eval_shape=eval_shape,
    grad=grad,
    jit=not_compiled,
    jvp=jvp,
    lax=lax,
    make_jaxpr=make_jaxpr,
    numpy=jnp,
    tree=SimpleNamespace(map=ricci_pytree.tree_map),
    vjp=vjp,
    vmap=vmap,
)

if __name__ == "__main__":
    serve({"jax": JAX, "jnp": jnp, "lax": lax, "np": np}, {"numpy": np.__version__})
