"""Reductions over axes: sums, extremes, means and variances, quantiles, cumulative sums."""

from ._averages import *
from ._axis_reductions import *
from ._cumulative import *
from ._extreme_indices import *
from ._moments import *
from ._nan_functions import *
from ._quantiles import *
