"""Programs with a planted line that loses accuracy, as rows of one table."""

from . import formulas as formulas
from . import training as training
from .table import OTHERS_FIRST as OTHERS_FIRST
from .table import PROGRAMS as PROGRAMS
