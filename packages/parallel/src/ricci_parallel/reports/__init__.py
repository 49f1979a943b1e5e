"""Reports on the collectives of an executable, and the lines of the user's code that own them.

Imported when it is first used, since few programs need it.
"""

from ricci_ir import export_names as _export_names

from ._collective import *
from ._hlo_text import *
from ._report import *

_export_names(globals())
