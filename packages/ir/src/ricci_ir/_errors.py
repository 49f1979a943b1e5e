"""Errors of traced programs, and the tracebacks that users see of them."""

import sys
from collections.abc import Callable
from functools import wraps
from types import FrameType, FunctionType, TracebackType
from typing import Any

from ._config import traceback_filtering
from ._namespaces import export_names
from ._source import is_internal_module

__all__ = [
    "api_boundary",
    "boundary",
    "CallbackError",
    "ConcretizationTypeError",
    "guard_public",
    "hide_frames",
    "InconclusiveDimensionOperation",
    "is_boundary",
    "JAXIndexError",
    "JaxprTypeError",
    "JAXTypeError",
    "KeyReuseError",
    "leave",
    "NonConcreteBooleanIndexError",
    "ShardingTypeError",
    "TracerArrayConversionError",
    "TracerBoolConversionError",
    "TracerIntegerConversionError",
    "UnexpectedTracerError",
    "unguarded",
]


class JAXTypeError(TypeError):
    """A value of a traced program was used in a way its type does not allow."""

    def __init__(self, message: str):
        super().__init__(message)


class JAXIndexError(IndexError):
    """An array was indexed in a way that a traced program cannot express."""

    def __init__(self, message: str):
        super().__init__(message)


def _describe(tracer: object) -> str:
    aval = getattr(tracer, "aval", None)
    if aval is None:
        return str(tracer)
    return f"a traced array of type {aval.str_short()}"


def _message(what: str, tracer: object, *advice: str) -> str:
    """A message in at most a dozen lines: the problem, the value's origin, and advice."""
    origin = getattr(tracer, "_origin_message", str)().strip().splitlines()
    return "\n".join((what, *origin[: 10 - len(advice)], *advice))


class ConcretizationTypeError(JAXTypeError):
    """A concrete value was needed where only the type of a traced array is known.

    Args:
      tracer: the traced array.
      context: what needed the value.
    """

    def __init__(self, tracer: object, context: str = ""):
        what = (
            f"The concrete value of {_describe(tracer)} is needed, but a tracer has only a shape "
            "and a dtype: its value is not known while tracing."
        )
        super().__init__(
            _message(
                f"{what} {context}".rstrip(),
                tracer,
                "If the value is known before the call, make the argument static with "
                "static_argnums or static_argnames; else keep to operations on arrays.",
            )
        )


class TracerBoolConversionError(ConcretizationTypeError):
    """A traced array was used as a condition, as in ``if x > 0:``."""

    def __init__(self, tracer: object):
        JAXTypeError.__init__(
            self,
            _message(
                f"The truth of {_describe(tracer)} decides what runs next, but it is a tracer, "
                "whose concrete value is not known while tracing.",
                tracer,
                "To choose between values use jnp.where(condition, a, b); to choose what to "
                "compute use lax.cond, or lax.while_loop for a loop; for `and`, `or` and `not` "
                "use &, | and ~.",
                "If the value is known before the call, make the argument static with "
                "static_argnums or static_argnames.",
            ),
        )


class TracerArrayConversionError(JAXTypeError):
    """A traced array was passed to NumPy or to other code that wants its values."""

    def __init__(self, tracer: object):
        super().__init__(
            _message(
                f"Something asked for {_describe(tracer)} as a NumPy array, but it is a tracer, "
                "which has no concrete values.",
                tracer,
                "Use the function of jnp in place of the one of np. An np.ndarray that is indexed "
                "with a traced array becomes indexable with jnp.asarray(table)[i]. To call code "
                "that is not yours use pure_callback.",
            )
        )


class TracerIntegerConversionError(JAXTypeError):
    """A traced array was used where Python wants an int: an index, a size, ``range(n)``."""

    def __init__(self, tracer: object):
        super().__init__(
            _message(
                f"Python asked for {_describe(tracer)} as an integer, but it is a tracer, whose "
                "concrete value is not known while tracing.",
                tracer,
                "A list or an np.ndarray that is indexed with it becomes indexable with "
                "jnp.asarray(table)[i]; range(n) becomes lax.fori_loop.",
                "A size or an axis must be known before the call: make the argument static with "
                "static_argnums or static_argnames.",
            )
        )


class NonConcreteBooleanIndexError(JAXIndexError):
    """An array was indexed with a traced mask, so that the size of the result is unknown."""

    def __init__(self, tracer: object):
        super().__init__(
            _message(
                f"An array is indexed with a mask, {_describe(tracer)}, which is not concrete, so "
                "the size of the result depends on values that are not known while tracing.",
                tracer,
                "Keep the size: jnp.where(mask, x, fill) in place of x[mask], x.sum(where=mask) in "
                "place of x[mask].sum(), x.at[mask].set(y) in place of x[mask] = y.",
                "If the size is bounded, use jnp.nonzero(mask, size=n) as the index.",
            )
        )


class UnexpectedTracerError(JAXTypeError):
    """A traced array was used after the function it belongs to had been traced."""


class KeyReuseError(JAXTypeError):
    """A random key was used twice."""


class ShardingTypeError(Exception):
    """The types of operands leave open, or forbid, how a result is divided over a mesh."""


class CallbackError(RuntimeError):
    """A Python function that a program called raised an error, or returned a wrong type."""


class JaxprTypeError(TypeError):
    """A jaxpr is malformed: a variable is not bound, or a value has another type than declared."""


class InconclusiveDimensionOperation(Exception):
    """A question about symbolic dimensions has no answer that holds for all their values."""


def _is_internal(frame: FrameType) -> bool:
    return is_internal_module(frame.f_globals.get("__name__"))


def _user_frames(tb: TracebackType | None) -> TracebackType | None:
    frames = []
    while tb is not None:
        if not _is_internal(tb.tb_frame):
            frames.append(tb)
        tb = tb.tb_next
    kept = None
    for entry in reversed(frames):
        kept = TracebackType(kept, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return kept


def _mark_hidden(tb: TracebackType | None) -> None:
    while tb is not None:
        if _is_internal(tb.tb_frame):
            # IPython and pytest leave out frames that have this local variable.
            tb.tb_frame.f_locals["__tracebackhide__"] = True
        tb = tb.tb_next


def hide_frames(exc: BaseException) -> BaseException:
    """``exc`` with the internal frames left out of its traceback.

    The option ``jax_traceback_filtering`` says how: ``"off"`` leaves them, ``"tracebackhide"``
    only marks them for IPython and pytest, everything else removes them. A note says so, unless
    it is ``"quiet_remove_frames"``.
    """
    mode = traceback_filtering.value
    if mode == "tracebackhide":
        _mark_hidden(exc.__traceback__)
    elif mode != "off":
        whole = exc.__traceback__
        exc.__traceback__ = _user_frames(whole)
        quiet = mode == "quiet_remove_frames" or _note in getattr(exc, "__notes__", ())
        if not quiet and _length(whole) > _length(exc.__traceback__):
            exc.add_note(_note)
    return exc


_note = (
    "--------------------\n"
    "Ricci's own frames are left out of this traceback. To see them, set the option "
    "jax_traceback_filtering to 'off'."
)


def _length(tb: TracebackType | None) -> int:
    count = 0
    while tb is not None:
        count, tb = count + 1, tb.tb_next
    return count


def _name_function(exc: Exception, name: str) -> None:
    """Put a public function's name before a message that does not mention it.

    Only errors raised by Ricci's own code are changed; those of a user's callback are not.
    """
    if type(exc) not in _named or len(exc.args) != 1 or not isinstance(exc.args[0], str):
        return
    tb = exc.__traceback__
    while tb is not None and tb.tb_next is not None:
        tb = tb.tb_next
    if tb is not None and _is_internal(tb.tb_frame) and name not in exc.args[0]:
        exc.args = (f"{name}: {exc.args[0]}",)


_named = (TypeError, ValueError, NotImplementedError, RuntimeError, ZeroDivisionError)


def api_boundary[**P, R](fun: Callable[P, R], name: str = "") -> Callable[P, R]:
    """Wrap a public function so that tracebacks of its errors show only the user's frames.

    Of nested boundaries only the outermost acts, the one that the user's code calls.

    Args:
      fun: the function.
      name: if given, error messages begin with it.
    """

    @wraps(fun)
    def boundary(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return fun(*args, **kwargs)
        except Exception as e:
            if not _is_internal(sys._getframe(1)):
                if name:
                    _name_function(e, name)
                hide_frames(e)
            raise

    return boundary


def leave(exc: BaseException) -> None:
    """Hide internal frames of an exception that a public function is about to raise again.

    A function that is its own boundary, without the cost of a wrapper, calls this in an ``except``
    clause and is marked with ``boundary``. Frames are hidden only if the user's code called it.
    """
    if not _is_internal(sys._getframe(2)):
        hide_frames(exc)


def boundary[F: Callable[..., Any]](fun: F) -> F:
    """Mark a function that calls ``leave`` itself, so that no boundary is put around it."""
    fun.__dict__["is_boundary"] = True
    return fun


def guard_public(namespace: dict[str, Any], *modules: str) -> None:
    """Export a namespace's public names, and wrap its functions in boundaries with their names.

    The packages that define these functions call them without the boundaries.

    Args:
      namespace: the ``globals()`` of a module.
      modules: the modules in it that are public; see ``export_names``.
    """
    export_names(namespace, *modules)
    for name in namespace["__all__"]:
        value = namespace[name]
        if type(value) is FunctionType and not is_boundary(value):
            public = namespace[name] = api_boundary(value, name)
            # So that it is pickled by the name that it is found by.
            public.__module__ = namespace["__name__"]
            public.__name__ = public.__qualname__ = name


def is_boundary(fun: Callable[..., Any]) -> bool:
    """Whether a function was made by ``api_boundary``."""
    return fun.__code__ is _boundary_code or "is_boundary" in fun.__dict__


def unguarded(fun: Any) -> Any:
    """The function that ``api_boundary`` wrapped, where it made ``fun``; otherwise ``fun``."""
    made_here = getattr(fun, "__code__", None) is _boundary_code
    return fun.__wrapped__ if made_here else fun


_boundary_code = api_boundary(lambda: None).__code__  # pyright: ignore[reportFunctionMemberAccess]
