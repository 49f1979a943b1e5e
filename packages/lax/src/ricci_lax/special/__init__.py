"""Special functions: error, gamma, beta and Bessel functions."""

from ._functions import *
from ._incomplete_beta import *
from ._incomplete_gamma import *
from ._polynomial import *
