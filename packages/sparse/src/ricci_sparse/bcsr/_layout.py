"""The dimensions of a BCSR array, and the checks of its parts."""

from typing import NamedTuple

from ricci_sparse.bcoo._layout import Shaped

__all__ = ["BCSRProperties"]


class BCSRProperties(NamedTuple):
    """The numbers of batch and dense dimensions and of stored elements.

    Attributes:
      n_batch: the number of leading batch dimensions.
      n_dense: the number of trailing dense dimensions.
      nse: the number of elements that are stored for each batch.
    """

    n_batch: int
    n_dense: int
    nse: int


def bcsr_properties(ndim: int, n_batch: int, n_dense: int) -> None:
    """Raise ``ValueError`` unless exactly two dimensions are neither batches nor dense."""
    if n_batch < 0 or n_dense < 0 or ndim - n_batch - n_dense != 2:
        raise ValueError(
            f"BCSR arrays have two sparse dimensions, but of {ndim} dimensions {n_batch} are "
            f"batches and {n_dense} dense."
        )


def validate(
    data: Shaped, indices: Shaped, indptr: Shaped, shape: tuple[int, ...]
) -> BCSRProperties:
    """The properties of a BCSR array, after checking its parts against its shape.

    Raises:
      ValueError: if they do not.
    """
    n_batch = len(indices.shape) - 1
    n_dense = len(shape) - n_batch - 2
    problem = (
        f"data of shape {tuple(data.shape)}, indices of shape {tuple(indices.shape)} and indptr of "
        f"shape {tuple(indptr.shape)} do not fit to an array of shape {shape}"
    )
    if n_batch < 0 or n_dense < 0:
        raise ValueError(f"BCSR: {problem}: it must have two sparse dimensions behind its batches.")
    if len(data.shape) != n_batch + 1 + n_dense or len(indptr.shape) != n_batch + 1:
        raise ValueError(f"BCSR: {problem}: with {n_batch} batch dimensions their ranks are wrong.")
    if data.shape[n_batch] != indices.shape[-1]:
        raise ValueError(f"BCSR: {problem}: data and indices must have as many elements.")
    if indptr.shape[-1] != shape[n_batch] + 1:
        raise ValueError(f"BCSR: {problem}: indptr must have {shape[n_batch]} + 1 elements.")
    if tuple(data.shape[n_batch + 1 :]) != tuple(shape[n_batch + 2 :]):
        raise ValueError(
            f"BCSR: {problem}: the last dimensions of data must be those of the shape."
        )
    for part in (data, indices, indptr):
        if any(n not in (1, whole) for n, whole in zip(part.shape[:n_batch], shape, strict=False)):
            raise ValueError(f"BCSR: {problem}: batches must be those of the shape, or 1.")
    return BCSRProperties(n_batch, n_dense, indices.shape[-1])
