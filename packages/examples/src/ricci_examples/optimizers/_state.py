"""Optimizers of single arrays, lifted to pytrees; and their states as pytrees to be saved."""

import functools
from collections.abc import Callable, Iterator
from typing import Any

from ricci_pytree import PyTreeDef, register_pytree_node, tree_flatten

from ._types import Optimizer, OptimizerState, Params, State, Step, Updates

__all__ = [
    "JoinPoint",
    "optimizer",
    "pack_optimizer_state",
    "unpack_optimizer_state",
]


def _flatten_state(state: OptimizerState) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    return (state.packed_state,), (state.tree_def, state.subtree_defs)


def _unflatten_state(aux: tuple[Any, ...], children: tuple[Any, ...]) -> OptimizerState:
    return OptimizerState(children[0], *aux)


register_pytree_node(OptimizerState, _flatten_state, _unflatten_state)

type _OneArray = tuple[
    Callable[[Params], State],
    Callable[[Step, Updates, State], State],
    Callable[[State], Params],
]


def optimizer[**P](opt_maker: Callable[P, _OneArray]) -> Callable[P, Optimizer]:
    """Lift an optimizer of a single array to pytrees of arrays; a decorator.

    Args:
      opt_maker: a function that returns three functions: ``init(x)`` makes the state of an array,
        any pytree; ``update(i, gradient, state)`` returns the next state; ``get_params(state)``
        reads the array.

    Returns:
      a function of the same arguments that returns an ``Optimizer``.

    Example:
      >>> from ricci.example_libraries import optimizers
      >>> @optimizers.optimizer
      ... def descent(rate):
      ...     return lambda x: x, lambda i, g, x: x - rate * g, lambda x: x
      >>> init, update, params = descent(0.5)
      >>> params(update(0, {"w": 2.0}, init({"w": 3.0})))
      {'w': 2.0}
    """

    @functools.wraps(opt_maker)
    def tree_opt_maker(*args: P.args, **kwargs: P.kwargs) -> Optimizer:
        init, update, get_params = opt_maker(*args, **kwargs)

        def init_fn(params: Params) -> OptimizerState:
            leaves, tree = tree_flatten(params)
            return _joined([init(x) for x in leaves], tree)

        def update_fn(i: Step, updates: Updates, state: OptimizerState) -> OptimizerState:
            gradients, tree = tree_flatten(updates)
            if tree != state.tree_def:
                raise TypeError(
                    "update_fn: gradients must have the structure of the parameters that init_fn "
                    f"was given, {state.tree_def}; got {tree}."
                )
            new = _joined(
                [update(i, g, s) for g, s in zip(gradients, _states(state), strict=True)], tree
            )
            for before, after in zip(state.subtree_defs, new.subtree_defs, strict=True):
                if before != after:
                    raise TypeError(
                        "update_fn: the optimizer's update must return a state of the structure "
                        f"that it was given, {before}; it returned {after}."
                    )
            return new

        def params_fn(state: OptimizerState) -> Params:
            return state.tree_def.unflatten([get_params(s) for s in _states(state)])

        return Optimizer(init_fn, update_fn, params_fn)

    return tree_opt_maker


def _joined(states: list[State], tree: PyTreeDef) -> OptimizerState:
    """The state for a pytree, from the states of its arrays."""
    flat = [tree_flatten(state) for state in states]
    return OptimizerState(
        tuple(leaves for leaves, _ in flat), tree, tuple(inner for _, inner in flat)
    )


def _states(state: OptimizerState) -> list[State]:
    """The states of the arrays."""
    packed, _, inner = state
    return [tree.unflatten(leaves) for tree, leaves in zip(inner, packed, strict=True)]


class JoinPoint:
    """Where the state of one array begins, in a pytree that ``unpack_optimizer_state`` made.

    It is a leaf to functions of pytrees, so that the outer structure is that of the parameters.

    Attributes:
      subtree: the state of the array.

    Example:
      >>> from ricci.example_libraries import optimizers
      >>> init, update, get_params = optimizers.momentum(0.1, mass=0.9)
      >>> state = optimizers.unpack_optimizer_state(init({"w": 1.0}))
      >>> type(state["w"]).__name__, state["w"].subtree
      ('JoinPoint', (1.0, Array(0., dtype=float32, weak_type=True)))
    """

    def __init__(self, subtree: State):
        self.subtree = subtree

    def __iter__(self) -> Iterator[State]:
        """Yield the state."""
        yield self.subtree


def unpack_optimizer_state(opt_state: OptimizerState) -> Params:
    """The state as a pytree of the parameters' structure, whose leaves are ``JoinPoint`` objects.

    Unlike an ``OptimizerState`` it needs no class of this library, so it can be saved.

    Args:
      opt_state: what an optimizer's ``init`` or ``update`` returned.

    Returns:
      A pytree of ``JoinPoint`` objects.

    Example:
      >>> from ricci.example_libraries import optimizers
      >>> state = optimizers.pack_optimizer_state({"w": optimizers.JoinPoint((1.0, 0.0))})
      >>> optimizers.unpack_optimizer_state(state)["w"].subtree
      (1.0, 0.0)
    """
    return opt_state.tree_def.unflatten([JoinPoint(state) for state in _states(opt_state)])


def pack_optimizer_state(marked_pytree: Params) -> OptimizerState:
    """The state that ``unpack_optimizer_state`` made a pytree of.

    Args:
      marked_pytree: a pytree whose leaves are all ``JoinPoint`` objects.

    Returns:
      An ``OptimizerState``.

    Raises:
      AssertionError: if a leaf is something else.

    Example:
      >>> from ricci.example_libraries import optimizers
      >>> state = optimizers.pack_optimizer_state([optimizers.JoinPoint((1.0, 0.0))])
      >>> state.packed_state
      ([1.0, 0.0],)
    """
    leaves, tree = tree_flatten(marked_pytree)
    other = next((leaf for leaf in leaves if not isinstance(leaf, JoinPoint)), None)
    if other is not None:
        raise AssertionError(
            "pack_optimizer_state: each leaf must be a JoinPoint around the state of an array, as "
            f"unpack_optimizer_state makes them; found a {type(other).__name__}."
        )
    return _joined([leaf.subtree for leaf in leaves], tree)
