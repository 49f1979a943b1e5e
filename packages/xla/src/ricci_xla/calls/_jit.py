"""``jit``: compiles a function with XLA on its first call; later calls are dispatched from C++."""

import weakref
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import update_wrapper
from types import MethodType
from typing import TYPE_CHECKING, Any, Protocol, TypedDict, Unpack, overload

from ricci_ir import (
    Array,
    Cache,
    DonatingCall,
    PyTree,
    Tracer,
    api_boundary,
    check_distinct,
    context,
    current_source,
    ensure_compile_time_eval,
    eval_jaxpr,
    eval_trace,
    is_observed,
    notify,
    register_described,
    staged_call,
)
from ricci_pytree import tree_unflatten
from ricci_xla.arrays._across_processes import across_processes
from ricci_xla.arrays._donation import donating, name_repeated
from ricci_xla.arrays._layout import Format, relayout
from ricci_xla.devices._client import get_backend
from ricci_xla.devices._jaxlib import runtime
from ricci_xla.devices._runtime_types import Device
from ricci_xla.executables._compiled import compile_program
from ricci_xla.executables._dispatch import FastPath, make_fast_callable
from ricci_xla.executables._nan_checks import checks_results
from ricci_xla.executables._program_devices import Options
from ricci_xla.executables._two_stages import two_stage_compilation
from ricci_xla.meshes._sharding import single_device_sharding
from ricci_xla.meshes._sharding_types import Sharding
from ricci_xla.programs._arguments import (
    Arguments,
    Split,
    donated_leaves,
    resolve_arguments,
    split_static,
)
from ricci_xla.programs._inline import Inline, inline_time
from ricci_xla.programs._program import (
    Program,
    abstract_leaves,
    check_function,
    function_name,
    programs,
    trace_program,
)
from ricci_xla.programs._remembered import memories

from ._given_shardings import check_positional, checked_shardings
from ._inner_shardings import (
    ProgramShardings,
    check_leaves,
    inner_shardings,
    layout_leaves,
    sharding_leaves,
)
from ._memory_errors import run
from ._references import HeldCall, held_call
from ._stages import Lowered, Traced, Wrapped

__all__ = [
    "jit",
]


class JitInfo:
    """A jitted function's Python function, static and donated arguments, options and cache."""

    __slots__ = (
        "__weakref__",
        "_options",
        "arguments",
        "backend",
        "cache",
        "earlier",
        "fun",
        "in_shardings",
        "inline",
        "out_shardings",
    )

    def __init__(
        self,
        fun: Callable[..., Any],
        arguments: Arguments,
        options: Options,
        inline: Inline,
        in_shardings: PyTree,
        out_shardings: PyTree,
        backend: str | None,
    ):
        self.fun = fun
        self.arguments = arguments
        self._options = options
        self.backend = backend
        self.inline = inline
        self.in_shardings = in_shardings
        self.out_shardings = out_shardings
        self.cache, self.earlier = programs.of(fun, arguments, inline)

    @property
    def options(self) -> Options:
        """The options that all calls share. A backend is looked for when a call needs it."""
        if self.backend is not None and self._options.device is None:
            device = get_backend(self.backend).local_devices()[0]
            self._options = self._options._replace(device=device)
        return self._options

    @property
    def key(self) -> Hashable:
        """What distinguishes the programs of wrappers of one function, as far as it is hashable."""
        donated = self.arguments.donate_argnums, self.arguments.donate_argnames
        return self._options, self.backend, self.inline, donated

    @property
    def described(self) -> tuple[Any, ...]:
        """What ``jit`` was given besides the function."""
        given = self.in_shardings, self.out_shardings
        return self.arguments, self._options, self.backend, self.inline, *given

    def trace(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Program, Split]:
        """The program of a call, and the call's arguments, flattened."""
        if kwargs and self.in_shardings is not None:
            check_positional(self.fun, self.in_shardings, kwargs)
        split = split_static(self.arguments, self.fun, args, kwargs)
        # Objects that hold an array are read now, since the function may put another into them.
        for i, x in enumerate(split.leaves):
            if hasattr(type(x), "__jax_array__"):
                split.leaves[i] = x.__jax_array__()
        avals = abstract_leaves(self.fun, split)
        program = trace_program(self.fun, split, avals, self.cache, self.earlier)
        check_distinct(
            program.name, [*program.consts, *split.leaves], lambda: program.arg_names or ()
        )
        return program, split

    def options_for(
        self, program: Program, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Options:
        """The options of a call, with donation and shardings for each leaf."""
        options = self.options
        # Checking results may run the program again, for which its arguments must not be donated.
        if not checks_results():
            options = options._replace(donated=donated_leaves(self.arguments, args, kwargs))
        if self.in_shardings is not None:
            options = options._replace(in_shardings=self.argument_shardings(program))
            if not isinstance(self.in_shardings, ProgramShardings):
                given = (self.in_shardings, None)
                layouts = layout_leaves("in_shardings", program.in_tree, given)
                options = options._replace(in_layouts=layouts)
        if self.out_shardings is not None:
            options = options._replace(out_shardings=self.result_shardings(program))
            layouts = layout_leaves("out_shardings", program.out_tree, self.out_shardings)
            options = options._replace(out_layouts=layouts)
        return options

    def argument_shardings(self, program: Program) -> tuple[Sharding | None, ...]:
        """For each leaf of the arguments the sharding that it must have, if one was given."""
        given = self.in_shardings
        if isinstance(given, ProgramShardings):
            return tuple(given.find(program.jaxpr)[len(program.consts) :])
        found = sharding_leaves("in_shardings", program.in_tree, (given, None))
        avals = program.jaxpr.in_avals[len(program.consts) :]
        names = [f"argument {name} of jit({program.name})" for name in program.arg_names]
        check_leaves(found, avals, names)
        return found

    def result_shardings(self, program: Program) -> tuple[Sharding | None, ...]:
        """For each leaf of the result likewise."""
        found = sharding_leaves("out_shardings", program.out_tree, self.out_shardings)
        names = [f"{info} of jit({program.name})" for info in program.result_info]
        check_leaves(found, program.jaxpr.out_avals, names)
        return found


if TYPE_CHECKING:

    class JitOptions(TypedDict, total=False):
        """The keywords of ``jit``."""

        in_shardings: PyTree
        out_shardings: PyTree
        static_argnums: int | Sequence[int] | None
        static_argnames: str | Iterable[str] | None
        donate_argnums: int | Sequence[int] | None
        donate_argnames: str | Iterable[str] | None
        keep_unused: bool
        device: Device | None
        backend: str | None
        inline: bool | Inline
        compiler_options: Mapping[str, Any] | None

    class JitDecorator(Protocol):
        """What ``jit`` with keywords alone returns."""

        def __call__[**P, R](self, fun: Callable[P, R], /) -> Wrapped[P, R]: ...

    @overload
    def jit[**P, R](fun: Callable[P, R], /, **options: Unpack[JitOptions]) -> Wrapped[P, R]: ...
    @overload
    def jit(fun: None = None, /, **options: Unpack[JitOptions]) -> JitDecorator: ...


def jit(
    fun: Callable[..., Any] | None = None,
    /,
    *,
    in_shardings: PyTree = None,
    out_shardings: PyTree = None,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
    donate_argnums: int | Sequence[int] | None = None,
    donate_argnames: str | Iterable[str] | None = None,
    keep_unused: bool = False,
    device: Device | None = None,
    backend: str | None = None,
    inline: bool | Inline = False,
    compiler_options: Mapping[str, Any] | None = None,
) -> Any:
    """Compile a function with XLA when it is called, once for each combination of types.

    The first call with arguments of some shapes and dtypes runs the Python function on tracers,
    which record its operations; XLA compiles these. Later calls with the same types run the
    compiled program alone.

    Args:
      fun: a pure function of pytrees of arrays. Without it, ``jit(...)`` is a decorator.
      in_shardings, out_shardings: pytrees of shardings (prefixes of the positional arguments and
        of the result) that say how arrays are divided over devices; ``None`` leaves it open. With
        ``in_shardings``, all arguments are passed by position. Where the function is called in
        another program they are constraints of that.
      static_argnums, static_argnames: arguments that are compile-time constants: hashable
        values; the function is compiled anew for each. Either is inferred from the other.
      donate_argnums, donate_argnames: arguments whose buffers the results may reuse; they must
        not be used after the call.
      keep_unused: pass arguments that the function does not use all the same.
      device, backend: where to run; by default where the arguments are.
      inline: when called inside another traced function, become part of its program instead of
        a call: when that is lowered, or as ``Inline`` says.
      compiler_options: XLA options by name.

    Returns:
      A function with ``fun``'s arguments and results, and the methods ``trace``, ``lower``,
      ``eval_shape`` and ``clear_cache``. It returns as soon as the work is started:
      ``block_until_ready`` waits for the results.

    Raises:
      TypeError: when called with an argument that is neither an array nor static; or if
        ``in_shardings`` or ``out_shardings`` has a leaf that is no sharding.
      ValueError: when called with a static argument that cannot be hashed; or if the shardings are
        no prefix of the arguments or of the result, or are for arrays of another rank.
      IndivisibleError: if a sharding cannot divide an array evenly.
      ConcretizationTypeError: when Python needs the value of a traced array, as in ``if x > 0:``.

    Example:
      The Python code runs once for each combination of types and of static values, as its ``print``
      shows:

      >>> from functools import partial
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> @partial(ricci.jit, static_argnames="power")
      ... def norm(x, power=2):
      ...     print("traced for shape", x.shape, "and power", power)
      ...     return jnp.sum(jnp.abs(x) ** power)
      >>> float(norm(jnp.array([3.0, 4.0])))
      traced for shape (2,) and power 2
      25.0
      >>> float(norm(jnp.array([1.0, 1.0])))  # compiled already
      2.0
      >>> float(norm(jnp.array([1.0, 1.0]), power=3))
      traced for shape (2,) and power 3
      2.0

    Notes:
      Side effects of the Python code (``print``, appending to a list, NumPy's random numbers)
      happen while tracing, and their outcome is part of the program. ``debug.print`` prints in
      each call.

      Globals and attributes that the function reads are read while tracing, too: later changes are
      not seen. Pass them as arguments.

      Wrap a function once, not in each turn of a loop: programs are kept for a function object, and
      ``jit(lambda ...)`` in a loop compiles each time. To see why something was compiled anew, set
      ``explain_cache_misses``.

    See also:
      ``lax.cond``, ``lax.scan`` and ``lax.while_loop`` for control flow on traced values;
      ``eval_shape`` for shapes alone; ``disable_jit`` to debug; ``bucketed`` for varying lengths.
    """
    if fun is None:
        return api_boundary(
            lambda fun: jit(
                fun,
                in_shardings=in_shardings,
                out_shardings=out_shardings,
                static_argnums=static_argnums,
                static_argnames=static_argnames,
                donate_argnums=donate_argnums,
                donate_argnames=donate_argnames,
                keep_unused=keep_unused,
                device=device,
                backend=backend,
                inline=inline,
                compiler_options=compiler_options,
            )
        )
    check_function(fun)
    arguments = resolve_arguments(
        fun, static_argnums, static_argnames, donate_argnums, donate_argnames
    )
    if backend is not None and device is not None:
        raise ValueError(
            f"jit takes a device or a backend, not both; got device={device!r} and "
            f"backend={backend!r}. The device says which backend it belongs to."
        )
    given = {"in_shardings": in_shardings, "out_shardings": out_shardings}
    for name, shardings in given.items():
        if shardings is None:
            continue
        given[name] = checked_shardings(name, shardings)
        if device is not None or backend is not None:
            raise ValueError(
                f"jit takes {name}, or a device or backend, not both: shardings name their "
                "devices. SingleDeviceSharding(device) is the sharding of arrays on one."
            )
    options = Options(
        device=device,
        keep_unused=keep_unused,
        compiler_options=tuple(sorted((compiler_options or {}).items())),
    )
    info = JitInfo(fun, arguments, options, inline_time(inline), **given, backend=backend)

    if arguments.donate_argnames:
        donating.add(info)

    across = getattr(in_shardings, "across", None)

    def on_miss(*args: object, **kwargs: object) -> tuple[Any, FastPath | None]:
        if across is not None:
            done = across(args, kwargs)
            if done is not None:
                return done[0], None
        call = None
        if memories.calls is not None:
            call = memories.calls.begin(info, args, kwargs)
        if call is None:
            program, split = info.trace(args, kwargs)
        else:
            known = call.answer()
            if known is not None:
                return known
            with call:
                program, split = info.trace(args, kwargs)
        if _is_traced(program, split):
            program.report_miss()
            donated = donated_leaves(info.arguments, args, kwargs)
            if is_observed():
                _notify_donating(program, donated)
            return _call_in_trace(info, program, split, donated), None
        call_options = info.options_for(program, args, kwargs)
        held = held_call(program, split.leaves)
        if held is not None:
            return _call_held(held, call_options)
        if call_options.donated:
            name_repeated(program.name, program.arg_names, split.leaves, call_options.donated)
        compiled = compile_program(
            program, split.leaves, call_options, in_stages=two_stage_compilation.value
        )
        program.report_miss()
        if call is not None:
            call.keep(compiled)
        was_provisional = compiled.is_provisional
        outs, fast = run(compiled, split.leaves, call_options)
        if was_provisional and not compiled.is_provisional:
            function = itself()
            if function is not None:
                function._clear_cache()  # C++ has noted that such calls come to Python
        return tree_unflatten(program.out_tree, outs), fast

    jitted = make_fast_callable(
        function_name(fun),
        on_miss,
        fun=fun,
        static_argnums=arguments.static_argnums,
        static_argnames=arguments.static_argnames,
        cache_key=_cache_key(info),
    )
    itself = weakref.ref(jitted)  # the function is freed without the garbage collector
    update_wrapper(jitted, fun)
    jitted._jit_info = info
    return jitted


if not TYPE_CHECKING:  # it would lose the overloads
    jit = api_boundary(jit)


def _cache_key(info: JitInfo) -> Hashable:
    """The part of the dispatcher's key that differs between wrappers of one function."""
    if info.in_shardings is not None or info.out_shardings is not None:
        return object()  # equal to nothing else, since pytrees of shardings may not be hashable
    return info.key


@api_boundary
def _trace(jitted: Any, *args: object, **kwargs: object) -> Traced:
    return _traced(jitted._jit_info, args, kwargs)


@api_boundary
def _lower(jitted: Any, *args: object, **kwargs: object) -> Lowered:
    return _traced(jitted._jit_info, args, kwargs).lower()


@api_boundary
def _eval_shape(jitted: Any, *args: object, **kwargs: object) -> PyTree:
    return _traced(jitted._jit_info, args, kwargs).out_info


def _clear_cache(jitted: Any) -> None:
    """Clear the function's cache. Later calls trace and compile it again."""
    info: JitInfo = jitted._jit_info
    info.cache.clear()
    if info.earlier is not None:
        info.earlier.clear()
    jitted._clear_cache()


class _JitMethod:
    """A method of jitted functions among jaxlib's ``PjitFunction`` objects.

    Methods are attributes of the class, since ``functools.wraps`` copies those of an object.
    """

    __slots__ = ("function", "name")

    def __init__(self, name: str, function: Callable[..., Any]):
        self.name = name
        self.function = function

    def __get__(self, jitted: Any, owner: type[Any] | None = None) -> Any:
        if jitted is None:
            return self.function
        if "_jit_info" not in jitted.__dict__:  # the dispatcher of a single operation
            raise AttributeError(f"{type(jitted).__name__!r} object has no attribute {self.name!r}")
        return MethodType(self.function, jitted)


for _name, _method in {
    "trace": _trace,
    "lower": _lower,
    "eval_shape": _eval_shape,
    "clear_cache": _clear_cache,
}.items():
    setattr(runtime.PjitFunction, _name, _JitMethod(_name, _method))


def _is_traced(program: Program, split: Split) -> bool:
    """Whether a call is part of a traced function, so that it must be recorded and not run."""
    return (
        context.trace is not eval_trace
        or any(isinstance(x, Tracer) for x in split.leaves)
        or any(isinstance(x, Tracer) for x in program.consts)
    )


def _call_held(held: HeldCall, options: Options) -> tuple[Any, FastPath | None]:
    """Run a program that uses references."""
    donates = not checks_results()
    program = held.program
    with held.locked():
        options = held.options(options, donates)
        compiled = compile_program(program, held.leaves(donates=False), options)
        leaves = held.leaves(donates)
        program.report_miss()
        outs, fast = run(compiled, leaves, options)
        outs = held.settle(outs)
    return tree_unflatten(program.out_tree, outs), None if held.refs else fast


def _notify_donating(program: Program, donated: tuple[bool, ...]) -> None:
    if any(donated):
        count = len(program.consts)
        names = program.arg_names
        source = current_source()
        notify(DonatingCall(source, program.name, program.jaxpr, count, names, donated))


def _call_in_trace(info: JitInfo, program: Program, split: Split, donated: tuple[bool, ...]) -> Any:
    if info.options.compiler_options:
        raise ValueError(
            f"{program.name} has compiler_options={dict(info.options.compiler_options)}, but it is "
            "called inside another traced function, and XLA takes options for whole programs "
            "only. Give them to the outermost jit."
        )
    leaves = split.leaves
    device = info.options.device
    if info.in_shardings is not None and not isinstance(info.in_shardings, ProgramShardings):
        leaves = inner_shardings.apply(leaves, info.argument_shardings(program))
    elif device is not None:
        leaves = inner_shardings.apply(leaves, [single_device_sharding(device)] * len(leaves))
    operands = [*program.consts, *leaves]
    if info.inline is Inline.JAX_EARLY:
        outs = eval_jaxpr(program.jaxpr, (), *operands)
    else:
        if info.inline is Inline.JAX_LATE:
            staged_call.inlined.add(program.jaxpr)
        if donated:
            donated = (False,) * len(program.consts) + donated
        outs = staged_call.bind(program.jaxpr, program.name, operands, donated)
    if info.out_shardings is not None:
        outs = inner_shardings.apply(outs, info.result_shardings(program))
    elif device is not None:
        outs = inner_shardings.apply(outs, [single_device_sharding(device)] * len(outs))
    return tree_unflatten(program.out_tree, outs)


@api_boundary
def _traced(info: JitInfo, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Traced:
    program, split = info.trace(args, kwargs)
    program.report_miss()
    return Traced(program, split.leaves, info.options_for(program, args, kwargs))


register_described(runtime.PjitFunction, _eval_shape)


# Functions that give an array a layout, by format.
_movers: Cache[Format, Callable[[Any], Any]] = Cache("layouts", 64)


def _in_layout(array: Array, where: Format) -> Any:
    """An array in the layout of a format. It has the format's sharding."""
    mover = _movers.make(where, lambda: jit(lambda x: x, out_shardings=where))
    with ensure_compile_time_eval():
        return mover(array)


relayout.apply = _in_layout


# Functions that divide an array over several processes in another way, by its sharding.
_dividers: Cache[Sharding, Callable[[Any], Any]] = Cache("divisions", 64)


def _divided(array: Array, sharding: Sharding) -> Any:
    """An array over several processes with another sharding on the same devices."""
    make = lambda: jit(lambda x: x, out_shardings=sharding)
    return _dividers.make(sharding, make)(array)


across_processes.reshard = _divided
