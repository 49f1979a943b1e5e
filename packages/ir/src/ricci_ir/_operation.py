"""Primitives with their parameters, for calls that come back."""

from collections.abc import Callable
from typing import Any

from ._backend import backend
from ._primitive import Primitive
from ._trace import context, eval_trace


class Operation:
    """A primitive with all its parameters, applied to arrays without looking for its program.

    Example:
      >>> total = Operation(primitives["reduce_sum"], axes=(0,), out_sharding=None)
      >>> int(total(np.arange(4, dtype=np.int32)))
      6
    """

    __slots__ = ("_apply", "_evaluate", "params", "primitive")

    _apply: Callable[..., Any]

    def __init__(self, primitive: Primitive, **params: Any):
        self.primitive = primitive
        self.params = params
        self._evaluate: Any = None

    def __call__(self, *args: Any) -> Any:
        trace = context.trace
        if trace is not eval_trace:
            return trace.process(self.primitive, args, {**self.params})
        if eval_trace.process is not self._evaluate:  # for another backend, or for none yet
            self._apply = backend().operation(self.primitive, self.params)
            self._evaluate = eval_trace.process
        return self._apply(*args)
