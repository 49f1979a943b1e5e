"""Creation of arrays from values, files and other libraries; properties of arrays; dtypes."""

from ._broadcasting import *
from ._buffers import *
from ._creation import *
from ._dtypes import *
from ._filling import *
from ._interchange import *
