"""``roll``: compile equal pieces of a traced function, such as layers, once, as a loop."""

from ._report import *
from ._roll import *
