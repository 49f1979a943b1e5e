"""A function through its stages: traced, lowered, compiled."""

import ricci
import ricci.numpy as np
from ricci import Array, ShapeDtypeStruct
from ricci.stages import Wrapped


@ricci.jit
def normalized(x: Array, epsilon: float = 1e-6) -> Array:
    return (x - x.mean()) / (x.std() + epsilon)


def text_of[**P, R](function: Wrapped[P, R], *args: ShapeDtypeStruct) -> str:
    return function.lower(*args).as_text()


def main() -> None:
    described = ShapeDtypeStruct((8,), np.float32)
    compiled = normalized.lower(described).compile()
    assert compiled(np.arange(8.0)).shape == (8,)
    assert normalized.trace(described).jaxpr is not None
    assert normalized.eval_shape(described).shape == (8,)
    assert "stablehlo" in text_of(normalized, described)
    assert ricci.eval_shape(np.sum, described).shape == ()
    normalized.clear_cache()
    assert normalized.__name__ == "normalized"
