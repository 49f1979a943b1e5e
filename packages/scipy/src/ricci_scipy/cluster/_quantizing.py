"""Vector quantization."""

import ricci_numpy as jnp
from ricci_ir import Array, ArrayLike, inlined
from ricci_numpy.authoring import operands, promote_dtypes_inexact


def vq(obs: ArrayLike, code_book: ArrayLike, check_finite: bool = True) -> tuple[Array, Array]:
    """The nearest code of each observation.

    Args:
      obs: observations, of shape ``(m, k)``, or ``(m,)`` for scalars.
      code_book: codes, of shape ``(n, k)``, or ``(n,)``.
      check_finite: ignored; SciPy has it.

    Returns:
      The indices of the codes, int32 of shape ``(m,)``, and the distances to them.

    Raises:
      TypeError: if an operand is not an array.
      ValueError: if ranks or numbers of features differ.

    Example:
      >>> import numpy as np
      >>> from ricci.scipy.cluster import vq
      >>> codes = np.float32([[0.0, 0.0], [3.0, 4.0]])
      >>> [x.tolist() for x in vq.vq(np.float32([[3.0, 3.0]]), codes)]
      [[1], [1.0]]

    Source: scipy.cluster.vq.vq.
    """
    x, codes = (jnp.asarray(v) for v in promote_dtypes_inexact(*operands("vq", obs, code_book)))
    if x.ndim != codes.ndim:
        raise ValueError(
            f"vq: observations of shape {x.shape} and codes of shape {codes.shape} must have one "
            "rank."
        )
    if x.ndim not in (1, 2):
        raise ValueError(f"vq: observations must be of rank 1 or 2, got shape {x.shape}.")
    if x.ndim == 2 and x.shape[1] != codes.shape[1]:
        raise ValueError(
            f"vq: observations have {x.shape[1]} features, but codes {codes.shape[1]}."
        )
    if x.ndim == 1:
        x, codes = x[:, None], codes[:, None]
    return _vq(x, codes)


@inlined("vq")
def _vq(x: Array, codes: Array) -> tuple[Array, Array]:
    distances = jnp.linalg.norm(x[:, None] - codes[None], axis=-1)
    place = jnp.argmin(distances, axis=-1)
    return place, jnp.take_along_axis(distances, place[:, None], axis=-1)[:, 0]
