"""File formats: one container for all kinds of files, and records of types, shardings and trees.

A file holds a record, a ``msgspec.Struct``, whose fields and types are the schema that it is
checked against when it is read. Nothing in a file is ever executed: there are no pickles, and
classes are looked up only among those that the reading program has registered. The room is imported
when the first file is written or read.
"""

from ricci_ir import export_names as _export_names

from ._container import *
from ._plain import *
from ._shardings import *
from ._shared_folders import *
from ._trees import *
from ._types import *

_export_names(globals())
