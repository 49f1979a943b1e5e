"""Changing shapes, joining and splitting."""

from ._joining import *
from ._reshaping import *
from ._splitting import *
from ._transposing import *
