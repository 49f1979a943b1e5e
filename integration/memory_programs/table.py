"""The peaks that ``fit_memory`` reaches, and step times beside policies by hand.

Times are processor time, which other processes change little. A step's is the least of several
calls, in which all functions take turns.
"""

import math
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import ricci
from ricci.parallel import MemoryLimitError

from .models import Model
from .policies import FULL, POLICIES, Policy

SHARES = (0.75, 0.5, 0.35)


class Row(NamedTuple):
    """A limit, and what meets it.

    Attributes:
      share: the limit, as a share of the peak without one.
      peak: the peak of the plan, likewise; that of the least choice if none meets the limit.
      met: whether the plan meets the limit.
      again: the share of the forward pass that runs twice.
      pieces: the number of pieces that the batch runs in.
      planning: the processor time of planning over that of compiling the function as it stands.
      full: the step's time over that with a checkpoint around each layer.
      best: the step's time over that of the quickest policy by hand under the limit, if any.
      policy: that policy.
      failure: the message where the limit is not met.
    """

    share: float
    peak: float
    met: bool
    again: float
    pieces: int
    planning: float
    full: float
    best: float | None
    policy: str
    failure: str


def step_of(model: Model, policy: Policy | None = None) -> Callable[..., Any]:
    """Return the step of a model: its loss and gradient, its layers under a policy."""
    wrap = (lambda i, layer: layer) if policy is None else policy.wrap
    return ricci.value_and_grad(lambda parameters, batch: model.loss(wrap, parameters, batch))


def rows(model: Model, rounds: int = 40) -> Iterator[Row]:
    """Measure a model's rows."""
    args = model.parameters, model.batch
    _compiling(model)  # the first time that functions of the library are traced
    unlimited = ricci.memory_plan(step_of(model))(*args).peak_bytes
    by_hand = {name: ricci.jit(step_of(model, policy)) for name, policy in POLICIES.items()}
    peaks = {name: ricci.memory_plan(f)(*args).peak_bytes for name, f in by_hand.items()}
    for share in SHARES:
        limit = int(share * unlimited)
        fitted = ricci.fit_memory(step_of(model), limit)
        before = _compiling(model)
        planning, fit = _timed(lambda fitted=fitted: _plan(fitted, args))
        compiling = (before + _compiling(model)) / 2
        if isinstance(fit, MemoryLimitError):
            met = [name for name, peak in peaks.items() if peak <= limit]
            least = min(peaks.values()) / unlimited
            name = ", ".join(met) or "none"
            yield Row(share, least, False, 0, 1, planning / compiling, 0, None, name, str(fit))
            continue
        within = {name: f for name, f in by_hand.items() if peaks[name] <= limit}
        times = _least_times({"": fitted, FULL: by_hand[FULL], **within}, args, rounds)
        best = min(within, key=times.__getitem__, default="")
        yield Row(
            share,
            fit.peak_bytes / unlimited,
            True,
            fit.again,
            1 if fit.pieces is None else fit.pieces.count,
            planning / compiling,
            times[""] / times[FULL],
            times[""] / times[best] if best else None,
            best,
            "",
        )


def _compiling(model: Model) -> float:
    """Return the processor time of compiling a model's step, which a shared machine changes."""
    args = model.parameters, model.batch
    compile = lambda: ricci.jit(step_of(model)).lower(*args).compile()
    return _timed(compile)[0]


def _plan(fitted: Any, args: tuple[Any, ...]) -> Any:
    try:
        return fitted.plan(*args)
    except MemoryLimitError as error:
        return error


def _timed[T](call: Callable[[], T]) -> tuple[float, T]:
    """Return the processor time of a call, and its result."""
    start = time.process_time()
    result = call()
    return time.process_time() - start, result


def _least_times(
    functions: dict[str, Callable[..., Any]], args: tuple[Any, ...], rounds: int
) -> dict[str, float]:
    """Return each function's least time of a call; each is called once in every round."""
    for function in functions.values():
        ricci.block_until_ready(function(*args))
    times = dict.fromkeys(functions, math.inf)
    for _ in range(rounds):
        for name, function in functions.items():
            seconds, _ = _timed(lambda f=function: ricci.block_until_ready(f(*args)))
            times[name] = min(times[name], seconds)
    return times
