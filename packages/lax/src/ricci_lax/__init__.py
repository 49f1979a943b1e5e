"""Every primitive operation on arrays, with all its rules."""

# These declare the kinds of rules that every primitive gives.
import ricci_autodiff as _autodiff
import ricci_batching as _batching
import ricci_stablehlo as _stablehlo
from ricci_ir import export_names as _export_names

from . import rules as _rules

# isort: split

from . import linalg as linalg
from . import refs as refs
from .annotations import *
from .callbacks import *
from .contractions import *
from .control_flow import *
from .custom import *
from .derivatives import *
from .effects import *
from .elementwise import *
from .hi import *
from .nan import *
from .random_bits import *
from .reductions import *
from .rules import *
from .shapes import *
from .special import *
from .staged_calls import *
from .structure import *

_export_names(globals())
