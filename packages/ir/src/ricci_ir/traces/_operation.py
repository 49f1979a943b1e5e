"""Primitives with fixed parameters, for functions that apply the same operation in each call."""

from collections.abc import Callable
from typing import Any

from ._backend import Applied, Backend
from ._primitive import Primitive
from ._trace import context, eval_trace

__all__ = ["Operation"]


class Operation(Applied):
    """A primitive with fixed parameters; it caches the backend's function for them.

    Example:
      >>> from ricci.core import Primitive, ShapedArray
      >>> from ricci_ir import Operation, trace_to_jaxpr
      >>> scale = Operation(Primitive("scale", lambda x, by: x), by=2)
      >>> print(trace_to_jaxpr(lambda x: [scale(x)], [ShapedArray((3,), "float32")]))
      { lambda ; a:f32[3]. let b:f32[3] = scale[by=2] a in (b,) }
    """

    __slots__ = ("params", "primitive")

    def __init__(self, primitive: Primitive, **params: Any):
        super().__init__()
        self.primitive: Primitive = primitive
        self.params: dict[str, Any] = params

    def __call__(self, *args: object) -> Any:
        trace = context.trace
        if trace is not eval_trace:
            return trace.process(self.primitive, args, {**self.params})
        if eval_trace.process is not self._evaluate:  # for another backend, or for none yet
            return self._application()(*args)
        return self._apply(*args)

    def _make_application(self, backend: Backend) -> Callable[..., Any]:
        return backend.operation(self.primitive, self.params)
