"""Jaxprs: recording, printing, checking, simplifying and evaluating them."""

from ._analyses import *
from ._by_function import *
from ._dead_code import *
from ._discharge import *
from ._effects import *
from ._evaluate import *
from ._jaxpr import *
from ._memory_spaces import *
from ._notation import *
from ._public_calls import *
from ._scope import *
from ._staged_call import *
from ._staged_functions import *
from ._staging import *
