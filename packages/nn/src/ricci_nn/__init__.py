"""Functions for neural networks: activations, normalization, attention and initializers."""

from ricci_numpy.authoring import log_softmax as log_softmax
from ricci_numpy.authoring import logsumexp as logsumexp
from ricci_numpy.authoring import softmax as softmax

from . import initializers as initializers
from ._activations import celu as celu
from ._activations import elu as elu
from ._activations import gelu as gelu
from ._activations import glu as glu
from ._activations import hard_sigmoid as hard_sigmoid
from ._activations import hard_silu as hard_silu
from ._activations import hard_swish as hard_swish
from ._activations import hard_tanh as hard_tanh
from ._activations import identity as identity
from ._activations import leaky_relu as leaky_relu
from ._activations import log1mexp as log1mexp
from ._activations import log_sigmoid as log_sigmoid
from ._activations import mish as mish
from ._activations import relu as relu
from ._activations import relu6 as relu6
from ._activations import selu as selu
from ._activations import sigmoid as sigmoid
from ._activations import silu as silu
from ._activations import soft_sign as soft_sign
from ._activations import softplus as softplus
from ._activations import sparse_plus as sparse_plus
from ._activations import sparse_sigmoid as sparse_sigmoid
from ._activations import squareplus as squareplus
from ._activations import swish as swish
from ._activations import tanh as tanh
from ._attention import dot_product_attention as dot_product_attention
from ._normalization import logmeanexp as logmeanexp
from ._normalization import one_hot as one_hot
from ._normalization import standardize as standardize
from ._scaled_products import get_scaled_dot_general_config as get_scaled_dot_general_config
from ._scaled_products import scaled_dot_general as scaled_dot_general
from ._scaled_products import scaled_matmul as scaled_matmul

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
