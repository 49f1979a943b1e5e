"""Functions for neural networks: activations, normalization, attention, initializers."""

import typing as _typing

from ricci import _absent
from ricci_ir import Array as _Array
from ricci_ir import ArrayLike as _ArrayLike
from ricci_ir import guard_public as _guard_public
from ricci_nn import *
from ricci_nn.authoring import attention_kernel as _attention_kernel

# isort: split
import ricci.nn.initializers as _initializers  # not ricci_nn's, which may come with the star
from ricci.nn import initializers as initializers


@_attention_kernel.provide
def _flash_attention(*args: _ArrayLike, **options: object) -> tuple[_Array, _Array]:
    from ricci_kernels.ops import flash_attention  # noqa: PLC0415 - lazy: few programs need it

    return flash_attention(*args, **options)  # pyright: ignore


_guard_public(globals(), "initializers", unlisted={"BlockScaleConfig"})

if not _typing.TYPE_CHECKING:  # it would tell checkers that every name is there
    __getattr__ = _absent.or_advise(__name__)
