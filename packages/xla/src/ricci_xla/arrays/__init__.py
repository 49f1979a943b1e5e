"""Arrays, their shardings and layouts, and moving them between devices."""

from ._array import *
from ._array_impl import *
from ._current_mesh import *
from ._interchange import *
from ._layout import *
from ._memory import *
from ._mesh import *
from ._pieces import *
from ._placement import *
from ._sharding import *
from ._sharding_types import *
from ._spec import *
from ._type_forms import *
