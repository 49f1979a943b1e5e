"""The rows: which functions, of how many operands, in which dtypes."""

from .case import Case

ALL = ("f32", "bf16", "f64")
CASES: list[Case] = []


def each(
    space: str,
    names: str,
    call: str = "{f}(x)",
    floats: str = "x",
    counts: str = "",
    dtypes: tuple[str, ...] = ALL,
    differentiated: bool = True,
) -> None:
    """Add a case for each function and dtype."""
    for name in names.split():
        function = f"{space}.{name}"
        for dtype in dtypes:
            source = call.format(f=function)
            operands = tuple(floats.split()), tuple(counts.split())
            CASES.append(Case(function, source, *operands, dtype, differentiated))


TWO, THREE = "{f}(x, y)", "{f}(x, y, z)"

each(
    "lax",
    """abs acos acosh asin asinh atan atanh bessel_i0e bessel_i1e cbrt ceil cos cosh digamma
    erf erf_inv erfc exp exp2 expm1 floor lgamma log log1p log2 logistic neg reciprocal round rsqrt
    sign sin sinh sqrt square tan tanh one_minus_square""",
)
each("lax", "is_finite", differentiated=False)
each("lax", "add atan2 div max min mul pow rem sub", TWO, "x y")
each("lax", "nextafter", TWO, "x y", differentiated=False)
each("lax", "igamma igammac random_gamma_grad igamma_grad_a zeta polygamma", TWO, "x y")
each("lax", "betainc", THREE, "x y z")
for power in (0, 1, 2, 3, -1, -2):
    each("lax", "integer_pow", f"{{f}}(x, {power})")

each(
    "jnp",
    """abs acos acosh angle asin asinh atan atanh cbrt ceil cos cosh deg2rad exp exp2 expm1
    fabs fix floor i0 log log10 log1p log2 nan_to_num negative positive rad2deg real reciprocal rint
    round sign sin sinc sinh spacing sqrt square tan tanh trunc""",
)
each("jnp", "modf frexp")
each("jnp", "isfinite isinf isnan isneginf isposinf signbit", differentiated=False)
each(
    "jnp",
    """arctan2 copysign divide divmod float_power floor_divide fmax fmin fmod heaviside hypot
    logaddexp logaddexp2 maximum minimum mod multiply power remainder subtract""",
    TWO,
    "x y",
)
each("jnp", "nextafter isclose", TWO, "x y", differentiated=False)
each("jnp", "ldexp power float_power", "{f}(x, n)", "x", "n")

# JAX's exp1 and expn do not end at some of the edges.
SPECIAL = "jax.scipy.special"
each(
    SPECIAL,
    """dawsn digamma entr erf erfc erfcx erfinv expi expit factorial fresnel gamma
    gammaln gammasgn i0 i0e i1 i1e log_ndtr loggamma logit ndtr ndtri sici spence""",
)
each(
    SPECIAL,
    """beta betaln boxcox boxcox1p comb gammainc gammaincc kl_div owens_t poch rel_entr
    xlog1py xlogy zeta""",
    TWO,
    "x y",
)
each(SPECIAL, "polygamma", "{f}(n, x)", "x", "n")
each(SPECIAL, "multigammaln", "{f}(x, 3)")
each(SPECIAL, "betainc hyp1f1", THREE, "x y z")

each(
    "jax.nn",
    """celu elu gelu hard_sigmoid hard_silu hard_tanh leaky_relu log1mexp log_sigmoid mish
    relu relu6 selu sigmoid silu soft_sign softplus sparse_plus sparse_sigmoid squareplus tanh""",
)

DENSITIES = {
    "expon laplace logistic gumbel_l gumbel_r cauchy norm uniform": "",
    "gamma chi2 t pareto gennorm vonmises wrapcauchy": "a",
    "beta truncnorm": "a b",
}
PRESENT = {
    "expon": "logpdf pdf cdf logcdf sf logsf ppf",
    "laplace": "logpdf pdf cdf",
    "logistic": "logpdf pdf cdf sf ppf isf",
    "gumbel_l": "logpdf pdf cdf logcdf sf logsf ppf",
    "gumbel_r": "logpdf pdf cdf logcdf sf logsf ppf",
    "cauchy": "logpdf pdf cdf logcdf sf logsf ppf isf",
    "norm": "logpdf pdf cdf logcdf sf logsf ppf isf",
    "uniform": "logpdf pdf cdf ppf",
    "pareto": "logpdf pdf cdf logcdf sf logsf ppf",
    "t": "logpdf pdf",
    "vonmises": "logpdf pdf",
    "wrapcauchy": "logpdf pdf",
    "gennorm": "logpdf pdf cdf",
}
for names, shapes in DENSITIES.items():
    for name in names.split():
        space = f"jax.scipy.stats.{name}"
        operands = ["x", *shapes.split()]
        functions = PRESENT.get(name, "logpdf pdf cdf logcdf sf logsf")
        each(space, functions, f"{{f}}({', '.join(operands)})", " ".join(operands), dtypes=("f32",))
for name, shapes in {
    "bernoulli": "p",
    "geom": "p",
    "poisson": "mu",
    "binom": "m p",
    "nbinom": "m p",
    "betabinom": "m a b",
}.items():
    operands = ["k", *shapes.split()]
    functions = {"poisson": "logpmf pmf cdf entropy", "bernoulli": "logpmf pmf cdf ppf"}
    chosen = functions.get(name, "logpmf pmf").replace(" entropy", "")
    call = f"{{f}}({', '.join(operands)})"
    each(f"jax.scipy.stats.{name}", chosen, call, " ".join(operands), dtypes=("f32",))
