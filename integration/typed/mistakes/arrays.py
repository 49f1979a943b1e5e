"""Mistakes with arrays. Type checkers must report each marked line, and no other."""

from ricci import Array
from ricci.typing import ArrayLike


def operators(x: Array) -> None:
    print(x @ "a")  # mistake
    print(x + [1, 2])  # mistake
    print(None - x)  # mistake
    print(x < "a")  # mistake
    print(x + 1, 2 - x, x @ x)


def indices(x: Array) -> None:
    print(x["a"])  # mistake
    print(x[1.5])  # mistake
    x[0] = 1.0  # mistake
    print(x.at["a"].set(1))  # mistake
    print(x.at[0].set("a"))  # mistake
    print(x.at[0].assign(1))  # mistake
    print(x.at[0].add(1, mode="drop"))


def attributes(x: Array) -> None:
    print(x.shap)  # mistake
    x.shape = (2, 3)  # mistake
    print(x.shape())  # mistake
    print(x.T())  # mistake
    print(x.sum(axes=0))  # mistake
    print(x.reshape("a"))  # mistake
    print(x.mean("rows"))  # mistake
    print(x.shape[0] + x.ndim)


def anything(x: ArrayLike) -> int:
    print(x.shape)  # mistake
    return x  # mistake


def lists(x: Array) -> list[float]:
    takes_array([1.0, 2.0])  # mistake
    return x  # mistake


def takes_array(x: Array) -> None: ...
