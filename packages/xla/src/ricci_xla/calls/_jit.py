"""``jit`` and ``pjit``: compile on the first call; later calls are dispatched from C++."""

import copyreg
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import update_wrapper
from types import MethodType
from typing import TYPE_CHECKING, Any, Protocol, TypedDict, Unpack, overload

import ricci_ir as ir
from ricci_ir import PyTree
from ricci_xla.arrays._array import reshard_on_devices
from ricci_xla.arrays._donation import donating
from ricci_xla.arrays._layout import Format, copy_to_layout
from ricci_xla.compile._dispatch import FastPath, make_fast_callable
from ricci_xla.compile._place import Options
from ricci_xla.devices._jaxlib import runtime
from ricci_xla.devices._runtime_types import Device
from ricci_xla.meshes._sharding_types import Sharding
from ricci_xla.tracing._arguments import resolve_arguments
from ricci_xla.tracing._program import Inline, check_function, function_name, inline_time

from ._argument_shardings import UnspecifiedValue, validate_shardings
from ._jit_function import JitFunction
from ._wrapped import Wrapped

if TYPE_CHECKING:
    from ._stages import Lowered, Traced

__all__ = ["jit", "pjit"]

if TYPE_CHECKING:

    class JitOptions(TypedDict, total=False):
        """The keywords of ``jit``."""

        in_shardings: ir.PyTree
        out_shardings: ir.PyTree
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
        """The decorator that ``jit`` returns if called with keywords alone."""

        def __call__[**P, R](self, fun: Callable[P, R], /) -> Wrapped[P, R]: ...

    @overload
    def jit[**P, R](fun: Callable[P, R], /, **options: Unpack[JitOptions]) -> Wrapped[P, R]: ...
    @overload
    def jit(fun: None = None, /, **options: Unpack[JitOptions]) -> JitDecorator: ...


def jit(
    fun: Callable[..., Any] | None = None,
    /,
    *,
    in_shardings: ir.PyTree = None,
    out_shardings: ir.PyTree = None,
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
    which record its operations; XLA compiles these. Later calls with the same types only run the
    executable.

    Args:
      fun: a pure function of pytrees of arrays. Without it, ``jit(...)`` is a decorator.
      in_shardings, out_shardings: pytrees of shardings (prefixes of the positional arguments and
        of the result); ``None`` leaves a sharding to the compiler. With ``in_shardings``, all
        arguments are passed by position. Inside another traced function they are sharding
        constraints.
      static_argnums, static_argnames: arguments that are compile-time constants: hashable
        values; the function is compiled again for each. Either is inferred from the other.
      donate_argnums, donate_argnames: arguments whose buffers the results may reuse; they must
        not be used after the call.
      keep_unused: whether to pass unused arguments to the executable.
      device, backend: where to run; by default where the arguments are.
      inline: when called inside another traced function, become part of its jaxpr instead of a
        call: when that is lowered, or as specified by an ``Inline``.
      compiler_options: XLA options by name; ``optimization_level`` and ``memory_fitting_level`` are
        ``"O0"`` to ``"O3"``, and ``fdo_profile`` is a profile as bytes.

    Returns:
      A function with ``fun``'s arguments and results, and the methods ``trace``, ``lower``,
      ``eval_shape`` and ``clear_cache``. It returns as soon as the work is started:
      ``block_until_ready`` waits for the results.

    Raises:
      TypeError: when called with an argument that is neither an array nor static; or if
        ``in_shardings`` or ``out_shardings`` has a leaf that is not a sharding.
      ValueError: when called with a static argument that cannot be hashed; or if the shardings are
        not a prefix of the arguments or of the result, or are for arrays of another rank.
      IndivisibleError: if an array cannot be sharded evenly.
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
      happen while tracing, and their outcome is part of the jaxpr. ``debug.print`` prints in
      each call.

      Globals and attributes that the function reads are read while tracing, too: later changes are
      not seen. Pass them as arguments.

      Wrap a function once, not in each iteration of a loop: caches belong to function objects, so
      ``jit(lambda ...)`` in a loop compiles each time. To see why something was compiled again, set
      ``explain_cache_misses``.

    See also:
      ``lax.cond``, ``lax.scan`` and ``lax.while_loop`` for control flow on traced values;
      ``eval_shape`` for shapes alone; ``disable_jit`` to debug; ``bucketed`` for varying lengths.
    """
    if fun is None:
        return ir.api_boundary(
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
            f"backend={backend!r}. The device determines its backend."
        )
    if backend is not None or device is not None:
        ir.warn_user(
            "jit: device and backend are deprecated. Put the arguments on the device, with "
            "device_put(x, device).",
            DeprecationWarning,
        )
    sharding_trees = {"in_shardings": in_shardings, "out_shardings": out_shardings}
    for name, shardings in sharding_trees.items():
        if shardings is None or isinstance(shardings, UnspecifiedValue):
            sharding_trees[name] = None
            continue
        sharding_trees[name] = validate_shardings(name, shardings)
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
    info = JitFunction(
        fun, arguments, options, inline_time(inline), **sharding_trees, backend=backend
    )

    return _dispatched(info)


if not TYPE_CHECKING:  # it would lose the overloads
    jit = ir.api_boundary(jit)


def _dispatched(info: JitFunction) -> Callable[..., Any]:
    """Return jaxlib's dispatcher of a jitted function."""
    arguments = info.arguments
    # Errors about deleted arrays look for the arguments that they may have been.
    if arguments.donate_argnames:
        donating.add(info)
    across = getattr(info.in_shardings, "across", None)
    jitted = make_fast_callable(
        function_name(info.fun),
        info.on_miss if across is None else _across_first(across, info.on_miss),
        fun=info.fun,
        static_argnums=arguments.static_argnums,
        static_argnames=arguments.static_argnames,
        cache_key=info.dispatch_key,
    )
    # Weak, since the dispatcher itself references ``info``.
    info.dispatcher = weakref.ref(jitted)
    update_wrapper(jitted, info.fun)
    jitted._jit_info = info
    return jitted


def _reduce_dispatched(jitted: Callable[..., Any]) -> tuple[Any, ...]:
    """Pickle a jitted function as the function and the options of ``jit``, without its caches."""
    # Attributes that ``update_wrapper`` copies are restored from the function itself.
    attributes = {k: v for k, v in jitted.__dict__.items() if not k.startswith("__")}
    info = attributes.pop("_jit_info", None)
    if info is None:
        raise TypeError(f"the dispatcher of a single operation, {jitted!r}, cannot be pickled.")
    return _dispatched_with, (info, attributes)


def _dispatched_with(info: JitFunction, attributes: dict[str, Any]) -> Callable[..., Any]:
    """Return a jitted function that was pickled, with the attributes that users set."""
    jitted = _dispatched(info)
    jitted.__dict__.update(attributes)
    return jitted


copyreg.pickle(runtime.PjitFunction, _reduce_dispatched)


type _Miss = Callable[..., tuple[Any, FastPath | None]]


def _across_first(across: Callable[..., tuple[Any] | None], on_miss: _Miss) -> _Miss:
    """Serve the calls on arrays of several processes by ``across``, and others by ``on_miss``."""

    def on_call(*args: object, **kwargs: object) -> tuple[Any, FastPath | None]:
        result = across(args, kwargs)
        return on_miss(*args, **kwargs) if result is None else (result[0], None)

    return on_call


@ir.api_boundary
def _trace(jitted: Any, *args: object, **kwargs: object) -> "Traced":
    return _traced(jitted._jit_info, args, kwargs)


@ir.api_boundary
def _lower(jitted: Any, *args: object, **kwargs: object) -> "Lowered":
    return _traced(jitted._jit_info, args, kwargs).lower()


@ir.api_boundary
def _eval_shape(jitted: Any, *args: object, **kwargs: object) -> ir.PyTree:
    return _traced(jitted._jit_info, args, kwargs).out_info


def _clear_cache(jitted: Any) -> None:
    """Clear the function's cache. Later calls trace and compile it again."""
    info: JitFunction = jitted._jit_info
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

    # The class is jaxlib's, and single operations are dispatched by its instances as well: these
    # must not look like jitted functions.
    def __get__(self, jitted: object, owner: type[Any] | None = None) -> Any:
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


@ir.api_boundary
def _traced(info: JitFunction, args: tuple[Any, ...], kwargs: dict[str, Any]) -> "Traced":
    from ._stages import Traced  # noqa: PLC0415 - lazy: functions that are called need no stages

    program, split = info.trace(args, kwargs)
    program.report_miss()
    return Traced(program, split.leaves, info.options_for(program, args, kwargs))


ir.register_described(runtime.PjitFunction, _eval_shape)


# Jitted functions that copy an array into a layout, by format.
_layout_copies: ir.Cache[Format, Callable[[Any], Any]] = ir.Cache("layouts", 64)


@copy_to_layout.provide
def _copy_to_layout(array: ir.Array, target: Format) -> Any:
    """Copy an array, which has the format's sharding, into the layout of a format."""
    copy = _layout_copies.make(target, lambda: jit(lambda x: x, out_shardings=target))
    # The array is concrete: while a function is traced, too, it is copied now and not in the jaxpr.
    with ir.ensure_compile_time_eval():
        return copy(array)


# Jitted functions that reshard an array, by sharding.
_resharding: ir.Cache[Sharding, Callable[[Any], Any]] = ir.Cache("divisions", 64)


@reshard_on_devices.provide
def _reshard(array: ir.Array, sharding: Sharding) -> Any:
    """Reshard an array on the same devices."""
    make = lambda: jit(lambda x: x, out_shardings=sharding)
    return _resharding.make(sharding, make)(array)


def pjit[**P, R](
    fun: Callable[P, R],
    in_shardings: PyTree = None,
    out_shardings: PyTree = None,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
    donate_argnums: int | Sequence[int] | None = None,
    donate_argnames: str | Iterable[str] | None = None,
    keep_unused: bool = False,
    device: Device | None = None,
    backend: str | None = None,
    inline: bool = False,
    compiler_options: Mapping[str, Any] | None = None,
) -> Wrapped[P, R]:
    """Compile a function with XLA: ``jit`` with options that may be passed by position.

    Args:
      fun: a pure function of pytrees of arrays.
      in_shardings, out_shardings, static_argnums, static_argnames: as for ``jit``.
      donate_argnums, donate_argnames, keep_unused, device, backend: as for ``jit``.
      inline, compiler_options: as for ``jit``.

    Returns:
      The jitted function, as from ``jit``.

    Example:
      >>> from ricci.experimental.pjit import pjit
      >>> pjit(lambda x: x)(3.0)
      Array(3., dtype=float32, weak_type=True)
    """
    return jit(
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
