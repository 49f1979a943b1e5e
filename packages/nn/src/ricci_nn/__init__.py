"""Functions for neural networks: activations, normalization, attention and initializers."""

from ricci_numpy.authoring import log_softmax as log_softmax
from ricci_numpy.authoring import logsumexp as logsumexp
from ricci_numpy.authoring import softmax as softmax

from . import initializers as initializers
from ._attention import dot_product_attention as dot_product_attention
from ._gated_units import gelu as gelu
from ._gated_units import glu as glu
from ._gated_units import hard_silu as hard_silu
from ._gated_units import hard_swish as hard_swish
from ._gated_units import mish as mish
from ._gated_units import silu as silu
from ._gated_units import swish as swish
from ._normalization import logmeanexp as logmeanexp
from ._normalization import one_hot as one_hot
from ._normalization import standardize as standardize
from ._rectifiers import celu as celu
from ._rectifiers import elu as elu
from ._rectifiers import identity as identity
from ._rectifiers import leaky_relu as leaky_relu
from ._rectifiers import relu as relu
from ._rectifiers import relu6 as relu6
from ._rectifiers import selu as selu
from ._rectifiers import softplus as softplus
from ._rectifiers import sparse_plus as sparse_plus
from ._rectifiers import squareplus as squareplus
from ._scaled_products import get_scaled_dot_general_config as get_scaled_dot_general_config
from ._scaled_products import scaled_dot_general as scaled_dot_general
from ._scaled_products import scaled_matmul as scaled_matmul
from ._sigmoids import hard_sigmoid as hard_sigmoid
from ._sigmoids import hard_tanh as hard_tanh
from ._sigmoids import log1mexp as log1mexp
from ._sigmoids import log_sigmoid as log_sigmoid
from ._sigmoids import sigmoid as sigmoid
from ._sigmoids import soft_sign as soft_sign
from ._sigmoids import sparse_sigmoid as sparse_sigmoid
from ._sigmoids import tanh as tanh

__all__ = [
    "celu",
    "dot_product_attention",
    "elu",
    "gelu",
    "get_scaled_dot_general_config",
    "glu",
    "hard_sigmoid",
    "hard_silu",
    "hard_swish",
    "hard_tanh",
    "identity",
    "initializers",
    "leaky_relu",
    "log1mexp",
    "log_sigmoid",
    "log_softmax",
    "logmeanexp",
    "logsumexp",
    "mish",
    "one_hot",
    "relu",
    "relu6",
    "scaled_dot_general",
    "scaled_matmul",
    "selu",
    "sigmoid",
    "silu",
    "soft_sign",
    "softmax",
    "softplus",
    "sparse_plus",
    "sparse_sigmoid",
    "squareplus",
    "standardize",
    "swish",
    "tanh",
]
