"""Special functions."""

from ricci_ir import export_names as _export_names
from ricci_numpy.authoring import logsumexp as logsumexp

from ._beta_functions import *
from ._elementwise import *
from ._entropies import *
from ._error_functions import *
from ._gamma_functions import *
from ._hypergeometric import *
from ._integrals import *
from ._orders import *
from ._polygamma import *

_export_names(globals())
