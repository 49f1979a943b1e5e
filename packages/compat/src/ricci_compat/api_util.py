"""Static, donated and named arguments of calls: ``jax.api_util``."""

from collections.abc import Callable, Mapping, Sequence
from inspect import Signature
from typing import Any

from ricci_ir import DebugInfo
from ricci_pytree import PyTreeDef, argument_paths

from .linear_util import WrappedFun


def argnums_partial(
    f: WrappedFun,
    dyn_argnums: int | Sequence[int],
    args: Sequence[Any],
    require_static_args_hashable: bool = True,
) -> tuple[WrappedFun, tuple[Any, ...]]:
    """Fix all positional arguments except some.

    Args:
      f: the function.
      dyn_argnums: the positions of the dynamic arguments, which are not fixed.
      args: the values of all arguments.
      require_static_args_hashable: whether the fixed arguments must be hashable.

    Returns:
      A function of the dynamic arguments, and their values.

    Raises:
      ValueError: if a fixed argument is not hashable.
    """
    numbers = (dyn_argnums,) if isinstance(dyn_argnums, int) else tuple(dyn_argnums)
    # A negative argnum counts from the end, as an index does.
    positions = [n % len(args) for n in numbers]
    fixed = [None if i in positions else x for i, x in enumerate(args)]
    for i, value in enumerate(fixed):
        if require_static_args_hashable and type(value).__hash__ is None:
            raise ValueError(
                f"argument {i} of {f.__name__} is static, but of type {type(value).__name__}, "
                "which cannot be hashed. Pass a hashable equivalent, such as a tuple for a list."
            )

    def call(*dynamic: Any, **kwargs: Any) -> Any:
        full = list(fixed)
        for position, value in zip(positions, dynamic, strict=True):
            full[position] = value
        return f.call_wrapped(*full, **kwargs)

    return f.wrap(argnums_partial, (tuple(positions),), call), tuple(args[n] for n in positions)


def debug_info(
    traced_for: str,
    fun: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    *,
    static_argnums: Sequence[int] = (),
    static_argnames: Sequence[str] = (),
    result_paths_thunk: Callable[[], tuple[str, ...]] | None = None,
    sourceinfo: str | None = None,
    signature: Signature | None = None,
) -> DebugInfo:
    """The names of a function and of its arguments' leaves, for messages.

    Args:
      traced_for: the transformation.
      fun, args, kwargs: the function and the arguments of a call.
      static_argnums, static_argnames: the arguments that are not arrays; they get no names.
      result_paths_thunk: accepted for compatibility; results are named when they are known.
      sourceinfo: the function's name in messages; by default its ``__name__``.
      signature: the signature to name the arguments by; by default the function's.

    Returns:
      A ``DebugInfo``.

    Example:
      >>> from ricci.api_util import debug_info
      >>> debug_info("jit", lambda x, n: x, (1.0, 2), {}, static_argnums=(1,)).arg_names
      ('x',)
    """
    static = {n % len(args) for n in static_argnums} if args else set()
    # None has no leaves, so it can replace a static argument.
    dynamic = tuple(None if i in static else x for i, x in enumerate(args))
    options = {k: v for k, v in kwargs.items() if k not in static_argnames}
    name = sourceinfo or getattr(fun, "__name__", type(fun).__name__)
    if signature is not None:
        fun = _Signed(signature)
    return DebugInfo(traced_for, name, tuple(argument_paths(dynamic, options, fun)))


class _Signed:
    """A placeholder for a function, with a signature."""

    def __init__(self, signature: Signature):
        self.__signature__ = signature

    def __call__(self) -> None:
        """Do nothing."""


def donation_vector(
    donate_argnums: Sequence[int],
    donate_argnames: Sequence[str],
    in_tree: PyTreeDef,
    kws: bool = True,
) -> tuple[bool, ...]:
    """For each leaf of the arguments of a call, whether its buffer is donated.

    Args:
      donate_argnums, donate_argnames: the arguments that are donated.
      in_tree: the structure of ``(args, kwargs)``.
      kws: whether ``in_tree`` includes the keywords; else it is the structure of ``args``.

    Returns:
      A tuple of Booleans.

    Example:
      >>> from ricci import tree_util
      >>> from ricci.api_util import donation_vector
      >>> donation_vector((0,), (), tree_util.tree_structure(((1, (2, 3)), {"a": 4})))
      (True, False, False, False)
    """
    args, named = in_tree.children() if kws else (in_tree, None)
    donated: list[bool] = []
    for i, arg in enumerate(args.children()):
        donated += [i in donate_argnums] * arg.num_leaves
    if named is not None:
        data: Any = named.node_data()
        for name, arg in zip(data[1], named.children(), strict=True):
            donated += [name in donate_argnames] * arg.num_leaves
    return tuple(donated)


def rebase_donate_argnums(
    donate_argnums: Sequence[int], static_argnums: Sequence[int]
) -> tuple[int, ...]:
    """The positions of donated arguments among those that are not static.

    Args:
      donate_argnums: positions among all arguments.
      static_argnums: the positions of the static ones.

    Returns:
      The positions among the arguments that are not static.

    Raises:
      ValueError: if an argument is both.

    Example:
      >>> from ricci.api_util import rebase_donate_argnums
      >>> rebase_donate_argnums((0, 2), (1,))
      (0, 1)
    """
    both = sorted(set(donate_argnums) & set(static_argnums))
    if both:
        raise ValueError(
            f"arguments {', '.join(map(str, both))} are in donate_argnums and in static_argnums. "
            "A static argument has no buffer: leave it out of donate_argnums."
        )
    # Static arguments are removed before the call is compiled, so a position moves down by the
    # number of static ones ahead of it.
    shifted = (n - sum(0 <= static < n for static in static_argnums) for n in donate_argnums)
    return tuple(sorted(shifted))


def safe_map(f: Callable[..., Any], *sequences: Sequence[Any]) -> list[Any]:
    """``map`` as a list, for sequences of one length.

    Args:
      f: the function.
      sequences: sequences of one length.

    Returns:
      A list.

    Raises:
      ValueError: if their lengths differ.

    Example:
      >>> from ricci.api_util import safe_map
      >>> safe_map(lambda x, y: x + y, [1, 2], [10, 20])
      [11, 22]
    """
    return [f(*xs) for xs in zip(*sequences, strict=True)]


def safe_zip(*sequences: Sequence[Any]) -> list[tuple[Any, ...]]:
    """``zip`` as a list, for sequences of one length.

    Raises:
      ValueError: if their lengths differ.
    """
    return list(zip(*sequences, strict=True))
