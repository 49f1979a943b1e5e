"""The types of values: dtypes, abstract values, promotion."""

from ._abstract_value import *
from ._aval import *
from ._dtypes import *
from ._hi_types import *
from ._promotion import *
from ._references import *
from ._scalars import *
from ._shape_dtype import *
from ._type_sharding import *
