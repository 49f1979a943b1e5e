"""Ready-made kernels: attention, matrix products, normalizations, for TPUs, NVIDIA GPUs and CPUs.

Each is written once, as a fold of blocks (``_folds``). It is compiled where the program is for a
TPU or an NVIDIA GPU, and interpreted elsewhere.
"""

from ricci_ir import export_names as _export_names

from ._attention import *
from ._grouped_matmul import *
from ._matmul import *
from ._normalization import *
from ._paged_attention import *
from ._softmax import *

_export_names(globals())
