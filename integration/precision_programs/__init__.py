"""Programs with a planted line that loses accuracy, as rows of one table."""

from . import counters as counters
from . import distances as distances
from . import formulas as formulas
from . import mixed as mixed
from . import networks as networks
from . import phases as phases
from . import probabilities as probabilities
from . import recurrences as recurrences
from . import sciences as sciences
from . import steps as steps
from . import streams as streams
from . import training as training
from . import underflow as underflow
from . import uniform as uniform
from .table import OTHERS_FIRST as OTHERS_FIRST
from .table import PROGRAMS as PROGRAMS
