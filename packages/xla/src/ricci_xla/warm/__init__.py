"""Warm starts: the programs of a run, kept in a file that answers the next run's first calls.

A call is answered only if nothing changed that its program depends on. What that is, is observed
while the function is traced (``_dependencies``) and written as fingerprints (``_fingerprint``).
The room is imported when ``warm_start`` is first used.
"""

from ricci_ir import export_names as _export_names

from ._start import *

_export_names(globals())
