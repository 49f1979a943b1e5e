"""Explain why a jitted function is traced again (``jax_explain_cache_misses``).

Before tracing, the call is compared with the most similar of the calls traced so far. Afterwards,
when the cost of the miss is known, the logger ``ricci.tracing`` gets the differences.
"""

import re
import weakref
from collections.abc import Callable, Hashable, Iterator, Sequence
from time import perf_counter
from typing import Any

from ricci_ir import Source, caller_source, shown_file
from ricci_pytree import PyTreeDef
from ricci_xla.devices._logging import logger

from ._arguments import argument_name
from ._keys import Key

# The argument's part of a leaf's path: its name, or its position if it has no name.
_leading_name = r"args\[\d+\]|kwargs\['\w+'\]|[^\[.]*"

# The code of functions that were explained as new, to recognize functions that are defined again
# for each call.
_seen: "weakref.WeakSet[Any]" = weakref.WeakSet()


class CacheMiss:
    """The explanation of a call whose program was not in the cache.

    Attributes:
      name: the function's name.
      is_first: whether the function has not been traced before.
      reasons: the differences to the most similar call that was traced before.
    """

    __slots__ = ("_lines", "_reported", "_start", "is_first", "name", "reasons")

    def __init__(self, name: str, lines: Sequence[str], reasons: Sequence[str], is_first: bool):
        self.name: str = name
        self.reasons: Sequence[str] = reasons
        self.is_first: bool = is_first
        self._lines = lines
        self._start = perf_counter()
        self._reported = False

    def report(self) -> None:
        """Log the explanation once, with the time that has passed since the miss.

        The record has this object as its attribute ``cache_miss``, for handlers.
        """
        if self._reported:
            return
        self._reported = True
        took = perf_counter() - self._start
        text = "\n".join(self._lines)
        logger("ricci.tracing").warning(
            "%s\n  It cost %.6f sec.", text, took, extra={"cache_miss": self}
        )


def explain_miss(
    fun: Callable[..., Any],
    name: str,
    key: Key,
    arg_names: Sequence[str],
    traced: Sequence[tuple[Key, Sequence[str]]],
) -> CacheMiss:
    """Compare a call with those that were traced before.

    Args:
      fun: the function.
      name: its name.
      key, arg_names: the call's key, and the names of its dynamic arguments' leaves.
      traced: the same for each call that was traced before.
    """
    code = getattr(fun, "__code__", None)
    file = shown_file(code.co_filename) if code else ""
    defined = f", defined at {file}:{code.co_firstlineno}" if code else ""
    lines = [f"Tracing cache miss at {Source(*caller_source(3))}", f"  for {name}{defined}:"]
    if not traced:
        lines.append("  it has not been traced before.")
        if code is not None:
            if code in _seen:
                again = (
                    "Another function defined on the same line has been; a function that is "
                    "defined again for each call is traced for each call. Define it once."
                )
                return CacheMiss(name, [*lines, f"  {again}"], [again], False)
            _seen.add(code)
        return CacheMiss(name, lines, [], True)
    before, before_names = min(traced, key=lambda item: _distance(key, item[0]))
    differences = _differences(fun, key, arg_names, before, before_names)
    reasons = [_shortened(text) for text in differences][:8]
    lines.append("  no traced call had the same arguments. Compared with the most similar:")
    lines += [f"  - {text}" for text in reasons]
    return CacheMiss(name, lines, reasons, False)


def _shortened(text: str) -> str:
    return text if len(text) < 400 else text[:397] + "..."


def _distance(now: Key, before: Key) -> tuple[bool, bool, bool, int]:
    """Return a sort key by similarity: structure, static arguments, settings, then types."""
    # Types are interned: equal ones are one object.
    differing = sum(a is not b for a, b in zip(now.avals, before.avals, strict=False))
    return (
        now.tree != before.tree,
        _static(now) != _static(before),
        now.context != before.context,
        differing,
    )


def _static(key: Key) -> tuple[Any, ...]:
    return key.static, key.static_types


def _differences(
    fun: Callable[..., Any],
    now: Key,
    names: Sequence[str],
    before: Key,
    names_before: Sequence[str],
) -> Iterator[str]:
    if now.tree != before.tree:
        yield from _structure_differences(now, names, before, names_before)
    else:
        for name, aval, earlier in zip(names, now.avals, before.avals, strict=True):
            if aval is not earlier:
                types = f"{aval.str_short()} now and was {earlier.str_short()}"
                yield f"argument {name} is {types}{_weakness(aval, earlier)}"
    if _static(now) != _static(before):
        yield from _static_differences(fun, now, before)
    for option, value, earlier in now.context.settings.differences(before.context.settings):
        yield f"{option} is {value!r} now and was {earlier!r}"
    if now.context.axes != before.context.axes:
        axes, earlier_axes = map(_show_axes, (now.context.axes, before.context.axes))
        yield f"the named axes in scope are {axes} now and were {earlier_axes}"


def _show_axes(axes: tuple[tuple[Hashable, int], ...]) -> str:
    return ", ".join(f"{name!r} of size {size}" for name, size in axes) or "none"


def _weakness(now: Any, before: Any) -> str:
    if getattr(now, "weak_type", False) == getattr(before, "weak_type", False):
        return ""
    weak, strong = ("now", "before") if now.weak_type else ("before", "now")
    return f" (weakly typed {weak}, as Python scalars are, and not {strong})"


def _structure_differences(
    now: Key, names: Sequence[str], before: Key, names_before: Sequence[str]
) -> Iterator[str]:
    added = [n for n in names if n not in names_before]
    missing = [n for n in names_before if n not in names]
    if added:
        yield f"argument {', '.join(added)} is there now and was not"
    if missing:
        yield f"argument {', '.join(missing)} is not there now and was"
    earlier = dict(_arguments(before, names_before))
    changed = [
        f"argument {name} is {_shown(tree)} now and was {_shown(earlier[name])}"
        for name, tree in _arguments(now, names)
        if name in earlier and tree != earlier[name]
    ]
    yield from changed
    if not (added or missing or changed):
        yield f"(args, kwargs) are {_shown(now.tree)} now and were {_shown(before.tree)}"


def _arguments(key: Key, names: Sequence[str]) -> Iterator[tuple[str, PyTreeDef]]:
    """Yield the name and the structure of each argument that has leaves."""
    start = 0
    for group in key.tree.children():
        for tree in group.children():
            if tree.num_leaves:
                yield re.match(_leading_name, names[start])[0], tree  # pyright: ignore
            start += tree.num_leaves


def _shown(tree: PyTreeDef) -> str:
    return str(tree).removeprefix("PyTreeDef(")[:-1]


def _static_differences(fun: Callable[..., Any], now: Key, before: Key) -> Iterator[str]:
    values = [dict((*key.static[0], *key.static[1])) for key in (now, before)]
    for argument in {**values[0], **values[1]}:
        shown = [repr(v[argument]) if argument in v else "not given" for v in values]
        both = argument in values[0] and argument in values[1]
        if (
            not both
            or type(values[0][argument]) is not type(values[1][argument])
            or (values[0][argument] != values[1][argument])
        ):
            name = argument_name(fun, argument)
            yield f"static argument {name} is {shown[0]} now and was {shown[1]}"
