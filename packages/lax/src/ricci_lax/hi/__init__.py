"""Operations on values that are made of several arrays."""

from ._accumulators import *
from ._batching import *
from ._derived import *
from ._lowering import *
from ._parts import *
from ._primitive import *
