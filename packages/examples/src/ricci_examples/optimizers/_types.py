"""The types of an optimizer's functions, their arguments and results."""

from collections.abc import Callable
from typing import Any, NamedTuple

from ricci_pytree import PyTreeDef

__all__ = [
    "InitFn",
    "Optimizer",
    "OptimizerState",
    "Params",
    "ParamsFn",
    "Schedule",
    "State",
    "Step",
    "UpdateFn",
    "Updates",
]

Params = Any
"""Parameters: any pytree of arrays."""

State = Any
"""The state of an optimizer for one array: any pytree of arrays."""

Updates = Any
"""Gradients: a pytree of the structure of the parameters."""

Step = int
"""The number of a step, from 0 on; it may be traced."""

Schedule = Callable[[Step], float]
"""The step size as a function of the step's number."""


class OptimizerState(NamedTuple):
    """The state of an optimizer for a whole pytree of parameters; itself a pytree of its arrays.

    Attributes:
      packed_state: for each array of the parameters, the leaves of its state.
      tree_def: the structure of the parameters.
      subtree_defs: the structure of the state of each array.
    """

    packed_state: tuple[list[Any], ...]
    tree_def: PyTreeDef
    subtree_defs: tuple[PyTreeDef, ...]


InitFn = Callable[[Params], OptimizerState]
UpdateFn = Callable[[Step, Updates, OptimizerState], OptimizerState]
ParamsFn = Callable[[OptimizerState], Params]


class Optimizer(NamedTuple):
    """An optimizer.

    Attributes:
      init_fn: returns the state for the initial parameters.
      update_fn: ``update_fn(i, gradients, state)`` returns the state after step ``i``.
      params_fn: reads the parameters from a state.
    """

    init_fn: InitFn
    update_fn: UpdateFn
    params_fn: ParamsFn
