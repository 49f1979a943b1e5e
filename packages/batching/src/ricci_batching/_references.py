"""References as arguments of mapped functions."""

from typing import Any

from ricci_ir import Ref, Trace, set_trace

from ._rules import batched_at


class MappedReference(Ref):
    """A reference to one example's slice of a reference to a batch.

    Args:
      trace: the batching trace.
      whole: the reference to the whole batch.
      dim: its batch dimension.
    """

    __slots__ = ("dim", "whole")

    def __init__(self, trace: Any, whole: Any, dim: int):
        super().__init__(whole.aval.remove_dimension(dim), None)
        self._owner: Trace = trace
        self.whole = whole
        self.dim = dim

    def _read(self, shared: bool) -> Any:
        trace: Any = self._owner
        with set_trace(trace.parent):
            value = self.whole.read(shared)
        return trace.join(value, self.dim)

    def _write(self, value: Any, fresh: bool) -> None:
        trace: Any = self._owner
        (values,), (dim,), _ = trace.split([value])
        with set_trace(trace.parent):
            self.whole.write(batched_at(values, dim, trace.axis, self.dim), fresh)

    def free(self) -> None:
        """Free the reference to the whole batch."""
        trace: Any = self._owner
        with set_trace(trace.parent):
            self.whole.free()

    def __repr__(self) -> str:
        return f"Ref({self.whole!r}, mapped)"
