"""Wrap public functions so that tracebacks of their errors omit Ricci's frames.

A *boundary* is such a wrapper, or a function marked as filtering tracebacks itself.
"""

import inspect
import sys
from collections.abc import Callable, Mapping
from functools import WRAPPER_ASSIGNMENTS, wraps
from types import CodeType, FrameType, FunctionType
from typing import Any

from ricci_pytree import on_errors

from ._function_copies import DISPATCHED, replace_constants
from ._source import is_own_frame
from ._tracebacks import hide_frames

__all__ = ["api_boundary", "boundary", "check_callable", "is_boundary", "leave", "looks_like"]
__all__ += ["may_return_operand", "on_results", "public", "unguarded", "user_arguments"]


def _name_function(exc: BaseException, name: str) -> None:
    """Prefix a message that does not mention the public function with its name.

    Only errors raised by Ricci's own code are changed, not those of a user's callback.
    """
    if type(exc) not in _named or len(exc.args) != 1 or not isinstance(exc.args[0], str):
        return
    tb = exc.__traceback__
    while tb is not None and tb.tb_next is not None:
        tb = tb.tb_next
    if tb is not None and is_own_frame(tb.tb_frame) and name not in exc.args[0]:
        exc.args = (f"{name}: {exc.args[0]}",)


_named = (TypeError, ValueError, NotImplementedError, RuntimeError, ZeroDivisionError)


def api_boundary[**P, R](fun: Callable[P, R], name: str = "") -> Callable[P, R]:
    """Wrap a public function so that tracebacks of its errors show only the user's frames.

    Of nested boundaries only the outermost filters, the one that the user's code calls.

    Args:
      fun: the function.
      name: if given, error messages begin with it.
    """
    return (_closure_boundary if "<locals>" in fun.__qualname__ else permanent_boundary)(fun, name)


def _closure_boundary[**P, R](fun: Callable[P, R], name: str) -> Callable[P, R]:
    """Wrap a function that lives as long as the objects that it was made for."""
    convert = _result_of if "may_return_operand" in fun.__dict__ else None
    _drop_annotations(fun)

    @wraps(fun)
    def boundary(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return fun(*args, **kwargs) if convert is None else convert(fun(*args, **kwargs))
        except Exception as e:
            _filter(e, name)
            raise

    return boundary


def _drop_annotations(fun: Any) -> None:
    """Drop a local function's annotations, whose type parameters cannot be pickled by value."""
    if type(fun) is FunctionType:
        fun.__annotations__ = {}


def permanent_boundary[**P, R](
    fun: Callable[P, R], name: str, qualname: str = "boundary"
) -> Callable[P, R]:
    """Wrap a function that lives as long as its module.

    The function and its name are constants of the boundary's code, not free variables: Python
    allows a function's ``__code__`` to be replaced only by one with as many free variables, and
    libraries replace it by one without any, to intercept the calls through all of its aliases.
    A function that is made for a user's object must not be such a constant: the garbage collector
    does not look into code, so a cycle of references through it would never be freed.
    """
    constants = {"<function>": fun, "<name>": name, "<calls>": fun.__dict__.get(DISPATCHED)}
    template = _template(fun)
    # Python's messages on missing and superfluous arguments name the parameters of the function.
    count = template.co_argcount
    names = (*fun.__code__.co_varnames[:count], *template.co_varnames[count:])
    code = replace_constants(template, constants)
    code = code.replace(co_qualname=qualname, co_varnames=names)
    # The templates whose parameters all are required have no place for defaults.
    wrapper = FunctionType(code, globals(), argdefs=None if count else fun.__defaults__)
    wrapper.__kwdefaults__ = fun.__kwdefaults__
    for attribute in WRAPPER_ASSIGNMENTS:
        setattr(wrapper, attribute, getattr(fun, attribute))
    wrapper.__dict__.update(fun.__dict__, __wrapped__=fun)
    # Wrappers made by ``functools.wraps`` copy the attributes, and call something else.
    wrapper.__dict__.pop(DISPATCHED, None)
    return wrapper


def _filter(exc: Exception, name: str) -> None:
    """Filter an exception that a boundary is about to raise again, if the user called it."""
    if not is_own_frame(sys._getframe(2)):
        if name:
            _name_function(exc, name)
        hide_frames(exc)


def _boundary_code(template: FunctionType) -> CodeType:
    """The code object of a template, named ``boundary`` in unfiltered tracebacks."""
    return template.__code__.replace(co_name="boundary", co_qualname="boundary")


# Two templates instead of one with a branch, since every eager call goes through one. The function
# is assigned to a variable, since the compiler warns of a call of a constant.
@_boundary_code
def _call(*args: object, **kwargs: object) -> Any:
    fun: Any = "<function>"
    try:
        return fun(*args, **kwargs)
    except Exception as e:
        _filter(e, "<name>")
        raise


@_boundary_code
def _converting_call(*args: object, **kwargs: object) -> Any:
    fun: Any = "<function>"
    try:
        return _result(fun(*args, **kwargs))
    except Exception as e:
        _filter(e, "<name>")
        raise


# Calls outside of any trace are the backend's, which has cached those with types seen before.
# `calls.dispatch` is the shared backend's function, as long as no thread overrides the backend.
@_boundary_code
def _dispatching_call(*args: object, **kwargs: object) -> object:
    fun: Any = "<function>"
    calls: Any = "<calls>"
    try:
        if _context.trace is _root:
            for x in args:
                if type(x) is tuple and not _is_exact(x):
                    break
            else:
                if not kwargs or _are_exact(kwargs):
                    try:
                        return calls.dispatch(*args, **kwargs)
                    except ValueError as e:
                        if not _is_incomparable(e):
                            raise
        return _result(fun(*args, **kwargs)) if calls.converts else fun(*args, **kwargs)
    except Exception as e:
        _filter(e, "<name>")
        raise


# Most calls pass the required argument alone: forwarding it without a tuple and a dictionary takes
# half the time.
@_boundary_code
def _dispatching_call_of_first(x: object, *args: object, **kwargs: object) -> object:
    fun: Any = "<function>"
    calls: Any = "<calls>"
    try:
        if _context.trace is _root:
            if not args and not kwargs:
                return calls.dispatch(x)
            # Loops cost less than calls of `_are_exact`.
            for argument in args:
                if type(argument) is tuple and not _is_exact(argument):
                    break
            else:
                for argument in kwargs.values():
                    if type(argument) is tuple and not _is_exact(argument):
                        break
                else:
                    try:
                        return calls.dispatch(x, *args, **kwargs)
                    except ValueError as e:
                        if not _is_incomparable(e):
                            raise
        result = fun(x, *args, **kwargs)
        return _result(result) if calls.converts else result
    except Exception as e:
        _filter(e, "<name>")
        raise


@_boundary_code
def _dispatching_call_of_both(x: object, y: object, *args: object, **kwargs: object) -> object:
    fun: Any = "<function>"
    calls: Any = "<calls>"
    try:
        if _context.trace is _root and (type(y) is not tuple or _is_exact(y)):
            try:
                if not args and not kwargs:
                    return calls.dispatch(x, y)
                for argument in args:
                    if type(argument) is tuple and not _is_exact(argument):
                        break
                else:
                    if not kwargs or _are_exact(kwargs):
                        return calls.dispatch(x, y, *args, **kwargs)
            except ValueError as e:
                if not _is_incomparable(e):
                    raise
        result = fun(x, y, *args, **kwargs)
        return _result(result) if calls.converts else result
    except Exception as e:
        _filter(e, "<name>")
        raise


@_boundary_code
def _dispatching_call_of_one(x: object, /) -> object:
    fun: Any = "<function>"
    calls: Any = "<calls>"
    try:
        if _context.trace is not _root:
            return fun(x)
        return calls.dispatch(x)
    except Exception as e:
        _filter(e, "<name>")
        raise


@_boundary_code
def _dispatching_call_of_two(x: object, y: object, /) -> object:
    fun: Any = "<function>"
    calls: Any = "<calls>"
    try:
        # The function itself knows which numbers beside arrays are dispatched.
        if _context.trace is not _root or type(x) is not type(y):
            return fun(x, y)
        return calls.dispatch(x, y)
    except Exception as e:
        _filter(e, "<name>")
        raise


@_boundary_code
def _watching_call(x: object, y: object, *args: object, **kwargs: object) -> object:
    fun: Any = "<function>"
    calls: Any = "<calls>"
    try:
        if _context.trace is _root and calls.watched.__code__ is calls.watched_code:
            try:
                if not args and not kwargs:
                    return calls.dispatch(x, y)
                for argument in args:
                    if type(argument) is tuple and not _is_exact(argument):
                        break
                else:
                    if not kwargs or _are_exact(kwargs):
                        return calls.dispatch(x, y, *args, **kwargs)
            except ValueError as e:
                if not _is_incomparable(e):
                    raise
        return fun(x, y, *args, **kwargs)
    except Exception as e:
        _filter(e, "<name>")
        raise


def _template(fun: FunctionType) -> CodeType:
    """Return the code of the boundary around a function."""
    if DISPATCHED not in fun.__dict__:
        return _converting_call if "may_return_operand" in fun.__dict__ else _call
    code = fun.__code__
    count, required = code.co_argcount, code.co_argcount - len(fun.__defaults__ or ())
    if fun.__dict__[DISPATCHED].watched is not None:
        template = _watching_call
    elif code.co_posonlyargcount == count == required and not (
        code.co_kwonlyargcount or code.co_flags & _TAKES_MORE
    ):
        template = {1: _dispatching_call_of_one, 2: _dispatching_call_of_two}.get(count)
    else:
        template = {1: _dispatching_call_of_first, 2: _dispatching_call_of_both}.get(required)
    if template is None:
        return _dispatching_call
    return template.replace(co_posonlyargcount=min(template.co_argcount, code.co_posonlyargcount))


_TAKES_MORE = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS


def _is_exact(argument: tuple[Any, ...]) -> bool:
    """Whether a tuple can be looked up by ``==``, by which ``(0, 1)`` is ``(0.0, True)``.

    The dispatcher compares the types of settings, but not those of a tuple's elements. A tuple with
    arrays is no setting, and the dispatcher looks up the types of all its elements.
    """
    for x in argument:
        if type(x) is not int and not _is_exact_element(x):
            return any(hasattr(type(x), "aval") for x in argument)
    return True


def _are_exact(kwargs: Mapping[str, object]) -> bool:
    """Whether the tuples among named arguments can be looked up by ``==``; see ``_is_exact``."""
    for x in kwargs.values():  # a loop costs less than `all`
        if type(x) is tuple and not _is_exact(x):
            return False
    return True


def _is_exact_element(x: object) -> bool:
    return type(x) is int or type(x) is str or (type(x) is tuple and _is_exact(x))


def _is_incomparable(exc: ValueError) -> bool:
    """Whether a dispatcher in C++ has refused an argument that it cannot compare by value."""
    tb = exc.__traceback__
    if tb is not None and tb.tb_next is not None and tb.tb_next.tb_frame.f_code is _first_dispatch:
        tb = tb.tb_next
    return tb is not None and tb.tb_next is None and str(exc).startswith(_REFUSALS)


_REFUSALS = ("Non-hashable static", "static arguments should be comparable")


def on_calls(context: object, root: object, first_dispatch: FunctionType) -> None:
    """Set the context, the trace in which calls are dispatched, and the function of first calls."""
    global _context, _root, _first_dispatch
    _context, _root, _first_dispatch = context, root, first_dispatch.__code__


_context: Any = None
_root: Any = None
_first_dispatch: CodeType | None = None


_TEMPLATES = (_call, _converting_call)
_TEMPLATES += (_dispatching_call, _dispatching_call_of_one, _dispatching_call_of_two)
_TEMPLATES += (_dispatching_call_of_first, _dispatching_call_of_both, _watching_call)
# The index of the wrapped function in ``co_consts``, by the position of the template's code.
_templates = {
    (code.co_filename, code.co_firstlineno): code.co_consts.index("<function>")
    for code in _TEMPLATES
}


def user_arguments() -> list[object]:
    """The arguments of the innermost call of Ricci by the user.

    What a namespace exports is only called by the user, also where it is passed to Ricci and called
    from there, as in ``tree.map(jnp.asarray, x)``.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        code, values, caller = frame.f_code, frame.f_locals, frame.f_back
        by_user = caller is None or not is_own_module(caller.f_globals.get("__name__", ""))
        is_boundary = code.co_qualname == EXPORTED or (by_user and code.co_name == _call.co_name)
        if is_boundary and "args" in values:
            parameters = code.co_varnames[: code.co_argcount]
            named = [values[name] for name in parameters if name in values]
            return [*named, *values["args"], *values["kwargs"].values()]
        if by_user or is_boundary:
            names, varargs, keywords, _ = inspect.getargvalues(frame)
            named = [values[name] for name in (*names, *code.co_freevars) if name in values]
            positional = values.get(varargs or "", ())
            return [*named, *positional, *values.get(keywords or "", {}).values()]
        frame = caller
    return []


EXPORTED = "exported boundary"


def public[**P, R](fun: Callable[P, R]) -> Callable[P, R]:
    """Wrap a function in a boundary that Ricci's own calls go through as well.

    For functions whose ``__code__`` libraries replace, so that they see the calls by other
    functions: quantization replaces products and convolutions this way. Others are wrapped where
    they are exported, since within Ricci a boundary only costs time.
    """
    return permanent_boundary(fun, fun.__name__)


def may_return_operand[F: Callable[..., Any]](fun: F) -> F:
    """Mark a function that may return an operand unchanged, where there is nothing to compute.

    Ricci's own code passes literals through, so that they stay literals of a jaxpr. The boundary
    converts them for the user to arrays, which have the methods of arrays.
    """
    fun.__dict__["may_return_operand"] = True
    return fun


def on_results(function: Callable[[object], object]) -> None:
    """Set the conversion to arrays of the results of ``may_return_operand`` functions."""
    global _result
    _result = function


_result: Callable[..., Any] = lambda result: result


def _result_of(result: object) -> Any:
    return _result(result)


def leave(exc: BaseException, name: str = "") -> None:
    """Filter the traceback of an exception that a public function is about to raise again.

    A function that is its own boundary, without the cost of a wrapper, calls this in an ``except``
    clause and is marked with ``boundary``. Nothing is filtered unless the user's code called it.

    Args:
      exc: the exception.
      name: if given, the message begins with it.
    """
    if not is_own_frame(sys._getframe(2)):
        if name:
            _name_function(exc, name)
        hide_frames(exc)


def boundary[F: Callable[..., Any]](fun: F) -> F:
    """Mark a function that calls ``leave`` itself, so that it is not wrapped in a boundary."""
    fun.__dict__["is_boundary"] = True
    return fun


def is_own_module(name: str) -> bool:
    root = name.partition(".")[0]
    return root in ("ricci", "functools", "contextlib") or root.startswith("ricci_")


def is_boundary(fun: Callable[..., Any]) -> bool:
    """Whether a function is a boundary: from ``api_boundary``, or marked with ``boundary``."""
    return unguarded(fun) is not fun or "is_boundary" in fun.__dict__


def unguarded(fun: Any) -> Any:
    """Return the function that a boundary calls; any other value unchanged.

    A boundary whose ``__code__`` has been replaced is no longer one.
    """
    code = getattr(fun, "__code__", None)
    if code is _closure_code:
        return fun.__wrapped__
    if type(code) is not CodeType:
        return fun
    index = _templates.get((code.co_filename, code.co_firstlineno))
    return fun if index is None else code.co_consts[index]


_closure_code = _closure_boundary(lambda: None, "").__code__  # pyright: ignore[reportFunctionMemberAccess]
on_errors(leave)


def check_callable(transformation: str, fun: object) -> None:
    """Raise ``TypeError`` unless the argument of a transformation is callable."""
    if not callable(fun):
        raise TypeError(
            f"{transformation} expects a callable, a function of arrays, got {fun!r} of type "
            f"{type(fun).__name__}."
        )


def looks_like(fun: Callable[..., Any]) -> Callable[[Callable[..., Any]], Any]:
    """Make a decorator that gives a function the name, docstring and attributes of a callable.

    Like ``functools.wraps``, for any callable: of an object with ``__call__`` the attributes are
    copied, and those that cannot be set are left out.
    """

    def decorate(wrapper: Any) -> Any:
        _drop_annotations(wrapper)
        if not isinstance(fun, type):
            wrapper.__dict__.update(getattr(fun, "__dict__", ()))
        for name in WRAPPER_ASSIGNMENTS:
            try:
                setattr(wrapper, name, getattr(fun, name))
            except (AttributeError, TypeError):
                continue
        wrapper.__wrapped__ = fun
        return wrapper

    return decorate
