"""Functions of `scipy.special` take no more operations than JAX's, or those that a table allows.

Counted are the elementwise operations of the lowered function, per element, as XLA's cost analysis
has them: those of a loop's body once, and those of all branches.
"""

import pytest

pytest.importorskip("ricci_xla", reason="functions are lowered for the runtime")

from ricci.scipy import special
from ricci_testing import Oracle, Request, evaluate_with, ricci_namespace, shared_oracle

pytestmark = pytest.mark.skipif(
    not Oracle.available(), reason="oracle environment missing: run nox -s oracle"
)

SIZE = 1000
LIMIT = 1.25  # the ratio to JAX's operations of functions without a row in `CEILINGS`
# The calls by their number of arrays x, y, z and w.
CALLS = {
    1: """
        special.dawsn(x)    special.digamma(x)   special.entr(x)      special.erf(x)
        special.erfc(x)     special.erfcinv(x)   special.erfcx(x)     special.erfinv(x)
        special.exp1(x)     special.expi(x)      special.expit(x)     special.factorial(x)
        special.fresnel(x)  special.gamma(x)     special.gammaln(x)   special.gammasgn(x)
        special.i0(x)       special.i0e(x)       special.i1(x)        special.i1e(x)
        special.log_ndtr(x) special.log_softmax(x) special.loggamma(x) special.logit(x)
        special.logsumexp(x) special.multigammaln(x,3) special.ndtr(x) special.ndtri(x)
        special.polygamma(2,x) special.sici(x)   special.softmax(x)   special.spence(x)
        special.wofz(x)     special.bessel_jn(x,v=3)
    """,
    2: """
        special.beta(x,y)   special.betaln(x,y)  special.boxcox(x,y)  special.boxcox1p(x,y)
        special.comb(x,y)   special.expn(x,y)    special.gammainc(x,y) special.gammaincc(x,y)
        special.kl_div(x,y) special.owens_t(x,y) special.poch(x,y)    special.rel_entr(x,y)
        special.xlog1py(x,y) special.xlogy(x,y)  special.zeta(x,y)
    """,
    3: "special.betainc(x,y,z) special.hyp1f1(x,y,z)",
    4: "special.hyp2f1(x,y,z,w)",
}
COMPLEX = "special.erfcx(x) special.gamma(x) special.loggamma(x) special.wofz(x)"
# Functions of a number, of integer orders, or of tables.
WITHOUT_CALL = {"bernoulli", "lpmn", "lpmn_values", "sph_harm_y"}

# The highest ratios in 32 and in 64 bits, and what the operations are for. Errors are the largest
# relative ones of 4,000 random arguments beside SciPy's, ours and JAX's, in float64.
_GAMMA = "log gamma by a series with its zeros as factors"
_BRANCH = "a branch that runs only if an argument is negative, huge or NaN"
_LOOP = "JAX has a loop, of which one term is counted"
CEILINGS: dict[str, tuple[float, float, str]] = {
    "beta": (LIMIT, 2.3, f"{_GAMMA}: 8e-14, 1e-6"),
    "betaln": (LIMIT, 2.9, f"{_GAMMA}: 2e-11, 1e-5"),
    "betainc": (LIMIT, 5.0, f"{_GAMMA}: 9e-14, 2e-12"),
    "bessel_jn": (2.1, 2.1, "ratios, which do not overflow where the recurrence does"),
    "boxcox": (1.7, 1.7, "exponents so small that their products with the logarithm underflow"),
    "boxcox1p": (1.7, 1.7, "exponents so small that their products with the logarithm underflow"),
    "comb": (LIMIT, 4.6, f"{_GAMMA}: 2e-14, 1e-13"),
    "expn": (LIMIT, 1.5, "2e-15, 5e-15"),
    "factorial": (LIMIT, 3.3, f"{_GAMMA}: 1e-14, 3e-14"),
    "gamma": (LIMIT, 2.2, f"{_GAMMA}: 1e-14, 3e-14"),
    "gammainc": (1.4, 3.9, f"{_GAMMA}: 1e-13, 2e-13"),
    "gammaincc": (1.7, 4.7, f"{_GAMMA}: 9e-14, 1e-13"),
    "gammaln": (LIMIT, 3.4, f"{_GAMMA}: 4e-13, 1e-11"),
    "hyp1f1": (LIMIT, 2.3, f"{_GAMMA}, and steps along the axis, in a loop: 1e-12, 2e-6"),
    "kl_div": (1.8, 1.8, "arguments that are close: 2e-10, 2e-8"),
    "loggamma": (LIMIT, 3.4, f"{_GAMMA}: 4e-13, 1e-11"),
    "multigammaln": (LIMIT, 3.3, f"{_GAMMA}: as gammaln"),
    "owens_t": (2.0, 1.5, "infinite arguments, of which JAX's is NaN"),
    "polygamma": (9.5, 9.5, _BRANCH),
    "poch": (LIMIT, 2.9, f"{_GAMMA}: 1e-14, 2e-14"),
    "wofz": (2.5, 3.2, f"{_LOOP}: 6e-16, 3e-13"),
    "zeta": (5.2, 5.2, _BRANCH),
    "erfcx, complex": (4.5, 5.9, f"{_LOOP}: 2e-14, 3e-13"),
    "gamma, complex": (3.9, 3.9, "the real part beside poles, which cancels in JAX's"),
    "loggamma, complex": (3.1, 3.1, "one series for all arguments, where JAX has a loop"),
    "wofz, complex": (4.8, 6.2, f"{_LOOP}: 2e-14, 3e-13"),
}

FUNCTION = """
from jax.scipy import special
def count(function, *dtypes):
    operands = [jax.ShapeDtypeStruct(({size},), dtype) for dtype in dtypes]
    costs = jax.jit(function).lower(*operands).cost_analysis()
    return (costs.get("flops", 0) + costs.get("transcendentals", 0)) / {size}
"""


def name_of(call: str) -> str:
    return call.partition("(")[0].removeprefix("special.")


def sources(bits: int) -> dict[str, str]:
    """Return, by name, the expressions that count the operations of a function."""
    counts = {}
    rows = [(call, n, f"float{bits}", "") for n, text in CALLS.items() for call in text.split()]
    rows += [(call, 1, f"complex{2 * bits}", ", complex") for call in COMPLEX.split()]
    for call, arity, dtype, kind in rows:
        function = f"lambda {', '.join('xyzw'[:arity])}: {call}"
        operands = ", ".join([repr(dtype)] * arity)
        counts[name_of(call) + kind] = f"count({function}, {operands})"
    return counts


def test_every_function_is_counted():
    called = {name_of(call) for text in CALLS.values() for call in text.split()}
    assert called | WITHOUT_CALL == {name for name in dir(special) if not name.startswith("_")}


@pytest.mark.parametrize("bits", [32, 64])
def test_functions_take_the_operations_of_jax_or_those_of_the_table(bits):
    config = {"jax_enable_x64": True}
    setup = FUNCTION.format(size=SIZE)
    counted = sources(bits)
    requests = [Request(f"{setup}\n{source}", {}, config) for source in counted.values()]
    answers = shared_oracle().run_many(requests, timeout=600)
    space = ricci_namespace()
    above = []
    for name, request, answer in zip(counted, requests, answers, strict=True):
        ours = evaluate_with(space, request.source, {}, config=config)
        assert not (ours.error or answer.error), (name, ours.error, answer.error)
        our, their = (float(result.leaves[0].value) for result in (ours, answer))
        row = CEILINGS.get(name)
        ceiling = LIMIT if row is None else row[bits == 64]
        # A few operations more do not matter where there are few.
        if our > ceiling * their + 2:
            above.append(
                f"{name}: {our:.0f} operations, {their:.0f} in JAX; {ceiling} times at most"
            )
    assert not above, "\n".join(above)
