"""Warm starts: executables of a run, cached in a file (a bundle) for the next run's first calls.

A call uses the bundle only if nothing changed that its executable depends on. These dependencies
are observed while the function is traced (``_dependencies``) and written as fingerprints
(``_fingerprint``). The room is imported when ``warm_start`` is first used.
"""

from ricci_ir import export_names as _export_names

from ._start import *

_export_names(globals())
