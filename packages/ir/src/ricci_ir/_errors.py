"""Errors of traced programs, and the tracebacks that users see of them."""

import inspect
import re
import sys
from collections.abc import Callable, Iterator
from difflib import get_close_matches
from functools import wraps
from types import FrameType, FunctionType, TracebackType
from typing import Any, ClassVar

from ._config import traceback_filtering
from ._error_pages import explained
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


class _Explained(Exception):
    """An error whose text ends with the link of a page.

    Attributes:
      page: the page's code.
    """

    page: ClassVar[str]

    def __str__(self) -> str:
        return explained(super().__str__(), self.page)


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


_ESCAPED = (
    "It escaped from that function, which has ended. Return the value from the function instead of "
    "saving it in a global, an attribute or a list outside of it."
)


def _message(what: str, tracer: object, *advice: str) -> str:
    """A message in at most a dozen lines: the problem, the value's origin, and advice."""
    origin = getattr(tracer, "_origin_message", str)().strip().splitlines()
    if not getattr(getattr(tracer, "_trace", None), "alive", True):
        advice = (_ESCAPED,)
    if what.startswith("a traced"):
        what = f"A{what[1:]}"
    return "\n".join((what, *origin[: 10 - len(advice)], *advice))


class ConcretizationTypeError(_Explained, JAXTypeError):
    """A concrete value was needed where only the type of a traced array is known.

    Args:
      tracer: the traced array.
      context: what needed the value.
    """

    page: ClassVar[str] = "tracer-value"

    def __init__(self, tracer: object, context: str = ""):
        what = (
            f"The concrete value of {_describe(tracer)} is needed, but a tracer has only a shape "
            "and a dtype."
        )
        super().__init__(
            _message(
                f"{what} {context}".rstrip(),
                tracer,
                "Keep to operations on arrays. An argument that is known before the call can be "
                "static (static_argnums, static_argnames).",
            )
        )

    @classmethod
    def of_derivative(cls, tracer: object, asked: str) -> "ConcretizationTypeError":
        """The error for a number made of a value that is being differentiated.

        Args:
          tracer: the value.
          asked: what would have made a number of it, as ``float(x)``.
        """
        error = cls.__new__(cls)
        JAXTypeError.__init__(
            error,
            _message(
                f"{asked} was called on {_describe(tracer)} that is being differentiated: a Python "
                "number has no derivative, so what is computed with it would be missing from the "
                "gradient.",
                tracer,
                "Keep to operations on arrays, as jnp.sin in place of math.sin. Where no "
                "derivative is wanted, take the number of lax.stop_gradient(x).",
            ),
        )
        return error


class TracerBoolConversionError(ConcretizationTypeError):
    """A traced array was used as a condition, as in ``if x > 0:``."""

    page: ClassVar[str] = "tracer-bool"

    def __init__(self, tracer: object):
        JAXTypeError.__init__(
            self,
            _message(
                f"{_describe(tracer)} is used as a condition, but it is a tracer: its concrete "
                "value is not known while tracing.",
                tracer,
                "To choose between values use jnp.where(condition, a, b), to choose what runs "
                "lax.cond or lax.while_loop; for `and`, `or`, `not` write &, |, ~. An argument "
                "known before the call can be static (static_argnums, static_argnames).",
            ),
        )


class TracerArrayConversionError(_Explained, JAXTypeError):
    """A traced array was passed to NumPy or to other code that wants its values."""

    page: ClassVar[str] = "tracer-array"

    def __init__(self, tracer: object):
        super().__init__(
            _message(
                f"{_describe(tracer)} is needed as a NumPy array, but it is a tracer, which has no "
                "concrete values.",
                tracer,
                "Use the function of jnp in place of the one of np, and jnp.asarray(table)[i] to "
                "index an np.ndarray. To call code that is not yours use pure_callback.",
            )
        )


class TracerIntegerConversionError(_Explained, JAXTypeError):
    """A traced array was used where Python wants an int: an index, a size, ``range(n)``."""

    page: ClassVar[str] = "tracer-integer"

    def __init__(self, tracer: object):
        super().__init__(
            _message(
                f"{_describe(tracer)} is needed as an integer, but it is a tracer: its concrete "
                "value is not known while tracing.",
                tracer,
                "To index a list or an np.ndarray write jnp.asarray(table)[i], in place of "
                "range(n) lax.fori_loop. A size or an axis must be known before the call: make the "
                "argument static (static_argnums, static_argnames).",
            )
        )


class NonConcreteBooleanIndexError(_Explained, JAXIndexError):
    """An array was indexed with a traced mask, so that the size of the result is unknown."""

    page: ClassVar[str] = "mask-index"

    def __init__(self, tracer: object):
        super().__init__(
            _message(
                f"An array is indexed with a mask, {_describe(tracer)}, which is not concrete: the "
                "size of the result would depend on values that are not known while tracing.",
                tracer,
                "Keep the size: jnp.where(mask, x, fill) for x[mask], x.sum(where=mask) for "
                "x[mask].sum(), jnp.where(mask, y, x) for x.at[mask].set(y). If the size is "
                "bounded, index with jnp.nonzero(mask, size=n).",
            )
        )


class UnexpectedTracerError(_Explained, JAXTypeError):
    """A traced array was used after the function it belongs to had been traced."""

    page: ClassVar[str] = "escaped-tracer"


class KeyReuseError(_Explained, JAXTypeError):
    """A random key was used twice."""

    page: ClassVar[str] = "key-reuse"


class ShardingTypeError(_Explained):
    """The types of operands leave open, or forbid, how a result is divided over a mesh."""

    page: ClassVar[str] = "sharding-types"


class CallbackError(_Explained, RuntimeError):
    """A Python function that a program called raised an error, or returned a wrong type."""

    page: ClassVar[str] = "callbacks"


class JaxprTypeError(_Explained, TypeError):
    """A jaxpr is malformed: a variable is not bound, or a value has another type than declared."""

    page: ClassVar[str] = "jaxpr-types"


class InconclusiveDimensionOperation(_Explained):
    """A question about symbolic dimensions has no answer that holds for all their values."""

    page: ClassVar[str] = "symbolic-sizes"


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
        _suggest_keyword(exc, whole)
        exc.__traceback__ = _user_frames(whole)
        _leave_out_own_context(exc)
        quiet = mode == "quiet_remove_frames" or _note in getattr(exc, "__notes__", ())
        if not quiet and _length(whole) > _length(exc.__traceback__):
            exc.add_note(_note)
    return exc


_note = "(Ricci's own frames are left out: jax_traceback_filtering='off' shows them.)"


def _leave_out_own_context(exc: BaseException) -> None:
    """Forget the exceptions behind this one that Ricci raised and caught itself.

    Python would print them with "During handling of the above exception, another exception
    occurred". One that passed through the user's code stays.
    """
    context = exc.__context__
    while context is not None and context is not exc.__cause__ and _is_own(context.__traceback__):
        context = exc.__context__ = context.__context__


def _is_own(tb: TracebackType | None) -> bool:
    """Whether a traceback has frames, and all of them are internal."""
    return tb is not None and _user_frames(tb) is None


_unknown_keyword = re.compile(r"(\w+)\(\) got an unexpected keyword argument '(\w+)'$")


def _suggest_keyword(exc: BaseException, tb: TracebackType | None) -> None:
    """Put the nearest keyword behind Python's message on one that a function does not take.

    Only where Ricci calls the function, so that its frame has it among its variables; in the user's
    own calls Python's message stays as it is.
    """
    if type(exc) is not TypeError or len(exc.args) != 1 or tb is None:
        return
    found = _unknown_keyword.search(str(exc.args[0]))
    while tb.tb_next is not None:
        tb = tb.tb_next
    if found is None or not _is_internal(tb.tb_frame):
        return
    for fun in _functions_called(tb.tb_frame, found[1]):
        names = [
            p.name
            for p in inspect.signature(fun).parameters.values()
            if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
        ]
        near = get_close_matches(found[2], names, 1)
        advice = f"Did you mean {near[0]!r}? " if near else ""
        exc.args = (f"{exc.args[0]}. {advice}It takes: {', '.join(names) or 'none'}.",)
        return


def _functions_called(frame: FrameType, name: str) -> Iterator[FunctionType]:
    """The functions of a name among a frame's variables, inside of their wrappers."""
    for value in frame.f_locals.values():
        fun = inspect.unwrap(value) if callable(value) else None
        if type(fun) is FunctionType and fun.__code__.co_name == name:
            yield fun


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
