"""The user's line and the name scopes of operations: ``jax.extend.source_info_util``.

An interpreter that evaluates equations enters the place and the names of each, so that the
operations it binds have them as well:

    with user_context(eqn.source_info.traceback, name_stack=eqn.source_info.name_stack):
        results = eqn.primitive.bind(*operands, **eqn.params)
"""

from typing import Any

import ricci_ir as ir


class SourceInfo(ir.Source):
    """A place in the user's code, and the names around it.

    Args:
      traceback: the place, as the ``traceback`` of another one; ``None`` if it is not known.
      name_stack: the names.
    """

    __slots__ = ()

    def __new__(cls, traceback: ir.Source | None, name_stack: tuple[str, ...] = ()) -> "SourceInfo":
        code, offset = (None, 0) if traceback is None else traceback[:2]
        return ir.Source.__new__(cls, code, offset, ir.NameStack(name_stack))


def current() -> SourceInfo:
    """The innermost line of the user's code, and the current name stack."""
    code, offset, *_ = ir.caller_source(1)
    return SourceInfo(ir.Source(code, offset), ir.context.name_stack)


def new_source_info() -> SourceInfo:
    """No place and no names."""
    return SourceInfo(None)


def current_name_stack() -> ir.NameStack:
    """The current name stack."""
    return ir.NameStack(ir.context.name_stack)


def new_name_stack(name: str = "") -> ir.NameStack:
    """A stack of one name, or of none.

    Args:
      name: the first scope, if there is one.

    Returns:
      The name stack.

    Example:
      >>> from ricci.extend.source_info_util import new_name_stack
      >>> print(new_name_stack("layer").extend("norm"))
      layer/norm
    """
    return ir.NameStack((name,) if name else ())


def summarize(source_info: ir.Source, num_frames: int = 1) -> str:
    """A place in the user's code as text: file, line, column and function.

    Args:
      source_info: the place.
      num_frames: accepted for compatibility: tracing records the innermost line alone.
    """
    return "unknown" if source_info.code is None else str(source_info)


class set_name_stack(ir.ContextBlock):
    """Replace the name stack inside a ``with`` block.

    Args:
      name_stack: the names.

    Example:
      >>> from ricci.extend.source_info_util import current_name_stack, new_name_stack
      >>> from ricci.extend.source_info_util import set_name_stack
      >>> with set_name_stack(new_name_stack("layer")):
      ...     print(current_name_stack())
      layer
    """

    __slots__ = ("name_stack",)

    def __init__(self, name_stack: tuple[str, ...]):
        super().__init__()
        self.name_stack: tuple[str, ...] = name_stack

    def __enter__(self) -> ir.NameStack:
        self._enter(ir.context.name_stack)
        entered = self._entering()
        ir.context.name_stack = tuple(entered)
        return ir.NameStack(entered)

    def _entering(self) -> tuple[str, ...]:
        """The names inside of the block."""
        return self.name_stack

    def __exit__(self, *exception: object) -> None:
        previous = self._leave()
        if previous is not None:
            ir.context.name_stack = previous


def reset_name_stack() -> set_name_stack:
    """Empty the name stack inside a ``with`` block."""
    return set_name_stack(())


class extend_name_stack(set_name_stack):
    """Push a name onto the stack inside a ``with`` block.

    Args:
      name: the name of a scope.
    """

    __slots__ = ()

    def __init__(self, name: str):
        super().__init__((name,))

    def _entering(self) -> tuple[str, ...]:
        return (*ir.context.name_stack, *self.name_stack)


class transform_name_stack(extend_name_stack):
    """Push a transformation, which encloses the names after it, inside a ``with`` block.

    Args:
      name: the name of a transformation, such as ``"jvp"``.
    """

    __slots__ = ()

    def __init__(self, name: str):
        super().__init__(ir.Transformation(name))


class user_context(ir.ContextBlock):
    """Set the place in the user's code, and the names, of operations inside a ``with`` block.

    Args:
      traceback: the place, as ``source_info.traceback`` of an equation gives it; ``None`` leaves
        the place of the code that applies the operations.
      name_stack: the names; ``None`` leaves the current ones.
    """

    __slots__ = ("name_stack", "traceback")

    def __init__(self, traceback: ir.Source | None, *, name_stack: tuple[str, ...] | None = None):
        super().__init__()
        self.traceback: ir.Source | None = traceback
        self.name_stack: tuple[str, ...] | None = name_stack

    def __enter__(self) -> None:
        self._enter((ir.context.origin, ir.context.name_stack))
        if self.traceback is not None:
            ir.context.origin = (self.traceback.code, self.traceback.offset)
        if self.name_stack is not None:
            ir.context.name_stack = tuple(self.name_stack)

    def __exit__(self, *exception: object) -> None:
        previous: Any = self._leave()
        if previous is not None:
            ir.context.origin, ir.context.name_stack = previous
