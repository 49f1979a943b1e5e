"""Types and states of optimizers, lifting from single arrays to pytrees, and gradient norms."""

import functools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import ricci_numpy as jnp
from ricci_ir import Array, ArrayLike, PyTree
from ricci_pytree import PyTreeDef, register_pytree_node, tree_flatten, tree_leaves, tree_map

__all__ = ["InitFn", "JoinPoint", "Optimizer", "OptimizerState", "Params", "ParamsFn", "Schedule"]
__all__ += ["State", "Step", "UpdateFn", "Updates", "clip_grads", "l2_norm", "optimizer"]
__all__ += ["pack_optimizer_state", "unpack_optimizer_state"]

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


def _flatten_state(state: OptimizerState) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    return (state.packed_state,), (state.tree_def, state.subtree_defs)


def _unflatten_state(aux: tuple[Any, ...], children: tuple[Any, ...]) -> OptimizerState:
    return OptimizerState(children[0], *aux)


register_pytree_node(OptimizerState, _flatten_state, _unflatten_state)

type _OneArray = tuple[
    Callable[[Params], State], Callable[[Step, Updates, State], State], Callable[[State], Params]
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
            return _pack([init(x) for x in leaves], tree)

        def update_fn(i: Step, updates: Updates, state: OptimizerState) -> OptimizerState:
            gradients, tree = tree_flatten(updates)
            if tree != state.tree_def:
                raise TypeError(
                    "update_fn: gradients must have the structure of the parameters of init_fn, "
                    f"{state.tree_def}; got {tree}."
                )
            new = _pack(
                [update(i, g, s) for g, s in zip(gradients, _unpack(state), strict=True)], tree
            )
            # States of a changed structure would fail later and without a name, in a loop or a
            # jitted step.
            for before, after in zip(state.subtree_defs, new.subtree_defs, strict=True):
                if before != after:
                    raise TypeError(
                        "update_fn: the optimizer's update must not change the structure of the "
                        f"state, {before}; it returned {after}."
                    )
            return new

        def params_fn(state: OptimizerState) -> Params:
            return state.tree_def.unflatten([get_params(s) for s in _unpack(state)])

        return Optimizer(init_fn, update_fn, params_fn)

    return tree_opt_maker


def _pack(states: list[State], tree: PyTreeDef) -> OptimizerState:
    """Pack the states of arrays into the state for a pytree."""
    # Arrays of the state are children of the pytree, the structures static data: so each array's
    # state may be any pytree, under ``jit`` and ``pmap`` as well.
    flat = [tree_flatten(state) for state in states]
    return OptimizerState(
        tuple(leaves for leaves, _ in flat), tree, tuple(inner for _, inner in flat)
    )


def _unpack(state: OptimizerState) -> list[State]:
    """Unpack the states of the arrays."""
    packed, _, inner = state
    return [tree.unflatten(leaves) for tree, leaves in zip(inner, packed, strict=True)]


class JoinPoint:
    """Leaf that holds the state of one array in a pytree of ``unpack_optimizer_state``.

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

    Unlike an ``OptimizerState`` it has the structure of the parameters, so it can be saved.

    Args:
      opt_state: the result of an optimizer's ``init`` or ``update``.

    Returns:
      A pytree of ``JoinPoint`` objects.

    Example:
      >>> from ricci.example_libraries import optimizers
      >>> state = optimizers.pack_optimizer_state({"w": optimizers.JoinPoint((1.0, 0.0))})
      >>> optimizers.unpack_optimizer_state(state)["w"].subtree
      (1.0, 0.0)
    """
    return opt_state.tree_def.unflatten([JoinPoint(state) for state in _unpack(opt_state)])


def pack_optimizer_state(marked_pytree: Params) -> OptimizerState:
    """Restore the state from a pytree of ``unpack_optimizer_state``.

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
            f"unpack_optimizer_state returns them; found a {type(other).__name__}."
        )
    return _pack([leaf.subtree for leaf in leaves], tree)


def l2_norm(tree: PyTree) -> Array:
    """The Euclidean norm over all arrays of a pytree.

    Args:
      tree: a pytree of arrays.

    Returns:
      A scalar array.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci.example_libraries import optimizers
      >>> print(optimizers.l2_norm({"a": 3.0, "b": jnp.array([0.0, 4.0])}))
      5.0
    """
    return jnp.sqrt(sum(jnp.vdot(x, x) for x in tree_leaves(tree)))


def clip_grads(grad_tree: PyTree, max_norm: ArrayLike) -> PyTree:
    """Scale gradients down to a maximum norm.

    Args:
      grad_tree: a pytree of arrays.
      max_norm: the maximum of their Euclidean norm.

    Returns:
      A pytree of the structure of ``grad_tree``.

    Example:
      >>> from ricci.example_libraries import optimizers
      >>> [round(float(g), 3) for g in optimizers.clip_grads([3.0, 4.0], 1.0)]
      [0.6, 0.8]
    """
    norm = l2_norm(grad_tree)
    return tree_map(lambda g: jnp.where(norm < max_norm, g, g * (max_norm / norm)), grad_tree)
