"""Collectives: operations of all devices, or examples, along named axes."""

from ._all_reduce import *
from ._axis_index import *
from ._casts import *
from ._exchange import *
from ._gathering import *
from ._permutation import *
from ._ragged import *
from ._reductions import *
from ._send_receive import *
