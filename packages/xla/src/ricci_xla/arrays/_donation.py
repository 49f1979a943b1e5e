"""Errors about donated arguments: arrays that are used after they were donated, or passed twice."""

import re
import weakref
from collections.abc import Iterator, Sequence
from typing import Any

from ricci_ir import ShapedArray, explained

from ._array_impl import ArrayImpl

# The ``JitInfo`` of jitted functions that donate arguments.
donating: weakref.WeakSet[Any] = weakref.WeakSet()


def deleted_array(what: str, aval: ShapedArray) -> RuntimeError:
    """The error for an array that was deleted.

    C++ does not record which call an array was donated to. So the message names the functions that
    donate an argument of its type, and have been called with such.

    Args:
      what: the beginning of the message, which names the array.
      aval: its type.
    """
    takers = list(dict.fromkeys(_takers(aval)))
    if takers:
        donors = " and ".join(takers[:3])
        how = f"{donors} is donated" if len(takers) == 1 else f"{donors} are donated"
        cause = f"An array of this type that is passed as {how}: its memory is reused."
    else:
        cause = (
            "Its memory was freed by delete(), or it was donated to a call, whose result reuses it "
            "(donate_argnums, donate_argnames, device_put(donate=True))."
        )
    advice = "Use that call's result instead, or do not donate the array."
    return RuntimeError(explained(f"{what}.\n{cause}\n{advice}", "deleted-arrays"))


def _takers(aval: ShapedArray) -> Iterator[str]:
    """The donated arguments of a type, of all jitted functions."""
    # Copies of the collections, to which other threads may add.
    for info in list(donating):
        donated = info.arguments.donate_argnames
        for program in list(info.cache.entries.values()):
            avals = program.jaxpr.in_avals[len(program.consts) :] if program.jaxpr else ()
            for name, arg_aval in zip(program.arg_names, avals, strict=False):
                root = re.match(r"\w*", name)
                same = (arg_aval.shape, arg_aval.dtype) == (aval.shape, aval.dtype)
                if same and root is not None and root[0] in donated:
                    yield f"argument {name} of {program.name}"


def name_deleted(name: str, arg_names: Sequence[str], leaves: Sequence[object]) -> None:
    """Raise an error that names the deleted arrays among the arguments of a call, if there are any.

    Args:
      name: the function's name.
      arg_names: the names of the arguments' leaves, as far as they have names.
      leaves: the leaves.

    Raises:
      RuntimeError: if an argument was deleted, or donated to an earlier call.
    """
    gone = [
        f"argument {arg_names[i]} ({leaf.aval.str_short()})"
        if i < len(arg_names)
        else leaf.aval.str_short()
        for i, leaf in enumerate(leaves)
        if isinstance(leaf, ArrayImpl) and leaf.is_deleted()
    ]
    if gone:
        aval = next(x.aval for x in leaves if isinstance(x, ArrayImpl) and x.is_deleted())
        what = f"{name} was called with an array that was deleted: {', '.join(gone[:4])}"
        raise deleted_array(what, aval)


def name_repeated(
    name: str, arg_names: Sequence[str], leaves: Sequence[object], donated: Sequence[bool]
) -> None:
    """Raise an error if a donated array is also another argument of the same call.

    Raises:
      ValueError: if there is one; the error names both arguments.
    """
    first: dict[int, int] = {}
    for i, leaf in enumerate(leaves):
        if isinstance(leaf, ArrayImpl):
            j = first.setdefault(id(leaf), i)
            if j != i and (donated[i] or donated[j]):
                raise ValueError(
                    f"{name}: arguments {arg_names[j]} and {arg_names[i]} are one array "
                    f"({leaf.aval.str_short()}), which is donated and so cannot be passed twice. "
                    "Pass a copy as one of them."
                )
