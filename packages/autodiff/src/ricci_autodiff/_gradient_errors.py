"""The errors of ``grad``, with the paths of arguments and remedies. Imported by the first one."""

from collections.abc import Callable
from typing import Any

import numpy as np

import ricci_ir as ir
from ricci_pytree import argument_paths, tree_flatten

type Call = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]


def position_error(position: int, count: int, fun: Callable[..., Any]) -> Exception:
    """The error for an argument that is not among those given by position."""
    # These are the classes that JAX raises.
    return (TypeError if position >= 0 else ValueError)(
        f"argnums={position} is out of bounds: {_name(fun)} was called with {count} positional "
        "arguments. Pass the argument by position; arguments passed by keyword are not "
        "differentiated."
    )


def input_error(
    leaves: list[Any], number: int, call: Call, indices: list[int], holomorphic: bool
) -> TypeError:
    """The error for a leaf that ``grad`` does not take.

    Args:
      leaves: the leaves of the differentiated arguments.
      number: the leaf's position among them.
      call: the function, and its arguments by position and by name.
      indices: the positions of the differentiated arguments.
      holomorphic: whether the leaves must be complex.
    """
    path = _path(number, call, indices)
    leaf: ir.ArrayLike = leaves[number]
    try:
        dtype = ir.get_aval(leaf).dtype
    except TypeError as error:
        return TypeError(f"grad: argument {path}: {error}")
    if ir.is_reference(leaf):
        return TypeError(
            f"grad cannot differentiate with respect to argument {path}, a reference. Use vjp, "
            "and give a reference for its gradient: f_vjp.with_refs(new_ref(zeros))(ct)."
        )
    if holomorphic:
        return TypeError(
            f"grad: argument {path} has dtype {dtype}, but holomorphic=True requires "
            "complex inputs. Convert it to a complex dtype, or drop holomorphic=True."
        )
    return TypeError(
        ir.explained(
            "grad requires real or complex inputs (floating-point dtypes, no integers), but "
            f"argument {path} has dtype {dtype}. Pass a float (for example 3.0 instead of 3), "
            "choose other argnums, or use allow_int=True.",
            "derivatives",
        )
    )


def _path(number: int, call: Call, indices: list[int]) -> str:
    fun, args, kwargs = call
    names = [argument_paths((args[p],), {}, None) for p in indices]
    full = argument_paths(args, {}, fun)
    # A leaf's path among those of all arguments follows from the number of leaves ahead of it.
    starts = [sum(len(tree_flatten(a)[0]) for a in args[:p]) for p in indices]
    flat = [full[s + i] for s, group in zip(starts, names, strict=True) for i in range(len(group))]
    return flat[number]


def pair_error(out: object, fun: Callable[..., Any]) -> TypeError:
    """The error for a result that is not a pair, with ``has_aux``."""
    length = f" of length {len(out)}" if isinstance(out, tuple | list) else ""
    return TypeError(
        f"with has_aux=True, {_name(fun)} must return a pair (output, aux), but it returned "
        f"{type(out).__name__}{length}."
    )


def tree_error(tree: object, fun: Callable[..., Any], has_aux: bool) -> TypeError:
    """The error for a result of another structure than a single leaf."""
    return TypeError(
        f"grad requires a scalar-output function, but {_name(fun)} returned the tree {tree}."
        + ("" if has_aux else " To return more than the scalar, pass has_aux=True.")
    )


def output_error(value: object, fun: Callable[..., Any]) -> TypeError:
    """The error for a result of a class without a type."""
    return TypeError(
        f"grad requires a scalar-output function, but {_name(fun)} returned "
        f"{ir.described_value(value)}."
    )


def output_type_error(
    aval: ir.ShapedArray, fun: Callable[..., Any], holomorphic: bool
) -> TypeError:
    """The error for a result that is not a scalar, or not of the dtypes of a loss."""
    name = _name(fun)
    if aval.is_high:
        return TypeError(f"grad requires a scalar-output function, but {name} returned {aval}.")
    if aval.shape != ():
        return TypeError(
            ir.explained(
                f"grad requires a scalar-output function, but {name} returned an array of "
                f"shape {aval.shape}. Reduce it (mean or sum), or use jacrev or vmap(grad(...)) "
                "for several outputs.",
                "derivatives",
            )
        )
    if holomorphic:
        return TypeError(
            f"grad with holomorphic=True requires complex outputs, but {name} returned dtype "
            f"{aval.dtype}. Drop holomorphic=True for a real result."
        )
    if ir.issubdtype(aval.dtype, np.complexfloating):
        return TypeError(
            f"grad requires real-valued outputs, but {name} returned dtype {aval.dtype}. "
            "Take the real part or the absolute value, or use holomorphic=True for a holomorphic "
            "function."
        )
    return TypeError(
        f"grad requires real-valued, floating-point outputs, but {name} returned dtype "
        f"{aval.dtype}. Convert the result to float, or use vjp for integer outputs."
    )


def _name(fun: Callable[..., Any]) -> str:
    return getattr(fun, "__name__", None) or repr(fun)
