"""Functions for neural networks: activations, normalization, attention and initializers."""

from ricci_ir import export_names as _export_names
from ricci_numpy.authoring import log_softmax as log_softmax
from ricci_numpy.authoring import logsumexp as logsumexp
from ricci_numpy.authoring import softmax as softmax

from . import initializers as initializers
from ._attention import *
from ._normalization import *
from ._rectifiers import *
from ._scaled_products import *
from ._sigmoids import *

_export_names(globals(), "initializers")
