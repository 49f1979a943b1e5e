"""Moving elements: repeating, rolling, padding, inserting, flattening, packing bits."""

from ._along_axes import *
from ._inserting import *
from ._moving import *
from ._packed_bits import *
from ._padding import *
