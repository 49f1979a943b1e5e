"""Histograms, correlations, sums in segments, and sums of exponentials."""

from ._correlations import *
from ._histograms import *
from ._histograms_multi import *
