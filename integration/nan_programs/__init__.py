"""Programs with a planted cause of a NaN, as rows of one table."""

from . import control as control
from . import decoys as decoys
from . import derivatives as derivatives
from . import models as models
from . import movements as movements
from . import science as science
from . import values as values
from .movements import NOT_FOLLOWED as NOT_FOLLOWED
from .table import PROGRAMS as PROGRAMS
