"""Make the module of a distribution from a row: its parameters, its support and its formulas.

A formula is a function of the standardized variable and the shape parameters. Functions without a
formula are derived from others: ``pdf`` from ``logpdf``, ``sf`` from ``cdf``, ...
"""

import builtins
import math
import sys
from collections.abc import Callable, Mapping
from inspect import Parameter, Signature
from types import MappingProxyType, ModuleType
from typing import NamedTuple

import numpy as np

import ricci_lax as lax
import ricci_numpy as jnp
from ricci_ir import Array
from ricci_scipy.special._elementwise import elementwise

Formula = Callable[..., Array]
# The ends of a range: numbers, or functions of the shape parameters.
Support = tuple[float | Formula, float | Formula]

_LINE: Support = (-np.inf, np.inf)

_SUMMARIES = {
    "logpdf": "The logarithm of the density of the {}.",
    "pdf": "The density of the {}.",
    "logpmf": "The logarithm of the probabilities of the {}.",
    "pmf": "The probabilities of the {}.",
    "cdf": "The distribution function of the {}.",
    "logcdf": "The logarithm of the distribution function of the {}.",
    "sf": "The survival function, 1 - cdf, of the {}.",
    "logsf": "The logarithm of the survival function of the {}.",
    "ppf": "The quantiles of the {}: the inverse of its distribution function.",
    "isf": "The inverse of the survival function of the {}.",
    "entropy": "The entropy of the {}, in nats.",
}
# Values below and above the support.
_OUTSIDE = {
    "logpdf": (-np.inf, -np.inf),
    "logpmf": (-np.inf, -np.inf),
    "cdf": (0.0, 1.0),
    "logcdf": (-np.inf, 0.0),
    "sf": (1.0, 0.0),
    "logsf": (0.0, -np.inf),
}
_DERIVED: dict[str, tuple[str, Formula]] = {
    "pdf": ("logpdf", jnp.exp),
    "pmf": ("logpmf", jnp.exp),
    "logcdf": ("cdf", jnp.log),
    "sf": ("cdf", lambda p: 1 - p),
    "logsf": ("sf", jnp.log),
}
_QUANTILES = ("ppf", "isf")
_VARIABLES = {"ppf": "q", "isf": "q", "logpmf": "k", "pmf": "k"}
_ARGUMENTS = {
    "x": "where to evaluate it",
    "k": "counts",
    "q": "probabilities",
    "p": "probabilities",
    "loc": "the location, which is added to the variable, by default 0",
    "scale": "the scale, by which it is multiplied first, by default 1",
}
_SHAPE = ", of the shape that the arguments broadcast to"
_NOTES = {
    "pdf": ("", "Products of densities leave the range of floats soon; sums of ``logpdf`` do not."),
    "cdf": ("", "Near 1 digits are lost, which ``sf`` keeps."),
    "logcdf": ("", "The logarithm of ``cdf`` is -inf where that rounds to 0."),
}


class Example(NamedTuple):
    """A point at which the examples in a distribution's documentation evaluate its functions.

    Attributes:
      arguments: the arguments of the functions of a point of the support.
      density: the density or probability there; its logarithm is derived from it.
      probability: the distribution function there; the survival function and the logarithms are
        derived from it.
      others: by the names of the other functions, their arguments and values. The inverse of the
        survival function, where it is not among them, is that of a symmetric distribution.
    """

    arguments: str
    density: float
    probability: float = math.nan
    others: Mapping[str, tuple[str, float]] = MappingProxyType({})

    def of(self, function: str) -> tuple[str, float]:
        """Return the arguments of a function's example, and its value to 4 digits."""
        if function in self.others:
            return self.others[function]
        if function == "isf":
            arguments, value = self.others["ppf"]
            return arguments, -value
        is_density = function.removeprefix("log") in ("pdf", "pmf")
        value = self.density if is_density else self.probability
        if function.endswith("sf"):
            value = 1 - value
        return self.arguments, builtins.round(
            math.log(value) if function.startswith("log") else value, 4
        )


def distribution(
    name: str,
    title: str,
    functions: str,
    example: Example,
    *,
    shapes: Mapping[str, str] | None = None,
    support: Support = _LINE,
    located: str = "loc scale",
    bare: str = "",
    variables: Mapping[str, str] | None = None,
    valid: Formula | None = None,
    complexes: str = "",
    weak: str = "",
    default: str = "",
    source: str,
    **formulas: Formula,
) -> ModuleType:
    """Make the module of a distribution from its row, and enter it in ``sys.modules``.

    Args:
      name: of the module.
      title: the name of the distribution in prose.
      functions: the names of the module's functions.
      example: the values of the functions that their documentation shows.
      shapes: the shape parameters, with their descriptions.
      support: the ends of the standardized variable's range, or functions of the shape parameters.
      located: which of ``loc`` and ``scale`` the functions have.
      bare: the functions that have neither of them.
      variables: the name of a function's first parameter, where it is not ``x``, ``k`` or ``q``.
      valid: whether shape parameters are in their domain; results are NaN elsewhere.
      complexes: the functions that take complex numbers, too.
      weak: the functions whose results are weakly typed wherever the operands' dtype is; those of
        the others are where they have no axes.
      default: the functions whose results are of the default float dtype, whatever the operands
        are: float64, where that is enabled.
      source: where the distribution is described.
      formulas: by the function's name.
    """
    shapes = shapes or {}
    module_functions: dict[str, Formula] = {}
    for function in functions.split():
        places = "" if function in bare.split() else located
        row = (support, len(shapes), places.split(), formulas)
        first = (variables or {}).get(function, _VARIABLES.get(function, "x"))
        derived = _function(function, *row)
        if function in default.split():
            derived = _of_default_dtype(derived)
        if valid is not None:
            derived = _in_domain(derived, valid, slice(bool(first), bool(first) + len(shapes)))
        derived = _with_signature(derived, function, first, shapes, places)
        holds, vectors = function in complexes.split(), function in weak.split()
        derived = elementwise(complexes=holds, weak=True, vectors=vectors)(derived)
        summary = _SUMMARIES[function].format(title)
        names = list(derived.__signature__.parameters)  # type: ignore[attr-defined]
        derived.__doc__ = _documentation(summary, name, function, names, shapes, example, source)
        module_functions[function] = derived
    return module_of(name, title, **module_functions)


def module_of(name: str, title: str, **functions: Formula) -> ModuleType:
    """Make the module of a distribution from its functions, and enter it in ``sys.modules``."""
    module = ModuleType(f"{__package__}.{name}", f"The {title}.")
    for key, function in functions.items():
        function.__name__ = function.__qualname__ = key
        function.__module__ = module.__name__
    vars(module).update(functions, __all__=list(functions))
    # Pickle looks a function up in the module that it names, which no file defines.
    sys.modules[module.__name__] = module
    return module


def _with_signature(
    formula: Formula, name: str, first: str, shapes: Mapping[str, str], located: str
) -> Formula:
    kind = Parameter.POSITIONAL_OR_KEYWORD
    defaults = {"loc": 0, "scale": 1}
    parameters = [Parameter(p, kind) for p in (*((first,) if first else ()), *shapes)]
    parameters += [Parameter(p, kind, default=defaults[p]) for p in located.split()]
    formula.__name__ = formula.__qualname__ = name
    formula.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    return formula


def _documentation(
    summary: str,
    name: str,
    function: str,
    names: list[str],
    shapes: Mapping[str, str],
    example: Example,
    source: str,
) -> str:
    arguments, result = example.of(function)
    lines = [f"  {n}: {shapes.get(n) or _ARGUMENTS[n]}." for n in names]
    return "\n".join(
        [
            summary,
            "",
            "Args:",
            *lines,
            "",
            "Returns:",
            f"  An array of floats{_SHAPE if names else ''}.",
            *_NOTES.get(function, ()),
            "",
            "Example:",
            f"  >>> from ricci.scipy.stats import {name}",
            f"  >>> round(float({name}.{function}({arguments})), 4)",
            f"  {result}",
            "",
            f"Source: {source}.",
        ]
    )


def _function(
    name: str, support: Support, count: int, located: list[str], formulas: Mapping[str, Formula]
) -> Formula:
    """The function called ``name``, which takes all shape and location parameters by position."""
    if name == "entropy":
        return lambda *args: formulas["entropy"](*args[:count])
    if name not in formulas:
        base, change = _DERIVED[name]
        inner = _function(base, support, count, located, formulas)
        return lambda *args: change(inner(*args))
    formula = formulas[name]

    def function(x: Array, *rest: Array) -> Array:
        shapes, place = rest[:count], dict(zip(located, rest[count:], strict=True))
        if name in _QUANTILES:
            value = _quantile(formula, support, x, shapes)
            value = value * place["scale"] if "scale" in place else value
            return value + place["loc"] if "loc" in place else value
        # The density of loc + scale * z is that of z divided by the scale; distribution functions
        # do not change, and quantiles are mapped back.
        z = x - place["loc"] if "loc" in place else x
        z = z / place["scale"] if "scale" in place else z
        value = _inside(name, formula, support, z, shapes)
        if name == "logpdf" and "scale" in place:
            value = value - jnp.log(place["scale"])
        return value

    return function


def _of_default_dtype(function: Formula) -> Formula:
    return lambda *args: function(*args).astype(float)


def _in_domain(function: Formula, valid: Formula, shapes: slice) -> Formula:
    """The function, and NaN where the shape parameters are out of their domain."""
    return lambda *args: jnp.where(valid(*args[shapes]), function(*args), np.nan)


def _quantile(formula: Formula, support: Support, q: Array, shapes: tuple[Array, ...]) -> Array:
    if jnp.iscomplexobj(q) and support == _LINE:  # on a half-line, NaN as for real numbers
        return formula(q, *shapes)
    valid = (q >= 0) & (q <= 1)
    return jnp.where(valid, formula(jnp.where(valid, q, 0.5), *shapes), np.nan)


def _inside(
    name: str, formula: Formula, support: Support, z: Array, shapes: tuple[Array, ...]
) -> Array:
    """The formula within the support and constants outside, where gradients are 0."""
    low, high = (end(*shapes) if callable(end) else end for end in support)
    below, above = z < low, z > high
    left, right = _OUTSIDE[name]
    outside = below | above
    if name == "logpmf":
        outside = outside | (jnp.floor(z) != z) & ~jnp.isnan(z)
    elif support == _LINE:
        return formula(z, *shapes)
    # Outside, the formula is evaluated at a point inside, so that its derivative is finite.
    # It lies at most 1 from an end, in the middle of a narrower support, and within one that is
    # infinite on either side.
    inner = jnp.where(low == -np.inf, high - 1.0, low + 0.5 * jnp.minimum(high - low, 2.0))
    value = formula(jnp.where(outside, lax.stop_gradient(inner), z), *shapes)
    return jnp.where(above, right, jnp.where(outside, left, value))
