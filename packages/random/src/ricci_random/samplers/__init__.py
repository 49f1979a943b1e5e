"""Samplers: functions of a key and a distribution's parameters that return random numbers."""

from ._binomial import *
from ._choices import *
from ._gamma import *
from ._gamma_family import *
from ._inversion import *
from ._normal import *
from ._poisson import *
from ._uniform import *
