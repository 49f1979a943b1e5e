"""Arrays and their layouts, and moving them between devices."""

from ._array import *
from ._array_impl import *
from ._device_put import *
from ._interchange import *
from ._layout import *
from ._placement import *
