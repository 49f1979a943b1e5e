"""Tracing a function of pytrees, as ``jit`` calls it, to a program; and keeping the result."""

import weakref
from collections.abc import Callable
from typing import Any

from ricci_ir import (
    DebugInfo,
    Jaxpr,
    Tracer,
    argument_aval,
    convert_constvars,
    get_aval,
    trace_key,
    trace_to_jaxpr,
)
from ricci_pytree import (
    argument_paths,
    keystr,
    tree_flatten_with_path,
    tree_unflatten,
)

from ._arguments import Arguments, Split, join_static


class Program:
    """A traced function.

    Attributes:
      jaxpr: its equations; the constants it closes over are the leading arguments.
      consts: their values.
      in_tree, out_tree: the structures of ``(args, kwargs)`` and of the result.
      name: the function's.
    """

    __slots__ = ("arg_names", "consts", "in_tree", "jaxpr", "name", "out_tree", "result_info")

    def __init__(self, jaxpr: Jaxpr, in_tree, out_tree, name, arg_names=(), result_info=()):
        self.consts = tuple(jaxpr.consts)
        self.jaxpr = convert_constvars(jaxpr)
        self.in_tree = in_tree
        self.out_tree = out_tree
        self.name = name
        self.arg_names = arg_names
        self.result_info = result_info


def abstract_leaves(fun: Callable, split: Split) -> tuple:
    """The types of a call's leaves.

    Raises:
      TypeError: naming the first leaf that is no array.
    """
    try:
        return tuple([argument_aval(x) for x in split.leaves])
    except TypeError:
        pass
    names = argument_paths(
        *tree_unflatten(split.tree, split.leaves), fun if not any(split.static) else None
    )
    for name, leaf in zip(names, split.leaves, strict=True):
        try:
            argument_aval(leaf)
        except TypeError:
            raise TypeError(
                f"argument {name} of {function_name(fun)} is {_shorten(leaf)}, of type "
                f"{type(leaf)}, which a program cannot take. Pass arrays, scalars or pytrees of "
                "them, or mark the argument as static with static_argnums or static_argnames."
            ) from None
    raise AssertionError("unreachable: some leaf has no type")


def function_name(fun: Callable) -> str:
    """What a function is called in messages and in programs."""
    while hasattr(fun, "func") and not hasattr(fun, "__name__"):
        fun = fun.func  # pyright: ignore[reportFunctionMemberAccess]
    return getattr(fun, "__name__", type(fun).__name__)


def _shorten(x: Any) -> str:
    text = repr(x)
    return text if len(text) <= 60 else text[:57] + "..."


class ProgramCache:
    """Programs by function, structure, types, static values and settings.

    Programs of a function live as long as the function does.
    """

    def __init__(self):
        self._by_function: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()

    def of(self, fun: Callable, arguments: Arguments) -> dict:
        """The programs of a function traced with given static arguments."""
        try:
            by_arguments = self._by_function.setdefault(fun, {})
        except TypeError:  # neither hashable nor weakly referenceable
            return {}
        return by_arguments.setdefault((arguments.static_argnums, arguments.static_argnames), {})

    def clear(self) -> None:
        """Forget all programs."""
        for by_arguments in self._by_function.values():
            for cache in by_arguments.values():
                cache.clear()


programs = ProgramCache()


def trace_program(fun: Callable, split: Split, avals: tuple, cache: dict) -> Program:
    """The program of a call; traced only if ``cache`` has none for its key."""
    key = (split.tree, avals, split.static, trace_key())
    program = cache.get(key)
    if program is None:
        program = _trace(fun, split, avals)
        # Constants that are tracers belong to the trace around this call.
        if not any(isinstance(const, Tracer) for const in program.consts):
            cache[key] = program
    return program


def _trace(fun: Callable, split: Split, avals: tuple) -> Program:
    name = function_name(fun)
    out_tree = None
    result_info: tuple[str, ...] = ()

    def flat_fun(*leaves):
        nonlocal out_tree, result_info
        dynamic_args, dynamic_kwargs = tree_unflatten(split.tree, leaves)
        full_args, full_kwargs = join_static(split.static, dynamic_args, dynamic_kwargs)
        out = fun(*full_args, **full_kwargs)
        with_paths, out_tree = tree_flatten_with_path(out)
        result_info = tuple("result" + keystr(path) for path, _ in with_paths)
        for info, (_, leaf) in zip(result_info, with_paths, strict=True):
            _check_result(name, info, leaf)
        return [leaf for _, leaf in with_paths]

    dynamic = tree_unflatten(split.tree, split.leaves)
    arg_names = tuple(argument_paths(*dynamic, fun if not any(split.static) else None))
    jaxpr = trace_to_jaxpr(flat_fun, avals, DebugInfo("jit", name, arg_names))
    return Program(jaxpr, split.tree, out_tree, name, arg_names, result_info)


def _check_result(name: str, info: str, leaf: Any) -> None:
    try:
        get_aval(leaf)
    except TypeError:
        raise TypeError(
            f"{info} of {name}, under jit, is {_shorten(leaf)}, of type {type(leaf)}, which a "
            "program cannot give. Return arrays, scalars or pytrees of them."
        ) from None
