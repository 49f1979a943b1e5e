"""Functions represented by samples or coefficients: differences, interpolation, polynomials."""

from ._convolution import *
from ._fitting import *
from ._polynomials import *
from ._samples import *
