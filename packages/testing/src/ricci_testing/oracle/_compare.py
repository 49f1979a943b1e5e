"""Comparison of a piece of source text evaluated by Ricci and by the oracle."""

import difflib
import importlib
import importlib.util
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from ._client import Leaf, Oracle, Request, Result, evaluate_with, shared_oracle

# One for all dtypes, or by the names of dtypes.
type Tolerance = Mapping[str, float] | float | None

# About a hundred roundings of each dtype; the error of a wrong formula is far larger.
RTOL: Mapping[str, float] = MappingProxyType(
    {
        "float64": 1e-13,
        "complex128": 1e-13,
        "float32": 1e-5,
        "complex64": 1e-5,
        "float16": 5e-3,
        "bfloat16": 3e-2,
    }
)
_NARROW_FLOAT_RTOL = 0.25

# Ricci's modules for the names in a compared text; the first one installed is used.
_NAMES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "jax": ("ricci",),
        "jnp": ("ricci.numpy", "ricci_numpy"),
        "lax": ("ricci.lax", "ricci_lax"),
        "np": ("numpy",),
        "random": ("ricci.random", "ricci_random"),
    }
)


def ricci_namespace() -> dict[str, Any]:
    """The modules of Ricci for the names `jax`, `jnp`, `lax`, `np`, `random`, if installed.

    Example:
      >>> from ricci_testing import ricci_namespace
      >>> sorted(ricci_namespace())
      ['jax', 'jnp', 'lax', 'np', 'random']
    """
    namespace: dict[str, Any] = {}
    for name, candidates in _NAMES.items():
        module_name = next((module for module in candidates if _installed(module)), None)
        if module_name is not None:
            namespace[name] = importlib.import_module(module_name)
    return namespace


def compare(
    ours: Result,
    theirs: Result,
    *,
    source: str = "",
    rtol: Tolerance = None,
    atol: float | None = None,
) -> None:
    """Compare two results leaf by leaf: paths, dtypes, shapes, weak types, values; or errors.

    Args:
        ours: the result that is tested.
        theirs: the result that it must equal.
        source: the evaluated text, for the message.
        rtol: the relative error allowed, one for all or by dtype name; `RTOL` by default.
            Integers, Booleans and keys are compared exactly.
        atol: the absolute error allowed; by default `rtol` times the largest finite
            magnitude of the expected leaf.

    Raises:
        AssertionError: they differ; the message names the text, the leaf and both values.

    Example:
        >>> from ricci_testing import compare, evaluate_with
        >>> compare(evaluate_with({}, "1 + 1", {}), evaluate_with({}, "2", {}))
    """
    _compare_errors(ours, theirs, source)
    if [leaf.path for leaf in ours.leaves] != [leaf.path for leaf in theirs.leaves]:
        raise _difference(source, "", "leaves", _paths(ours), _paths(theirs))
    for our, their in zip(ours.leaves, theirs.leaves, strict=True):
        for what in ("kind", "dtype", "shape", "weak_type"):
            if getattr(our, what) != getattr(their, what):
                raise _difference(source, our.path, what, _type(our), _type(their))
        _compare_values(our, their, source, rtol, atol)


def assert_same(
    source: str,
    /,
    *,
    config: Mapping[str, Any] | None = None,
    rtol: Tolerance = None,
    atol: float | None = None,
    namespace: Mapping[str, Any] | None = None,
    oracle: Oracle | None = None,
    **inputs: Any,
) -> None:
    """Assert that `source` evaluates to the same with Ricci and with the oracle.

    Values, dtypes, weak types and shapes are compared; of errors, the class. The arguments are
    those of `evaluate_with` and `compare`, so inputs cannot have the names of those.

    Args:
      source: an expression, or statements that end in one.
      config, rtol, atol, namespace: as for ``evaluate_with`` and ``compare``.
      oracle: the oracle; by default ``shared_oracle()``.
      inputs: values by name.

    Raises:
        AssertionError: the two differ.
        OracleError: the oracle is missing, crashed or timed out.

    Example:
        >>> from ricci_testing import assert_same
        >>> assert_same("jnp.arange(n) * 2", n=3)  # doctest: +SKIP
    """
    request = Request(source, inputs, config)
    theirs = (oracle or shared_oracle()).run_many([request])[0]
    ours = evaluate_with(_or_ricci(namespace), source, inputs, config=config)
    compare(ours, theirs, source=source, rtol=rtol, atol=atol)


def assert_same_jaxpr(
    source: str,
    /,
    *,
    config: Mapping[str, Any] | None = None,
    namespace: Mapping[str, Any] | None = None,
    oracle: Oracle | None = None,
    **inputs: Any,
) -> None:
    """Assert that the function that `source` evaluates to has the same printed jaxpr on both sides.

    It is traced for the inputs in the order given.

    Args:
      source: an expression of a function.
      config, namespace: as for ``evaluate_with``.
      oracle: the oracle; by default ``shared_oracle()``.
      inputs: the function's arguments, in order.

    Raises:
        AssertionError: the texts differ; the message holds their difference, line by line.
        OracleError: the oracle is missing, crashed or timed out.

    Example:
        >>> from ricci_testing import assert_same_jaxpr
        >>> assert_same_jaxpr("lambda x: lax.sin(x)", x=1.0)  # doctest: +SKIP
    """
    request = Request(source, inputs, config, "jaxpr")
    theirs = (oracle or shared_oracle()).run_many([request])[0]
    ours = evaluate_with(_or_ricci(namespace), source, inputs, config=config, finish="jaxpr")
    _compare_errors(ours, theirs, source)
    if theirs.error is None and ours.value != theirs.value:
        lines = difflib.unified_diff(
            theirs.value.splitlines(), ours.value.splitlines(), "theirs", "ours", lineterm="", n=1
        )
        raise AssertionError("\n".join([f"printed jaxprs differ for: {source}", *lines]))


def _installed(module: str) -> bool:
    package = module.partition(".")[0]
    if importlib.util.find_spec(package) is None:
        return False
    return importlib.util.find_spec(module) is not None


def _or_ricci(namespace: Mapping[str, Any] | None) -> Mapping[str, Any]:
    return ricci_namespace() if namespace is None else namespace


def _compare_errors(ours: Result, theirs: Result, source: str) -> None:
    our, their = ours.error, theirs.error
    if (our and our.name) != (their and their.name):
        our_outcome = f"{our.name}: {our.message}" if our else f"a value: {_paths(ours)}"
        their_outcome = f"{their.name}: {their.message}" if their else f"a value: {_paths(theirs)}"
        raise _difference(source, "", "outcome", our_outcome[:1000], their_outcome[:1000])


def _compare_values(
    ours: Leaf, theirs: Leaf, source: str, rtol: Tolerance, atol: float | None
) -> None:
    if ours.kind == "text":
        if ours.value != theirs.value:
            raise _difference(source, ours.path, "text", ours.value, theirs.value)
        return
    actual, expected = np.asarray(ours.value), np.asarray(theirs.value)
    if expected.dtype.kind == "V":
        return  # float0 holds no values
    relative = _tolerance(ours, expected.dtype, rtol)
    if relative is None:
        wrong = actual != expected
        error = ""
    else:
        wide = np.complex128 if actual.dtype.kind == "c" else np.float64
        actual, expected = actual.astype(wide), expected.astype(wide)
        wrong, error = _mark_differences(actual, expected, relative, atol)
    if np.any(wrong):
        first = tuple(int(axis[0]) for axis in np.nonzero(np.atleast_1d(wrong)))
        what = f"{int(np.sum(wrong))} of {actual.size} values, the first at {first}{error}"
        raise _difference(
            source,
            ours.path,
            what,
            f"{_type(ours)} {np.atleast_1d(actual)[first]!r}",
            f"{_type(theirs)} {np.atleast_1d(expected)[first]!r}",
        )


def _mark_differences(
    actual: np.ndarray, expected: np.ndarray, rtol: float, atol: float | None
) -> tuple[np.ndarray, str]:
    """Mark the values that differ too much; infinities and NaNs must be at the same positions."""
    finite = np.isfinite(expected)
    magnitude = float(np.max(np.abs(expected), where=finite, initial=0.0))
    allowed = rtol * np.abs(expected) + (rtol * magnitude if atol is None else atol)
    with np.errstate(invalid="ignore"):
        gap = np.abs(actual - expected)
        same = (actual == expected) | (np.isnan(actual) & np.isnan(expected))
        wrong = ~same & ~(finite & (gap <= allowed))
    largest = float(np.max(gap, where=finite & np.isfinite(gap), initial=0.0))
    scale = f", {largest / magnitude:.3g} of the largest value" if magnitude else ""
    return wrong, f"; largest error {largest:.3g}{scale}, rtol {rtol:.3g}"


def _tolerance(leaf: Leaf, dtype: np.dtype, rtol: Tolerance) -> float | None:
    """The relative error allowed; None for types that are compared exactly."""
    name = {"float": "float64", "complex": "complex128"}.get(leaf.dtype, leaf.dtype)
    if name.startswith(("key<", "int", "uint", "bool")) or dtype.kind in "iub":
        return None
    if isinstance(rtol, int | float):
        return float(rtol)
    table = RTOL if rtol is None else {**RTOL, **rtol}
    return table.get(name, _NARROW_FLOAT_RTOL)


def _difference(source: str, path: str, what: str, actual: str, expected: str) -> AssertionError:
    position = f"at result{path}\n" if path else ""
    text = f"for: {source}\n" if source else ""
    verb = "differ" if " " in what else "differs"
    return AssertionError(f"{what} {verb}\n{text}{position}ours:   {actual}\ntheirs: {expected}")


def _type(leaf: Leaf) -> str:
    shape = ",".join(map(str, leaf.shape))
    weak = ", weak type" if leaf.weak_type else ""
    return f"{leaf.kind} {leaf.dtype}[{shape}]{weak}"


def _paths(result: Result) -> str:
    return ", ".join(f"result{leaf.path}: {_type(leaf)}" for leaf in result.leaves)
