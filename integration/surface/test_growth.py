"""Work grows with the operands: no pairwise arrays, no sequential steps, counted in jaxprs.

And executables take no more memory than JAX's; `nox -s growth -- --memory` compares all.
"""

from typing import Any

import numpy as np
import pytest
from growth_cases import calls, scaled, work
from growth_programs import PROGRAMS
from growth_side import with_gradient

import ricci
import ricci.experimental.sparse.linalg
import ricci.numpy as jnp
import ricci.scipy as jsp
from ricci import lax

SIZES = (300, 2_400)
# Elements of the largest array for each one of the operands and results.
LIMIT = 8
# Calls that need more, with the reason, by how their text begins.
LARGER = {
    "jax.scipy.cluster.vq.vq": "the distances of all pairs of an observation and a code",
    "jsp.cluster.vq.vq": "the distances of all pairs of an observation and a code",
    "jsp.stats.gaussian_kde": "the distances of all pairs of a datum and a point",
    "jsp.optimize.minimize": "BFGS holds the inverse of the Hessian matrix",
    "jsp.special.bessel_jn": "the ratios of fifty orders at each point",
    "jnp.polyval": "a row of the table of each coefficient's powers",
}
STEPS = {
    "jnp.polyval": "Horner's scheme has a step for each coefficient",
    "jnp.polydiv": "a long division has a step for each coefficient of the quotient",
    "jnp.poly(": "a polynomial is multiplied by one factor after the other",
    "random.multinomial": "a binomial sample for each category, of what others left",
    "lax.scan": "the user's loop",
    "lax.map": "the user's loop",
}


def traced(call: Any) -> tuple[Any, int] | None:
    """Return a call's jaxpr and the elements of its operands and results; None if it cannot be."""
    code = compile(call.source, "<call>", "eval")
    names = {"jax": ricci, "jnp": jnp, "lax": lax, "np": np, "jsp": jsp, "random": ricci.random}
    try:
        closed = ricci.make_jaxpr(lambda xs: eval(code, {**names, **xs}))(call.inputs)
    except (
        ricci.errors.JAXTypeError,
        AssertionError,
        IndexError,
        NotImplementedError,
        RuntimeError,
        TypeError,
        ValueError,
    ):
        return None
    shapes = [getattr(aval, "shape", ()) for aval in (*closed.in_avals, *closed.out_avals)]
    elements = sum(int(np.prod(shape)) for shape in shapes)
    return closed.jaxpr, elements


def cases() -> list[Any]:
    return [call for call in calls() if scaled(call, SIZES[0], "first") is not None]


@pytest.mark.sampled(15)
@pytest.mark.parametrize("call", cases(), ids=lambda call: call.source)
def test_work_grows_with_the_operands(call):
    jaxprs = [traced(scaled(call, n, "first")) for n in SIZES]
    small, large = jaxprs
    if small is None or large is None:
        pytest.skip("its operands cannot be repeated along their first axis, or it is not traced")
    if not call.source.startswith(tuple(LARGER)):
        assert work(large[0]).largest <= LIMIT * large[1]
    if not call.source.startswith(tuple(STEPS)):
        assert work(large[0]).steps <= work(small[0]).steps + 40


# Programs by name, elements and whether they are differentiated; the temporaries that JAX 0.12.0.1
# takes on a CPU, in megabytes.
TEMPORARIES = [
    ("attention", 1_000_000, True, 11.77),
    ("layer_norm", 1_000_000, True, 24.09),
    ("recurrent_network", 1_000_000, True, 8.49),
    ("cross_entropy", 1_000_000, True, 8.04),
    ("segment_softmax", 1_000_000, False, 0.01),
    ("sinkhorn_steps", 1_000_000, False, 32.04),
    ("kernel_matrix", 1_000_000, True, 4.07),
    ("gaussian_mixture", 10_000_000, False, 25.0),
    ("gravity", 10_000_000, True, 120.56),
    ("planar_vortices", 10_000_000, False, 100.35),
]


@pytest.mark.parametrize(("name", "size", "is_gradient", "megabytes"), TEMPORARIES)
def test_temporaries_grow_as_those_of_jax(name, size, is_gradient, megabytes):
    program = PROGRAMS[name]
    operands = {
        k: ricci.ShapeDtypeStruct(x.shape, x.dtype) for k, x in program.operands(size).items()
    }
    call = lambda operands: program.run(ricci, **operands)
    function = with_gradient(ricci, call) if is_gradient else call
    compiled = ricci.jit(function).lower(operands).compile()
    limit = max(1.25 * megabytes, megabytes + 1) * 1e6
    assert compiled.memory_analysis().temp_size_in_bytes <= limit
