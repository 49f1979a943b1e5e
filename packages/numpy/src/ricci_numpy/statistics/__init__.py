"""Histograms, correlations, reductions of segments, softmax and its relatives."""

from ._correlations import *
from ._histograms import *
