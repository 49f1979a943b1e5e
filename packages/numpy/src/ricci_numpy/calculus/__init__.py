"""Functions represented by samples or coefficients: differences, interpolation, polynomials."""

from ._convolution import *
from ._differences import *
from ._fitting import *
from ._interpolation import *
from ._polynomials import *
from ._window_functions import *
