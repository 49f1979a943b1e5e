"""Static and donated arguments of jitted functions."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ricci_ir import Tracer, TupleRecord, explained, resolve_argnums, tracer_message
from ricci_pytree import PyTreeDef, read_signature, tree_flatten


class Arguments(TupleRecord):
    """The static and donated arguments of a function, by position and by name.

    Positions may be negative where the function's signature cannot be read.
    """

    static_argnums: tuple[int, ...]
    static_argnames: tuple[str, ...]
    donate_argnums: tuple[int, ...]
    donate_argnames: tuple[str, ...]


def resolve_arguments(
    fun: Callable[..., Any],
    static_argnums: int | Sequence[int] | None,
    static_argnames: str | Iterable[str] | None,
    donate_argnums: int | Sequence[int] | None,
    donate_argnames: str | Iterable[str] | None,
) -> Arguments:
    """Infer positions from names and names from positions, as far as the signature allows.

    Raises:
      ValueError: if a position or name is not an argument of ``fun``, one argument is both static
        and donated, or arguments are donated by name to a function without a signature.
    """
    if donate_argnames is not None and read_signature(fun) is None:
        raise ValueError(
            f"donate_argnames={donate_argnames!r}: {_name(fun)} has no readable signature, so that "
            "names do not resolve to positions. Pass donate_argnums instead."
        )
    static = resolve_argnums(fun, "static", static_argnums, static_argnames)
    donated = resolve_argnums(fun, "donate", donate_argnums, donate_argnames)
    both = (set(static[0]) & set(donated[0])) or (set(static[1]) & set(donated[1]))
    if both:
        names = [argument_name(fun, x) for x in sorted(both, key=str)]
        raise ValueError(
            f"static and donated arguments must not overlap, but of {_name(fun)} "
            f"{', '.join(names)} is both. A static argument has no memory to donate."
        )
    return Arguments(*static, *donated)


def _name(fun: Callable[..., Any]) -> str:
    return getattr(fun, "__name__", None) or repr(fun)


# The static arguments of a call: positions with values, and names with values.
type _Static = tuple[tuple[tuple[int, Any], ...], tuple[tuple[str, Any], ...]]


class Split(TupleRecord):
    """A call's arguments, split into dynamic and static ones.

    Attributes:
      leaves, tree: the flattened dynamic arguments ``(args, kwargs)``.
      static: the static arguments, ``((position, value), ...)`` and ``((name, value), ...)``.
    """

    leaves: list[Any]
    tree: PyTreeDef
    static: _Static


def split_static(
    arguments: Arguments, fun: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Split:
    """Split a call's arguments into dynamic ones, flattened, and static ones.

    Raises:
      ValueError: if a static argument cannot be hashed.
    """
    numbers, names = arguments.static_argnums, arguments.static_argnames
    if not numbers and not names:
        leaves, tree = tree_flatten((args, kwargs))
        return Split(leaves, tree, ((), ()))
    # A static argument may have a default and be left out of the call.
    positions = {n % len(args) for n in numbers if -len(args) <= n < len(args)}
    by_position = tuple((i, args[i]) for i in sorted(positions))
    by_name = tuple(sorted((k, v) for k, v in kwargs.items() if k in names))
    for position_or_name, value in (*by_position, *by_name):
        try:
            hash(value)
        except TypeError:
            name = argument_name(fun, position_or_name)
            raise ValueError(_unhashable(f"argument {name} of {_name(fun)}", value)) from None
    dynamic = tuple(a for i, a in enumerate(args) if i not in positions)
    dynamic_kwargs = {k: v for k, v in kwargs.items() if k not in names}
    leaves, tree = tree_flatten((dynamic, dynamic_kwargs))
    return Split(leaves, tree, (by_position, by_name))


def _unhashable(argument: str, value: object) -> str:
    """Return the error message for an unhashable static argument."""
    if isinstance(value, Tracer):
        text = tracer_message(
            f"{argument} is static, but what was passed cannot be hashed: it is a traced array of "
            f"type {value.aval.str_short()}.",
            value,
            "A static argument must have a value while tracing: pass a Python value, or take it "
            "out of static_argnums and static_argnames.",
        )
    else:
        text = (
            f"{argument} is static, but its type {type(value).__name__} cannot be hashed. Static "
            "arguments are part of the compilation cache's key: pass a hashable equivalent (a "
            "tuple instead of a list)."
        )
    return explained(text, "static-arguments")


def argument_name(fun: Callable[..., Any], position: int | str) -> str:
    """Return the name of an argument given by position or name, else the position."""
    if isinstance(position, str):
        return position
    signature = read_signature(fun)
    names = [] if signature is None else list(signature.parameters)
    return names[position] if position < len(names) else str(position)


def join_static(
    static: _Static, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Insert static arguments among dynamic ones: the inverse of ``split_static``."""
    by_position, by_name = static
    if by_position:
        full = list(args)
        for i, value in by_position:
            # Positions are in increasing order, so each insertion finds all arguments before it in
            # place.
            full.insert(i, value)
        args = tuple(full)
    return args, {**kwargs, **dict(by_name)} if by_name else kwargs


def donated_leaves(
    arguments: Arguments, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[bool, ...]:
    """Return for each dynamic leaf of a call whether its buffer is donated."""
    if not arguments.donate_argnums and not arguments.donate_argnames:
        return ()
    static = {n % len(args) for n in arguments.static_argnums if -len(args) <= n < len(args)}
    donate = {n % len(args) for n in arguments.donate_argnums if -len(args) <= n < len(args)}
    flags: list[bool] = []
    for i, arg in enumerate(args):
        if i not in static:
            flags += [i in donate] * len(tree_flatten(arg)[0])
    names = arguments.donate_argnames
    # Pytrees flatten dicts in the order of their keys, so the flags follow that order.
    for key in sorted(kwargs):
        if key not in arguments.static_argnames:
            flags += [key in names] * len(tree_flatten(kwargs[key])[0])
    return tuple(flags)
