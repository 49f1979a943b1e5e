"""Random numbers that are determined by keys: keys, their splitting, and samplers."""

import typing as _typing

import ricci_random as _source
from ricci_ir import guard_lazily as _guard_lazily

from ._absent import or_advise as _or_advise

if _typing.TYPE_CHECKING:
    from ricci_random import *
else:
    _load, __dir__ = _guard_lazily(
        globals(), {_source.__name__: _source.__all__}, unlisted={"Generator", "GeneratorSpec"}
    )
    __getattr__ = _or_advise(__name__, _load)
