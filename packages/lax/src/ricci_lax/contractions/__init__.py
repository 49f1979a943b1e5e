"""Sums of products: dots, convolutions, Fourier transforms."""

from ._convolution import *
from ._convolution_forms import *
from ._convolution_shape import *
from ._dot import *
from ._fft import *
from ._precision import *
from ._ragged_dot import *
from ._ragged_dot_shape import *
from ._scaled_dot import *
