"""Arrays and their layouts, and moving them between devices."""

from ._across_processes import *
from ._array import *
from ._array_impl import *
from ._assembly import *
from ._interchange import *
from ._layout import *
from ._memory import *
from ._pieces import *
from ._placement import *
