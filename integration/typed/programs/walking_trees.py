"""Pytrees taken apart and put together."""

from typing import Any, NamedTuple, assert_type

import ricci.numpy as np
from ricci import Array, tree, tree_util
from ricci.flatten_util import ravel_pytree


def sizes(params: Any) -> dict[str, int]:
    return {tree_util.keystr(path): leaf.size for path, leaf in tree.leaves_with_path(params)}


class Layer(NamedTuple):
    weights: Array
    bias: Array


def doubled(x: Array) -> Array:
    return 2 * x


def moved(x: Array, slope: Array) -> Array:
    return x - 0.1 * slope


def rank(x: Array) -> int:
    return x.ndim


def same_types(layer: Layer, params: dict[str, Array], layers: list[Layer]) -> None:
    # Where leaves stay arrays, the tree keeps its type. (mypy infers those of a lambda as Any.)
    assert_type(tree.map(doubled, layer), Layer)
    assert_type(tree.map(np.zeros_like, layers), list[Layer])
    assert_type(tree.map(moved, layer, layer), Layer)
    assert_type(tree_util.tree_map(np.sin, params), dict[str, Array])
    assert_type(tree.map(rank, params), dict[str, int])
    assert_type(tree.map(rank, [params["w"]]), list[int])
    assert_type(tree.map(rank, layer), Any)


def leaves_of(layer: Layer, params: dict[str, list[Array]], counts: dict[str, int]) -> None:
    assert_type(tree.leaves(layer), list[Array])
    assert_type(tree_util.tree_leaves(params), list[Array])
    assert_type(tree.leaves(counts), list[Any])
    # A predicate may make leaves of containers.
    assert_type(tree.leaves(params, is_leaf=lambda x: isinstance(x, list)), list[Any])


def main() -> None:
    params = {"weights": [np.ones((2, 3)), np.ones(3)], "scale": np.asarray(2.0)}
    leaves, structure = tree.flatten(params)
    assert structure.num_leaves == len(leaves) == 3
    again = tree.unflatten(structure, [leaf * 2 for leaf in leaves])
    assert tree.structure(again) == tree.structure(params)
    assert sizes(params) == {"['scale']": 1, "['weights'][0]": 6, "['weights'][1]": 3}
    assert_type(tree.all(tree.map(lambda x: x.size > 0, params)), bool)
    total: Array = tree.reduce(lambda a, x: a + x.sum(), params, np.asarray(0.0))
    assert float(total) == 11.0
    same_types(Layer(np.eye(2), np.ones(2)), {"w": np.ones(2)}, [])
    leaves_of(Layer(np.eye(2), np.ones(2)), {"w": [np.ones(2)]}, {"w": 2})
    flat, unravel = ravel_pytree(params)
    assert unravel(flat)["scale"].shape == ()
