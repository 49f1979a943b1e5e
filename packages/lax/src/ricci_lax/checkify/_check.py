"""``check``, ``debug_check`` and ``check_error``: checks in users' functions."""

import numpy as np

from ricci_ir import ArrayLike, PyTree, api_boundary, caller_source, get_aval
from ricci_lax.elementwise._comparison import bitwise_not
from ricci_pytree import argument_paths, tree_leaves

from ._error import Error, bind_check
from ._exceptions import FailedCheckError
from ._log import Log

__all__ = ["check", "check_error", "debug_check"]


@api_boundary
def check(
    pred: ArrayLike, msg: str, *fmt_args: PyTree, debug: bool = False, **fmt_kwargs: PyTree
) -> None:
    """Check that a condition is true, with a message for when it is not.

    In a function that ``checkify`` wraps, a failed check becomes part of the error that is
    returned. Outside of compiled functions, it raises. A function that is compiled without
    ``checkify`` cannot contain checks, except for debugging checks, which are left out.

    Args:
      pred: a boolean scalar.
      msg: a format string as for ``str.format``, formatted when the error is read.
      fmt_args, fmt_kwargs: the values to put in, pytrees of arrays.
      debug: whether to leave the check out of functions compiled without ``checkify``.

    Raises:
      TypeError: if ``pred`` is not a boolean scalar, ``msg`` not a string, or a value not an array.
      JaxRuntimeError: if the check fails outside of ``checkify``.

    Example:
      >>> import numpy as np
      >>> from ricci import lax
      >>> from ricci.experimental import checkify
      >>> def f(x):
      ...     checkify.check(lax.gt(x, np.float32(0)), "{x} is not positive", x=x)
      ...     return x
      >>> error, _ = checkify.checkify(f)(np.float32(-1.0))
      >>> error.get()
      '-1.0 is not positive (`check` failed)'
    """
    _check("check", pred, msg, fmt_args, fmt_kwargs, debug)


@api_boundary
def debug_check(pred: ArrayLike, msg: str, *fmt_args: PyTree, **fmt_kwargs: PyTree) -> None:
    """A ``check`` that is left out of functions compiled without ``checkify``.

    Args:
      pred, msg, fmt_args, fmt_kwargs: as for ``check``.

    Raises:
      TypeError: as for ``check``.

    Example:
      >>> from ricci.experimental import checkify
      >>> checkify.debug_check(False, "not seen")
    """
    _check("debug_check", pred, msg, fmt_args, fmt_kwargs, True)


def _check(what: str, pred: ArrayLike, msg: object, args: tuple, kwargs: dict, debug: bool) -> None:
    try:
        aval = get_aval(pred)
    except TypeError:
        aval = None
    if aval is None or aval.shape or aval.dtype != np.bool_:
        got = f"{pred!r:.60} of type {type(pred).__name__}" if aval is None else aval.str_short()
        raise TypeError(
            f"{what}: pred must be a boolean scalar, got {got}. Compare, and reduce with .all() "
            "or .any()."
        )
    if not isinstance(msg, str):
        raise TypeError(f"{what}: msg must be a format string, got {type(msg).__name__}.")
    for i, leaf in enumerate(tree_leaves((args, kwargs))):
        if isinstance(leaf, bool | int | float | complex) or not _is_array(leaf):
            name = argument_paths(args, kwargs, None)[i]
            raise TypeError(
                f"{what}: the values for the message must be arrays, but {name} is {leaf!r:.60}, "
                f"of type {type(leaf).__name__}. Format static values into the message "
                "itself."
            )
    log = Log(frozenset({FailedCheckError}), caller_source(2))
    failed = np.bool_(not pred) if isinstance(pred, bool | np.bool_) else bitwise_not(pred)
    log.report(FailedCheckError, failed, (msg,), (args, kwargs))
    bind_check(log.error(), debug)


def _is_array(leaf: object) -> bool:
    try:
        get_aval(leaf)
    except TypeError:
        return False
    return True


@api_boundary
def check_error(error: Error) -> None:
    """Raise the error in an ``Error``, if any.

    In a function that ``checkify`` wraps, the error becomes part of that function's error.

    Args:
      error: the first result of a function made by ``checkify``.

    Raises:
      TypeError: if it is not an ``Error``.
      JaxRuntimeError: if it has an error, outside of ``checkify``.

    Example:
      >>> from ricci.experimental import checkify
      >>> checkify.check_error(checkify.init_error)
    """
    if not isinstance(error, Error):
        raise TypeError(
            f"check_error: error must be an Error, the first result of a function made by "
            f"checkify, got {type(error).__name__}."
        )
    bind_check(error)
