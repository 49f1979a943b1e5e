"""Programs: functions of pytrees traced for ``jit``, their cache, and when they are inlined."""

import inspect
import weakref
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from enum import Enum
from functools import partial
from types import MethodType
from typing import TYPE_CHECKING, Any

import numpy as np

import ricci_ir as ir
from ricci_pytree import PyTreeDef, argument_paths, keystr, tree_flatten_with_path, tree_unflatten

from ._arguments import Arguments, Split, argument_name, join_static
from ._compile_log import timed
from ._keys import Key

if TYPE_CHECKING:
    from ._cache_misses import CacheMiss

__all__ = ["Inline"]


class Program(ir.TupleRecord):
    """A traced function.

    Attributes:
      jaxpr: the jaxpr. The constants that the function closes over are its first arguments.
      consts: the values of those constants.
      in_tree: the structure of ``(args, kwargs)``.
      out_tree: the structure of the result.
      name: the function's name.
      arg_names: the names of the arguments' leaves.
      result_info: the paths of the results' leaves.
      origin: the function's module and qualified name; empty if it is not a user's function.
      static: the name and the ``repr`` of each static argument.
      miss: the explanation of why it was traced.
      has_equations: whether the jaxpr has its equations; not if the executable came from a file.
    """

    jaxpr: ir.Jaxpr
    consts: tuple[Any, ...]
    in_tree: PyTreeDef
    out_tree: PyTreeDef
    name: str
    arg_names: tuple[str, ...] = ()
    result_info: tuple[str, ...] = ()
    origin: str = ""
    static: tuple[tuple[str, str], ...] = ()
    miss: "CacheMiss | None" = None
    has_equations: bool = True

    @classmethod
    def of_executable(
        cls,
        in_avals: Sequence[ir.AbstractValue],
        in_tree: PyTreeDef,
        out_tree: PyTreeDef,
        name: str,
        arg_names: tuple[str, ...],
    ) -> "Program":
        """Make the program of an executable that another process compiled."""
        jaxpr = ir.Jaxpr((), [ir.Var(aval) for aval in in_avals])
        return cls(jaxpr, (), in_tree, out_tree, name, arg_names, has_equations=False)

    def closed_jaxpr(self) -> ir.Jaxpr:
        """Return the jaxpr, closed over its constants."""
        count = len(self.consts)
        invars = self.jaxpr.invars
        return self.jaxpr.replace(
            constvars=invars[:count], consts=self.consts, invars=invars[count:]
        )

    def report_miss(self) -> None:
        """Log once why the function was traced, if ``explain_cache_misses`` is set."""
        if self.miss is not None:
            self.miss.report()


def abstract_leaves(fun: Callable[..., Any], split: Split) -> tuple[Any, ...]:
    """Return the types of a call's leaves.

    Raises:
      TypeError: if a leaf is not an array; the error names the first.
    """
    try:
        return tuple([ir.argument_aval(x) for x in split.leaves])
    except TypeError:
        pass
    names = argument_names(fun, split)
    for name, leaf in zip(names, split.leaves, strict=True):
        try:
            ir.argument_aval(leaf)
        except TypeError:
            raise TypeError(
                ir.explained(
                    f"argument {name} of {function_name(fun)} is {ir.described_value(leaf)}, which "
                    f"is not an array. {_argument_advice(name, leaf)}",
                    "arguments",
                )
            ) from None
    raise AssertionError("unreachable: some leaf has no type")


def check_values(program: "Program", leaves: Sequence[object]) -> None:
    """Raise ``TypeError`` if an argument of a call that runs only describes an array."""
    for name, leaf in zip(program.arg_names or (), leaves, strict=False):
        if isinstance(leaf, ir.ShapeDtypeStruct):
            raise TypeError(
                ir.explained(
                    f"argument {name} of {program.name} is {ir.described_value(leaf)}, which is "
                    f"not an array. {ir.registering(leaf)}",
                    "arguments",
                )
            )


def _argument_advice(name: str, leaf: object) -> str:
    register = ir.registering(leaf)
    if name == "self" and register:
        return (
            "A method's object is its first argument. If the object never changes, decorate the "
            "method with @partial(jit, static_argnums=0). If it holds arrays: "
            f"{register[0].lower()}{register[1:]}"
        )
    static = "mark the argument as static with static_argnums or static_argnames"
    if register:
        return f"{register} Or {static}."
    return f"Pass arrays, scalars or pytrees of them, or {static}."


def check_function(fun: object) -> None:
    """Raise ``TypeError`` unless an object is a function that ``jit`` can take."""
    if not callable(fun):
        raise TypeError(f"jit expects a callable, got {fun!r} of type {type(fun).__name__}.")
    if isinstance(fun, staticmethod):
        raise TypeError(
            f"jit expects a function, got {fun!r}. Write @staticmethod above @jit, so that the "
            "function is jitted and the result made static."
        )
    if inspect.isgeneratorfunction(fun):
        raise TypeError(
            f"{function_name(fun)} is a generator function, which yields values one at a time. jit "
            "needs a function that returns them: return a tuple or a list."
        )
    try:
        # Programs are cached in a weak dictionary by function.
        weakref.ref(fun)
        hash(fun)
    except TypeError as error:
        raise TypeError(
            f"jit: {error}. Programs are cached by function: give the class __hash__, and "
            '"__weakref__" if it has __slots__.'
        ) from None


def function_name(fun: Callable[..., Any]) -> str:
    """Return the name of a function, for messages and jaxprs."""
    # A ``partial`` has no name: its function's is shown.
    while hasattr(fun, "func") and not hasattr(fun, "__name__"):
        fun = fun.func  # pyright: ignore[reportFunctionMemberAccess]
    return str(getattr(fun, "__name__", type(fun).__name__))


def qualified_name(fun: Callable[..., Any]) -> str:
    """Return the module and the qualified name of a function."""
    while hasattr(fun, "func") and not hasattr(fun, "__qualname__"):
        fun = fun.func  # pyright: ignore[reportFunctionMemberAccess]
    owner = fun if hasattr(fun, "__qualname__") else type(fun)
    return f"{owner.__module__}.{owner.__qualname__}"


def _shorten(x: object) -> str:
    text = repr(x)
    return text if len(text) <= 60 else text[:57] + "..."


class ProgramCache:
    """The traced programs of all functions, in one cache for each function (see ``Key``).

    A function's programs live as long as the function. A bound method, or a ``partial``, is a new
    function each time that it is created, and is traced again when it is jitted again, since its
    object may have changed. Its earlier programs live as long as the object, or the function
    inside; they are reused if the new ones are equal.
    """

    def __init__(self):
        self._by_function: ir.ByFunction[dict[Any, ir.Cache[Key, Program]]] = ir.ByFunction(dict)
        self._of_methods: weakref.WeakKeyDictionary[
            Callable[..., Any], dict[Any, ir.Cache[Key, Program]]
        ] = weakref.WeakKeyDictionary()

    def of(
        self, fun: Callable[..., Any], arguments: Arguments, inline: object = None
    ) -> "tuple[ir.Cache[Key, Program], ir.Cache[Key, Program] | None]":
        """Return the programs of a function for given static arguments.

        Args:
          fun: the function.
          arguments: its static arguments.
          inline: when the programs are inlined; part of the cache's key.

        Returns:
          The programs, and the earlier ones of the same object for a bound method or ``partial``.
        """
        by_arguments = self._by_function.of(fun)
        key = (arguments.static_argnums, arguments.static_argnames, inline)
        cache = by_arguments.get(key)
        if cache is None:
            cache = by_arguments.setdefault(key, ir.Cache("programs of jit", 4096))
        if type(fun) not in (MethodType, partial):
            return cache, None
        # Equal methods that are jitted at the same time share their programs.
        of_method = self._of_methods.setdefault(fun, {})
        return of_method.setdefault(key, ir.Cache("programs of jit", 4096)), cache


programs = ProgramCache()


def program_key(split: Split, avals: tuple[Any, ...]) -> Key:
    """Return the key of a call's program in the cache of its function.

    It has the static arguments' types besides their values, since 1, 1.0 and True are equal.
    """
    by_position, by_name = split.static
    types = tuple([type(value) for _, value in (*by_position, *by_name)])
    return Key(split.tree, avals, split.static, types, ir.trace_context())


def trace_program(
    fun: Callable[..., Any],
    split: Split,
    avals: tuple[Any, ...],
    cache: ir.Cache[Key, Program],
    earlier: ir.Cache[Key, Program] | None = None,
) -> Program:
    """Return the program of a call from ``cache``, else trace it.

    A new program that is equal to one in ``earlier`` shares its executables.
    """
    key = program_key(split, avals)
    cached_programs = ir.active_cache(cache)
    program = cached_programs.recall(key)
    if program is None:
        miss = None
        if ir.explain_cache_misses.value:
            miss = _explain(fun, split, key, cache if earlier is None else earlier)
        program = _trace(fun, split, avals, miss)
        # A program that closes over tracers is valid only while their trace lasts.
        if not any(map(ir.is_traced, program.consts)):
            if earlier is not None:
                # A bound method's object may have changed since, so the function is traced in any
                # case; only the executables of an equal jaxpr are reused.
                program = _share(program, ir.active_cache(earlier), key)
            program = cached_programs.add(key, program)
    return program


def _share(program: Program, earlier: ir.Cache[Key, Program], key: Key) -> Program:
    """Return a program with an equal earlier jaxpr, if any, and the executables cached on that."""
    before = earlier.recall(key)
    if (
        before is not None
        and len(before.consts) == len(program.consts)
        # Executables contain the values of constants; NumPy arrays may have changed.
        and all(
            a is b and not isinstance(a, np.ndarray)
            for a, b in zip(before.consts, program.consts, strict=True)
        )
        and ir.same_program(before.jaxpr, program.jaxpr)
    ):
        program = program._replace(jaxpr=before.jaxpr)
    earlier.put(key, program)
    return program


def _explain(
    fun: Callable[..., Any], split: Split, key: Key, cache: ir.Cache[Key, Program]
) -> "CacheMiss":
    from ._cache_misses import explain_miss  # noqa: PLC0415 - lazy: few programs ask for it

    traced = [(earlier, program.arg_names) for earlier, program in cache.entries.copy().items()]
    return explain_miss(fun, function_name(fun), key, argument_names(fun, split), traced)


def argument_names(fun: Callable[..., Any], split: Split) -> tuple[str, ...]:
    """Return the names of the leaves of a call's dynamic arguments."""
    # None has no leaves, so it can replace each static argument.
    by_position, by_name = split.static
    blank = tuple([(i, None) for i, _ in by_position]), tuple([(name, None) for name, _ in by_name])
    args, kwargs = join_static(blank, *tree_unflatten(split.tree, split.leaves))
    return tuple(argument_paths(args, kwargs, fun))


def _trace(
    fun: Callable[..., Any], split: Split, avals: tuple[Any, ...], miss: "CacheMiss | None"
) -> Program:
    name = function_name(fun)
    out_tree: Any = None
    result_info: tuple[str, ...] = ()

    def flat_fun(*leaves: object) -> list[Any]:
        nonlocal out_tree, result_info
        dynamic_args, dynamic_kwargs = tree_unflatten(split.tree, leaves)
        full_args, full_kwargs = join_static(split.static, dynamic_args, dynamic_kwargs)
        out = fun(*full_args, **full_kwargs)
        with_paths, out_tree = tree_flatten_with_path(ir.parted(out))
        result_info = tuple("result" + keystr(path) for path, _ in with_paths)
        for info, (_, leaf) in zip(result_info, with_paths, strict=True):
            _check_result(name, info, leaf)
        return [leaf for _, leaf in with_paths]

    if ir.no_tracing.value:
        raise RuntimeError(
            f"jit({name}) was called for the first time or with new types, but the option "
            "jax_no_tracing forbids tracing."
        )
    arg_names = argument_names(fun, split)
    # A report of a NaN names the line of the user's that calls a library.
    debugs = ir.debug_nans.value or ir.debug_infs.value
    lines = ir.users_lines() if debugs else nullcontext()
    with timed("Tracing {} for jit", name, "jaxpr_trace_duration"), lines:
        trace = ir.trace_rolled.call if ir.rolled_layers.value else ir.trace_to_jaxpr
        jaxpr = trace(flat_fun, avals, ir.DebugInfo("jit", name, arg_names))
    by_position, by_name = split.static
    static = tuple(
        (argument_name(fun, position_or_name), _shorten(value))
        for position_or_name, value in (*by_position, *by_name)
    )
    return Program(
        ir.convert_constvars(jaxpr),
        tuple(jaxpr.consts),
        split.tree,
        out_tree,
        name,
        arg_names,
        result_info,
        qualified_name(fun),
        static,
        miss,
    )


def _check_result(name: str, info: str, leaf: object) -> None:
    try:
        ir.result_aval(leaf)
    except TypeError:
        raise TypeError(
            f"{info} of {name}, under jit, is {ir.described_value(leaf)}, which is not an array. "
            f"{ir.registering(leaf) or 'Return arrays, scalars or pytrees of them.'}"
        ) from None


class Inline(Enum):
    """When the jaxpr of a jitted function is inlined into that of its caller.

    ``JAX_EARLY``: while the caller is traced. ``JAX_LATE``: when the caller is lowered to
    StableHLO; ``inline=True`` means this. The others leave it to XLA, as ``inline=False`` does.
    """

    JAX_EARLY = "jax_early"
    JAX_LATE = "jax_late"
    XLA_EARLY = "xla_early"
    XLA_LATE = "xla_late"
    AUTO = "auto"


def inline_time(inline: bool | Inline) -> Inline:
    """Return the member for the argument ``inline`` of ``jit``, a bool or a member.

    Example:
      >>> from ricci_xla.tracing._program import inline_time
      >>> inline_time(True)
      <Inline.JAX_LATE: 'jax_late'>
    """
    if isinstance(inline, Inline):
        return inline
    return Inline.JAX_LATE if inline else Inline.AUTO
