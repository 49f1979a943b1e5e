"""The examples of primitives that follow from domains, and what the laws leave out, by name.

The tables hold the primitives of Ricci's packages; other packages add theirs.
"""

import enum
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

from ricci_ir import TupleRecord

from ._collectives import collective_pairs

Topic = Literal[
    "complex derivatives",  # accepted, but not differentiable there
    "empty",  # it takes no arrays without elements
    "empty derivatives",  # it takes them, but is not differentiable there
    "phase",  # its results are determined up to a sign or phase alone
    "scalars",  # its first operand is never a scalar
    "transpose",  # its values are linear, but it is not transposed
    "bool",  # what follows are dtypes that its type allows and no backend computes
    "int",
    "uint",
    "complex",
]


class Domain(enum.Enum):
    """The numbers that an operand of an elementwise operation may be."""

    ANY = "any"
    POSITIVE = "positive"
    UNIT = "between -1 and 1"
    FRACTION = "between 0 and 1"
    ABOVE_ONE = "greater than 1"
    WHOLE = "whole numbers from 0 on"


ANY, POSITIVE, UNIT, FRACTION, ABOVE_ONE, WHOLE = Domain


class Samples(TupleRecord):
    """Examples of an elementwise primitive: operands in all dtypes that it accepts.

    Attributes:
      domains: for each operand, which numbers it may be.
      params: the parameters; there are examples with each of these dictionaries.
      fixed: the positions of operands without a derivative.
      order: how often it can be differentiated, 1 or 2.
      specials: whether infinities, NaN and zeros are examples; they are not where compilers may
        give different results. By default they are for one operand, but not for pairs.
    """

    domains: tuple[Domain, ...]
    params: tuple[dict[str, Any], ...] = ({},)
    fixed: tuple[int, ...] = ()
    order: int = 2
    specials: bool | None = None


class OverAxes(TupleRecord):
    """Examples of a primitive that refers to named axes: the laws hold of it under ``vmap``.

    Attributes:
      axes: the names and the sizes of the axes.
      pairs: returns pairs of operands, with a leading dimension for each axis, and parameters.
      fixed: the positions of operands that are the same for all examples of a batch.
    """

    axes: Mapping[str, int]
    pairs: Callable[[], Iterable[tuple[Sequence[Any], dict[str, Any]]]]
    fixed: tuple[int, ...] = ()


def samples(
    *domains: Domain,
    params: tuple[dict[str, Any], ...] = ({},),
    fixed: tuple[int, ...] = (),
    order: int = 2,
    specials: bool | None = None,
) -> Samples:
    """``Samples`` of operands from these domains."""
    return Samples(domains, params, fixed, order, specials)


# The examples of a primitive: ``Samples``; or a function without arguments that gives pairs of
# operands and parameters; or a sequence of ``OverAxes``.
type Pairs = Callable[[], Iterable[tuple[Sequence[Any], dict[str, Any]]]]
type ExampleRule = Samples | Pairs | Sequence[OverAxes]

example_rules: dict[str, ExampleRule] = {
    **{
        name: [OverAxes(axes, pairs, fixed) for axes, pairs in rows]
        for name, (rows, fixed) in collective_pairs.items()
    },
    **dict.fromkeys(
        (
            *("abs", "asinh", "atan", "cbrt", "ceil", "clz", "copy", "cos", "cosh", "erf", "erfc"),
            *("exp", "exp2", "expm1", "floor", "imag", "is_finite", "logistic", "neg", "not"),
            *("population_count", "real", "sign", "sin", "sinh", "square", "tanh"),
        ),
        samples(ANY),
    ),
    **dict.fromkeys(
        (
            *("add", "div", "eq", "eq_to", "ge", "gt", "le", "le_to", "lt", "lt_to", "max", "min"),
            *("mul", "ne", "sub"),
        ),
        samples(ANY, ANY, specials=True),
    ),
    **dict.fromkeys(
        (
            *("and", "atan2", "complex", "mulhi", "nextafter", "or", "rem", "shift_left"),
            *("shift_right_arithmetic", "shift_right_logical", "xor"),
        ),
        samples(ANY, ANY),
    ),
    **dict.fromkeys(("acos", "asin", "atanh", "tan"), samples(UNIT)),
    **dict.fromkeys(("bessel_i0e", "bessel_i1e"), samples(ANY, specials=False)),
    **dict.fromkeys(("digamma", "lgamma"), samples(POSITIVE, specials=False)),
    **dict.fromkeys(("erf_inv", "one_minus_square"), samples(UNIT, specials=False)),
    **dict.fromkeys(("igamma", "igammac"), samples(POSITIVE, ABOVE_ONE, order=1)),
    **dict.fromkeys(("igamma_grad_a", "random_gamma_grad"), samples(POSITIVE, ABOVE_ONE)),
    **dict.fromkeys(("log", "log1p", "log2", "rsqrt", "sqrt"), samples(POSITIVE)),
    "acosh": samples(ABOVE_ONE),
    "clamp": samples(ANY, ANY, ANY),
    "polynomial": samples(ANY, ANY, ANY, ANY),
    "polygamma": samples(WHOLE, POSITIVE, fixed=(0,)),
    "pow": samples(POSITIVE, ANY),
    "regularized_incomplete_beta": samples(POSITIVE, ABOVE_ONE, FRACTION, fixed=(0, 1)),
    "xla_metadata_value": samples(ANY, params=({"xla_metadata_kvs": (("name", "value"),)},)),
    "zeta": samples(ABOVE_ONE, POSITIVE),
}

# The primitives that the laws are not checked on, with the reasons.
without_examples: dict[str, str] = {
    "call_hi_primitive": "its parameter is a class of the user's, which defines the operation",
    "call_hi_primitive_lin": "it stands in the derivative of call_hi_primitive alone",
    **dict.fromkeys(
        ("addupdate", "empty_ref", "free_ref", "freeze", "get", "new_ref", "swap"),
        "references are not arrays; other laws apply to them",
    ),
    **dict.fromkeys(("check", "debug_callback", "debug_print"), "it has no results"),
    **dict.fromkeys(
        ("compute_on", "xla_metadata_call"),
        "it runs its jaxpr, whose operations have laws themselves",
    ),
    **dict.fromkeys(
        ("custom_jvp_open_call", "custom_vjp_open_call"), "an eager call is never part of a jaxpr"
    ),
    **dict.fromkeys(
        ("precv", "psend"), "sending and receiving are one transfer only together, on GPUs"
    ),
    **dict.fromkeys(
        (
            *("preduced", "psum_invariant", "pvary", "reduced_vary_cast_p", "unreduced_psum"),
            "vary_unreduced_cast_p",
        ),
        "it is for types of shard_map, which the laws do not have",
    ),
    **dict.fromkeys(
        ("degenerate_quotient", "rotation"),
        "it is part of the derivatives of eigh, svd and eig, which the laws check",
    ),
    "after_all": "its operands are tokens, which hold no values",
    "axis_index": "it has no operands, and has another value in each member",
    "create_token": "its result is a token, which holds no value",
    "custom_lin": "it represents a tangent computation on a tape, and is only transposed",
    "dim_as_value": "a dimension has a value only in a program with symbolic shapes",
    "ffi_call": "what it computes is registered with the compiler by its users",
    "io_callback": "its results are not a function of its operands",
    "pure_callback": "the types of its results are parameters, and do not follow its operands'",
    "reshard": "it moves a value between the devices of a mesh",
    "rng_bit_generator": "all examples of a batch draw from one key, so that vmap is not the loop",
    "rng_uniform": "it computes different numbers with every call",
}

# Exemptions shared by several primitives.
_discrete: tuple[Topic, ...] = ("bool", "int", "uint")
_no_order: dict[Topic, str] = {"complex derivatives": "complex numbers have no order"}
_along_an_axis: dict[Topic, str] = {"scalars": "it works along an axis, which a scalar lacks"}
_of_matrices: dict[Topic, str] = {"scalars": "it takes matrices, or rows of them"}
_of_windows: dict[Topic, str] = {
    "scalars": "it takes arrays that have dimensions to slide windows along"
}
_up_to_phase: dict[Topic, str] = {
    "phase": "vectors are unique up to their sign or phase, which compilers choose differently"
}
_without_operands: dict[Topic, str] = {
    "empty": "it has no operands",
    "scalars": "it has no operands, and its results have the shape it is told",
}

_no_complex_order = "complex numbers have no order: accepted, but refused when lowered, as by JAX"
_pads_with_infinity = "it pads with infinity, which no integer is, here or in JAX"

# The topics that the laws of a primitive leave out, with the reasons.
exempt_rules: dict[str, Mapping[Topic, str]] = {
    **dict.fromkeys(
        (
            *("all_to_all", "approx_top_k", "argmax", "argmin", "concatenate", "cumprod", "cumsum"),
            *(
                "fft",
                "ragged_all_to_all",
                "reduce_scatter",
                "resample",
                "rows",
                "scan",
                "sort",
                "split",
            ),
            *("top_k", "unreduced_reduce_scatter", "unstack"),
        ),
        _along_an_axis,
    ),
    **dict.fromkeys(
        (
            *("cholesky", "cholesky_update", "geqrf", "householder_product", "lu"),
            *("lu_pivots_to_permutation", "qr", "ragged_dot_general", "symmetric_product"),
            *("triangular_solve", "tridiagonal_solve"),
        ),
        _of_matrices,
    ),
    **dict.fromkeys(
        ("eig", "eigh", "hessenberg", "schur", "tridiagonal"), {**_of_matrices, **_up_to_phase}
    ),
    **dict.fromkeys(("clamp", "max", "min"), _no_order),
    **dict.fromkeys(("conv_general_dilated", "reduce_window", "reduce_window_sum"), _of_windows),
    **dict.fromkeys(("cummax", "cummin"), {**_along_an_axis, **_no_order}),
    **dict.fromkeys(("empty", "iota", "platform_index"), _without_operands),
    **dict.fromkeys(
        ("reduce_max", "reduce_min"),
        {"empty derivatives": "no element is the extreme of an empty array"},
    ),
    **dict.fromkeys(("reduce_window_max", "reduce_window_min"), {**_of_windows, **_no_order}),
    "composite": {"transpose": "an operation may be more than its decomposition"},
    "cumlogsumexp": {
        **_along_an_axis,
        "int": "integers have no exponential, here or in JAX",
        "uint": "integers have no exponential, here or in JAX",
    },
    "custom_vjp_call": {"transpose": "it is replaced by its own rules when it is linearized"},
    "geqp3": {
        **_of_matrices,
        "empty": "its LAPACK kernel divides by the size; qr does not apply it to empty matrices",
    },
    "host_check": {"scalars": "its errors are rows of numbers"},
    "ormqr": {
        **_of_matrices,
        "transpose": "only its derivative rule would need it, and it has none, as in JAX",
    },
    "scaled_dot": {
        **_of_matrices,
        **dict.fromkeys(
            _discrete,
            "sums of rounded products, rounded to integers, differ by one with their order",
        ),
    },
    "select_and_gather_add": {
        **_of_windows,
        "complex": _no_complex_order,
        "int": _pads_with_infinity,
        "uint": _pads_with_infinity,
    },
    "select_and_scatter": {
        **_of_windows,
        "transpose": "its derivative is not defined; select_and_scatter_add has one",
    },
    "select_and_scatter_add": {
        **_of_windows,
        "bool": "Booleans are not added here; JAX gives their disjunction",
        "complex": _no_complex_order,
    },
    "svd": {
        **_of_matrices,
        **_up_to_phase,
        "empty derivatives": "with full_matrices=True, no operand determines the vectors",
    },
    "tangent_map": dict.fromkeys(_discrete, "only inexact numbers have tangents"),
}
