"""Intended differences from JAX, with reasons; everything else is a defect.

Each row holds what both sides give, as `agreement.Difference` writes it: an error, a type, a value;
of printed programs the words that one side has and the other lacks.
"""

from typing import NamedTuple

from patterns import matches


class Expected(NamedTuple):
    """An expected difference; all but the reason are patterns, in which `*` is any text.

    Attributes:
        functions: patterns of functions, separated by spaces.
        aspect: what differs, as in `agreement.ASPECTS`.
        probe: the computation, as `agreement.Probe` names it.
        ours, theirs: what both sides give.
        reason: why they differ.
    """

    functions: str
    aspect: str
    probe: str
    ours: str
    theirs: str
    reason: str

    def covers(self, function: str, *texts: str) -> bool:
        """Whether it is the difference of a function in an aspect, a probe, and both texts."""
        return any(matches(function, name) for name in self.functions.split()) and all(
            map(matches, texts, self[1:5])
        )


_DIFFERENTIATED = "it can be differentiated where JAX has no rule"
_FLOAT0 = "zeros of dtype float0 are constants, not results of an equation"
_INDEX = "positions within a matrix are int32 whatever the default integer is"
_SLOTS = "branches share results for residuals; one that lacks them gives zeros, not empty arrays"
_ROOT = "JAX's primitive holds functions; here it is a jaxpr"
_TAKE = "positions wrap by rem and select, not by a nested call"
_TUPLE = "sizes are Python integers, not NumPy's"
_LISTS = "lengths may be a list"
_GAMMA = "one primitive here, a jaxpr in JAX"

_COMPARISONS = "is_finite eq ne lt le gt ge convert_element_type full_like"
_SORTS = "sort sort_key_val top_k approx_max_k approx_min_k"
_EMPTY = " empty2(*) memory_space=MemorySpace.Device(*)"
_GATHER = (
    "dimension_numbers=GatherDimensionNumbers fill_value=None gather indices_are_sorted=True "
    "mode=GatherScatterMode.CLIP unique_indices=True"
)
_CUSTOM_ROOT = "custom_jvp_call jvp=root_jvp name=custom_root symbolic_zeros=True"
_TANGENT_ROOT = (
    "count=1 custom_jvp_call jvp=root_jvp mul name=custom_root sub symbolic_zeros=True tangent_map"
)
_REMAINDER = "eq jit(2) lt name=_where name=remainder ne(2)"

_EQUAL = "the derivative is finite where eigenvalues or singular values are equal (JAX: NaN)"

_SLOPE = "the derivative does not cancel, nor leave the dtype"

_NOTHING = "nothing more"
_REORDERED = "the same words, otherwise"

# fmt: off
EXPECTED: list[Expected] = [
    Expected("asinh", "jaxpr", "*", "div max(2)",
             "clamp integer_pow mul(3) square stop_gradient y=-1", _SLOPE),
    Expected("asinh", "jaxpr", "*", _NOTHING,
             "abs(2) broadcast_in_dim clamp complex(2) * stop_gradient y=-1",
             "JAX scales complex numbers, too"),
    Expected("atan", "jaxpr", "*", "convert_element_type(*) new_dtype=*", _NOTHING, _SLOPE),
    Expected("div", "jaxpr", "*", "mul y=-1", "y=-2", _SLOPE),
    Expected("log2", "jaxpr", "*", _NOTHING, "log", _SLOPE),
    Expected("erf erfc", "jaxpr", "*", "square", "abs * custom_jvp_call *",
             "JAX corrects the rounding of the square, for 1.4 times the time"),
    Expected("expm1", "jaxpr", "*", "convert_element_type(*) new_dtype=*", _NOTHING, _SLOPE),
    Expected("asinh", "jaxpr", "*", "convert_element_type(2) div max(2) new_dtype=*(2)",
             "clamp integer_pow mul(3) square stop_gradient y=-1", _SLOPE),
    Expected("erf erfc", "jaxpr", "*", "convert_element_type(*) new_dtype=*",
             "custom_jvp_call jvp=_exp_neg_sq_jvp name=exp_neg_sq symbolic_zeros=False", _SLOPE),
    *(Expected("atan2", "jaxpr", "*",
               f"abs(4) broadcast_in_dim(6) {wide}gt(2) lt(2) max(2) mul(8) {types}select_n(4)"
               f"{end}", _NOTHING, _SLOPE)
      for wide, types, end in (("", "", ""), ("convert_element_type(8) ",
                                              "new_dtype=*float16(2) new_dtype=float32(6) ",
                                              " weak_type=False(8)"))),
    Expected("rsqrt", "jaxpr", "*", _REORDERED, _REORDERED, _SLOPE),
    Expected(f"{_COMPARISONS} {_SORTS}", "jaxpr", "jvp", _NOTHING, "broadcast_in_dim", _FLOAT0),
    Expected("linalg.lu", "jaxpr", "jvp", _NOTHING, "broadcast_in_dim(2)", _FLOAT0),
    Expected("linalg.lu", "jaxpr", "jvp", "dtype=int32(8)",
             "broadcast_in_dim(2) dtype=int64(8)", f"{_FLOAT0}; {_INDEX}"),
    Expected("linalg.lu", "jaxpr", "jvp", _NOTHING, "broadcast_in_dim(6)",
             "the rule works on batches; JAX's is mapped over them"),
    Expected("linalg.lu", "jaxpr", "vjp", _NOTHING, "broadcast_in_dim(4)",
             "the rule works on batches; JAX's is mapped over them"),
    Expected("linalg.lu", "jaxpr", "jvp", "dtype=int32(8)", "broadcast_in_dim(6) dtype=int64(8)",
             f"the rule works on batches; JAX's is mapped over them; {_INDEX}"),
    Expected("linalg.lu", "jaxpr", "vjp", "dtype=int32(8)", "broadcast_in_dim(4) dtype=int64(8)",
             f"the rule works on batches; JAX's is mapped over them; {_INDEX}"),
    Expected("linalg.eigh", "jaxpr", "jvp", "* rotation", "add(4) *", _EQUAL),
    Expected("linalg.eigh", "jaxpr", "vjp", "abs(12) *",
             "* dimension_numbers=ScatterDimensionNumbers integer_pow *", _EQUAL),
    Expected("linalg.eigh", "jaxpr", "vjp", "abs(12) *",
             "dimension_numbers=ScatterDimensionNumbers integer_pow *", _EQUAL),
    Expected("linalg.svd", "jaxpr", "jvp",
             "* degenerate_quotient(*) * rotation *", "add(*) *", _EQUAL),
    Expected("linalg.svd", "jaxpr", "vjp",
             "* degenerate_quotient(*) *", "concatenate * scatter(2) *", _EQUAL),
    Expected("linalg.svd", "jaxpr", "*", _NOTHING, "broadcast_in_dim",
             "without factors, the rule computes nothing for them"),
    *(Expected("linalg.*", "jaxpr", "*", f"dtype=int32({n})", f"dtype=int64({n})", _INDEX)
      for n in (2, 4, 8, 10, 14)),
    Expected("mul", "jaxpr", "*", "out_dtype=float*", "out_dtype=<class 'numpy.float*",
             "a dtype is a NumPy dtype in the jaxpr, whatever the caller wrote"),
    Expected("integer_pow reduce_prod", "jaxpr", "vjp", _NOTHING, "broadcast_in_dim",
             "zeros that are dead are left out"),
    Expected("conv_general_dilated", "jaxpr", "vjp", _REORDERED, _REORDERED,
             "zeros are created where they are needed first"),
    Expected("cond", "jaxpr", "vjp", _REORDERED, _REORDERED,
             "residuals of branches are in the order of the operands"),
    Expected("map", "jaxpr", "vjp", _REORDERED, _REORDERED,
             "the cotangents of the rest's factors are added in the order of the factors"),
    Expected("scan fori_loop", "jaxpr", "vmap*", _REORDERED, _REORDERED,
             "constants are transposed ahead of the loop, not in each step"),
    Expected("clamp", "value", "*p", "a value", "TypeError: select cases must have*",
             "scalar bounds have derivatives, too"),
    Expected("random_gamma_grad", "jaxpr", "*", "random_gamma_grad",
             "abs(4) add(14) and(6) * digamma(2) * while(2) y=-1", _GAMMA),
    Expected("igamma igammac", "jaxpr", "*",
             "abs(4) add(24) and(4) broadcast_in_dim(17) div(5) eq(2) exp(2) ge(2) gt is_finite(2) "
             "lgamma log(2) log1p lt(4) mul(32) neg select_n(11) sqrt sub(5)", _NOTHING,
             "the density of order 1 is finite at 0, and exact for large orders"),
    Expected("betainc", "jaxpr", "*",
             "abs(8) add(58) and(8) broadcast_in_dim(*) div(10) eq(4) exp ge(5) gt(3) "
             "is_finite(2) lgamma(3) log(5) log1p(2) lt(9) mul(75) neg(3) or select_n(23) sqrt "
             "sub(16)", _NOTHING,
             "the density is finite where an exponent is 0, and exact for large parameters"),
    Expected("broadcast_shapes", "value", "eager", "a value", "AssertionError: ",
             "no shapes broadcast to (), as in NumPy"),
    Expected("conv_*shape_tuple", "dtype", "eager", "int", "int64", _TUPLE),
    Expected("conv_*shape_tuple", "value", "eager", "python", "numpy", _TUPLE),
    *(Expected("index_take", "jaxpr", "*", _NOTHING,
               f"and broadcast_in_dim({n}){wide} {_REMAINDER}{end}", _TAKE)
      for n in (2, 3)
      for wide, end in ((" convert_element_type", " new_dtype=int64 select_n weak_type=False"),
                        ("", " select_n"))),
    Expected("dynamic_slice", "jaxpr", "vmap over all", _NOTHING, _GATHER,
             "no gather of the whole array"),
    Expected("cumlogsumexp", "jaxpr", "*", _NOTHING,
             "abs add(2) exp log1p max ne neg select_n sub",
             "equal inner jaxprs are one, and are printed once"),
    Expected("polynomial", "jaxpr", "jvp", "*mul*", "polynomial*",
             "tangents of coefficients are products and sums, which can be transposed"),
    *(Expected("polynomial", "jaxpr", "*", "* scan*", theirs,
               "steps that are not written out are a scan") for theirs in ("polynomial*", "mul*")),
    Expected("polynomial", "jaxpr", "*", _NOTHING, "unroll=True*",
             "the primitive is that of written-out steps"),
    Expected("ragged_dot ragged_dot_general", "value", "vmap*", "a value",
             "NotImplementedError: ragged_dot vmap over any dim but 0 - NYI",
             "it can be mapped where JAX has no rule"),
    Expected("ragged_dot_general", "value", "vjp", "a value",
             "NotImplementedError: Unimplemented grad_y_dims for ragged dot*", _DIFFERENTIATED),
    Expected("scaled_dot", "value", "*p", "a value",
             "NotImplementedError: Differentiation rule for 'scaled_dot' not*", _DIFFERENTIATED),
    *(Expected("cond switch", "jaxpr", "vjp", _NOTHING, f"{zeros} dtype=*({n}){_EMPTY}", _SLOTS)
      for zeros, n in (("broadcast_in_dim", 2), ("broadcast_in_dim", 3),
                       ("broadcast_in_dim(2)", 2), ("broadcast_in_dim(4)", 4))),
    Expected("cond", "jaxpr", "vmap*", _NOTHING,
             "broadcast_in_dim(2) eq(2) select_n(2) stop_gradient(2)",
             "integers have no derivatives to hide"),
    *(Expected("fori_loop", "jaxpr", "vmap over x", f"body_nconsts={n} cond_nconsts=1",
               f"body_nconsts={n - 1} cond_nconsts=0", "constants are moved ahead of the loop")
      for n in (1, 2)),
    Expected("custom_root", "value", "*p", "a value",
             "TypeError: primal and tangent arguments to jax.jvp do not match*float64 instead.",
             "JAX refuses a solution whose tangent is wider than the root"),
    Expected("custom_root", "jaxpr", "value", _CUSTOM_ROOT, "eval_jaxpr has_aux=False", _ROOT),
    Expected("custom_root", "jaxpr", "jvp", _TANGENT_ROOT, "eval_jaxpr(4) f=fun has_aux=False",
             _ROOT),
    Expected("custom_root", "jaxpr", "vjp", _TANGENT_ROOT,
             "add_any(2) eval_jaxpr(5) f=fun has_aux=False", _ROOT),
    Expected("custom_root", "jaxpr", "vmap*", _CUSTOM_ROOT, "eval_jaxpr(2) has_aux=False", _ROOT),
    Expected("scan", "jaxpr", "vjp", "length=0 reverse=False unroll=1", _NOTHING,
             "a loop without results is left to XLA"),
    Expected("linalg.eig", "jaxpr", "*", _NOTHING, "out_sharding=None reduce_sum",
             "dead operations of an inner jaxpr are left out"),
    Expected("linalg.qdwh", "jaxpr", "value", "abs* add* cholesky* gt* qr *triangular_solve(*",
             "and(4) axis=0(2) *cbrt *dynamic_update_slice *name=norm(4) *scan(2) *",
             "a jaxpr of its own for the same iteration"),
    Expected("linalg.tridiagonal_solve", "jaxpr", "vjp", _NOTHING, "slice(2) strides=None(2)",
             "slices that are dead are left out"),
    Expected("fft", "value", "*", "a value", "ValueError: Non-hashable static arguments are*",
             _LISTS),
]
# fmt: on


def reason_for(function: str, aspect: str, probe: str, ours: str, theirs: str) -> str | None:
    """Return why a difference is expected, or None."""
    texts = function, aspect, probe, ours, theirs
    return next((row.reason for row in EXPECTED if row.covers(*texts)), None)
