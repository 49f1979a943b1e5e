"""Where Ricci differs from JAX on purpose, and why; everything else is a defect."""

from fnmatch import fnmatchcase
from typing import NamedTuple


class Expected(NamedTuple):
    """An expected difference: patterns of function, aspect and computation, and the reason."""

    function: str
    aspect: str
    probe: str
    reason: str
    mentions: str = ""


_DTYPE = "a dtype is a NumPy dtype in the program, whatever the caller wrote"
_DEAD = "no zeros are made that nothing uses"
_MAPPED = "it can be mapped where JAX has no rule"
_DIFFERENTIATED = "it can be differentiated where JAX has no rule"
_FLOAT0 = "zeros of dtype float0 are constants, not made by an equation"
_INDEX = "positions within a matrix are int32 whatever the default integer is"
_MODE = "derivatives keep the call's mode; JAX's fill with NaN or drop"

_SLOTS = "branches share results for residuals; one that lacks them gives zeros, not empty arrays"

# An aspect that JAX gets wrong, or a program that does less; patterns as in `fnmatch`.
EXPECTED: list[Expected] = [
    Expected("*", "jaxpr", "*", _FLOAT0, "float0"),
    Expected("mul", "jaxpr", "*", _DTYPE, "<class 'numpy"),
    Expected("ragged_dot*", "jaxpr", "*", _DTYPE, "<class 'numpy"),
    Expected("integer_pow", "jaxpr", "vjp", _DEAD),
    Expected("reduce_prod", "jaxpr", "vjp", _DEAD),
    Expected("conv_general_dilated", "jaxpr", "vjp", "zeros are made where they are needed first"),
    Expected("clamp", "value", "jvp", "scalar bounds have derivatives, too", "select cases"),
    Expected("clamp", "value", "vjp", "scalar bounds have derivatives, too", "select cases"),
    Expected("random_gamma_grad", "jaxpr", "*", "one primitive here, a program in JAX"),
    Expected("broadcast_shapes", "value", "eager", "no shapes broadcast to (), as in NumPy"),
    Expected("conv*_shape_tuple", "*", "eager", "sizes are Python integers, not NumPy's"),
    Expected("index_take", "jaxpr", "*", "positions wrap by rem and select, not by a nested call"),
    Expected("dynamic_slice", "jaxpr", "vmap over all", "no gather of the whole array"),
    Expected("cumlogsumexp", "jaxpr", "*", "equal inner programs are one, and are printed once"),
    Expected("scatter_m??", "jaxpr", "*", _MODE, "mode=GatherScatterMode"),
    Expected("scatter_m??", "value", "*", _MODE, "theirs: array float32[3,4] np.float64("),
    Expected("ragged_dot*", "value", "vmap*", _MAPPED, "NYI"),
    Expected(
        "ragged_dot*", "value", "v[jm]*", _DIFFERENTIATED, "NotImplementedError: Unimplemented"
    ),
    Expected("cond", "jaxpr", "vjp", _SLOTS, "empty2"),
    Expected("switch", "jaxpr", "vjp", _SLOTS, "empty2"),
    Expected("cond", "jaxpr", "vmap*", "integers have no derivatives to hide", "stop_gradient"),
    Expected("cond", "jaxpr", "vjp", "integers have no derivatives to hide", "stop_gradient"),
    Expected("fori_loop", "jaxpr", "vmap*", "what is closed over is moved ahead of the loop"),
    Expected(
        "custom_root",
        "value",
        "*",
        "JAX refuses a solution whose tangent is wider than the root",
        "tangent dtype float64",
    ),
    Expected("custom_root", "jaxpr", "*", "JAX's primitive holds functions; here it is a program"),
    Expected("scan", "jaxpr", "vjp", "a loop without results is left to XLA", "length=0"),
    Expected("linalg.lu", "jaxpr", "vjp", "the rule works on batches; JAX's is mapped over them"),
    Expected("linalg.eig", "jaxpr", "v*", "a result that an inner program drops prints as _"),
    Expected("linalg.eig", "jaxpr", "jvp", "a result that an inner program drops prints as _"),
    Expected("linalg.qdwh", "jaxpr", "*", "a program of its own for the same iteration"),
    Expected("linalg.*", "jaxpr", "*", _INDEX, "iota[dimension=0 dtype=int64"),
    Expected("linalg.tridiagonal_solve", "jaxpr", "vjp", "no slices are taken that nothing uses"),
    Expected("linalg.qdwh", "jaxpr", "value", "norms are not calls of the NumPy API here"),
    Expected("fft", "value", "*", "lengths may be a list", "Non-hashable static arguments"),
    Expected("approx_*", "jaxpr", "vjp", "what a tangent needs is one call, not split in two"),
    Expected("igamma*", "jaxpr", "*", "the density of order 1 is finite at 0", "select_n"),
    Expected("betainc", "jaxpr", "*", "the density is finite where an exponent is 0", "select_n"),
    Expected("scaled_dot", "value", "*", _DIFFERENTIATED, "not implemented"),
]


def reason_for(function: str, aspect: str, probe: str, text: str) -> str | None:
    """Return why a difference is expected, or None."""
    for row in EXPECTED:
        patterns = zip((function, aspect, probe), row[:3], strict=True)
        if row.mentions in text and all(fnmatchcase(part, pattern) for part, pattern in patterns):
            return row.reason
    return None
