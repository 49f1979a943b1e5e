"""Names for blocks, steps and functions of a program in profiles."""

from collections.abc import Callable

from ricci_ir import looks_like

from ._profiler_types import TraceMe


class TraceAnnotation(TraceMe):
    """Names a ``with`` block of this thread in profiles.

    Args:
      name: the name.
      kwargs: further facts to show.

    Example:
      >>> from ricci import profiler
      >>> with profiler.TraceAnnotation("load", file="a.npy"):
      ...     pass
    """


class StepTraceAnnotation(TraceAnnotation):
    """Marks a ``with`` block as a step, such as one of training, by which profiles are grouped.

    Args:
      name: the step's name.
      kwargs: further facts; ``step_num`` numbers the step.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> x = jnp.ones(3)
      >>> for step in range(2):
      ...     with ricci.profiler.StepTraceAnnotation("train", step_num=step):
      ...         x = 2 * x
    """

    def __init__(self, name: str, **kwargs: object):
        # XProf groups the events of all threads by such root events.
        super().__init__(name, _r=1, **kwargs)


def annotate_function[**P, R](
    func: Callable[P, R], name: str | None = None, **decorator_kwargs: object
) -> Callable[P, R]:
    """Wrap a function so that profiles show its calls by a name.

    Args:
      func: the function.
      name: the name to show, by default its qualified name.
      decorator_kwargs: further facts to show.

    Returns:
      A function of the same arguments and results.

    Example:
      >>> import ricci
      >>> @ricci.profiler.annotate_function
      ... def load(path):
      ...     return path
      >>> load("data")
      'data'
    """
    shown = name or getattr(func, "__qualname__", None) or getattr(func, "__name__", repr(func))

    @looks_like(func)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        with TraceAnnotation(shown, **decorator_kwargs):
            return func(*args, **kwargs)

    return call
