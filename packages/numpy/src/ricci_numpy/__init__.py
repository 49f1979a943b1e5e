"""NumPy's functions on arrays that programs are made of: the API of ``jax.numpy``."""

from ml_dtypes import finfo as finfo
from ml_dtypes import iinfo as iinfo
from numpy import array_repr as array_repr
from numpy import array_str as array_str
from numpy import character as character
from numpy import complexfloating as complexfloating
from numpy import dtype as dtype
from numpy import e as e
from numpy import euler_gamma as euler_gamma
from numpy import flexible as flexible
from numpy import floating as floating
from numpy import generic as generic
from numpy import get_printoptions as get_printoptions
from numpy import index_exp as index_exp
from numpy import inexact as inexact
from numpy import inf as inf
from numpy import integer as integer
from numpy import nan as nan
from numpy import newaxis as newaxis
from numpy import number as number
from numpy import object_ as object_
from numpy import pi as pi
from numpy import printoptions as printoptions
from numpy import s_ as s_
from numpy import save as save
from numpy import savez as savez
from numpy import signedinteger as signedinteger
from numpy import unsignedinteger as unsignedinteger
from numpy.exceptions import ComplexWarning as ComplexWarning

from ricci_ir import Array as ndarray
from ricci_ir import promote_types as promote_types

from . import _array_methods as _array_methods
from . import _notebook as _notebook
from . import _operators as _operators
from . import _shape_methods as _shape_methods
from . import fft as fft
from . import linalg as linalg
from ._arithmetic import around as around
from ._arithmetic import clip as clip
from ._arithmetic import divmod as divmod
from ._arithmetic import float_power as float_power
from ._arithmetic import floor_divide as floor_divide
from ._arithmetic import fmax as fmax
from ._arithmetic import fmin as fmin
from ._arithmetic import fmod as fmod
from ._arithmetic import heaviside as heaviside
from ._arithmetic import hypot as hypot
from ._arithmetic import mod as mod
from ._arithmetic import pow as pow
from ._arithmetic import power as power
from ._arithmetic import remainder as remainder
from ._arithmetic import rint as rint
from ._arithmetic import round as round
from ._arithmetic import trunc as trunc
from ._array_api import ARRAY_API_VERSION as __array_api_version__  # noqa: F401
from ._array_api import array_namespace_info as __array_namespace_info__  # noqa: F401
from ._array_info import ndim as ndim
from ._array_info import shape as shape
from ._array_info import size as size
from ._bits import packbits as packbits
from ._bits import unpackbits as unpackbits
from ._comparison import allclose as allclose
from ._comparison import array_equal as array_equal
from ._comparison import array_equiv as array_equiv
from ._comparison import isclose as isclose
from ._comparison import iscomplex as iscomplex
from ._comparison import iscomplexobj as iscomplexobj
from ._comparison import isfinite as isfinite
from ._comparison import isinf as isinf
from ._comparison import isnan as isnan
from ._comparison import isneginf as isneginf
from ._comparison import isposinf as isposinf
from ._comparison import isreal as isreal
from ._comparison import isrealobj as isrealobj
from ._comparison import isscalar as isscalar
from ._comparison import iterable as iterable
from ._convolving import convolve as convolve
from ._convolving import correlate as correlate
from ._correlations import corrcoef as corrcoef
from ._correlations import cov as cov
from ._creation import array as array
from ._creation import asarray as asarray
from ._creation import astype as astype
from ._creation import copy as copy
from ._creation import frombuffer as frombuffer
from ._creation import fromfile as fromfile
from ._creation import fromiter as fromiter
from ._creation import fromstring as fromstring
from ._cumulative import cumprod as cumprod
from ._cumulative import cumsum as cumsum
from ._cumulative import cumulative_prod as cumulative_prod
from ._cumulative import cumulative_sum as cumulative_sum
from ._cumulative import nancumprod as nancumprod
from ._cumulative import nancumsum as nancumsum
from ._diagonals import diag as diag
from ._diagonals import diagflat as diagflat
from ._diagonals import diagonal as diagonal
from ._diagonals import trace as trace
from ._differences import diff as diff
from ._differences import ediff1d as ediff1d
from ._differences import gradient as gradient
from ._differences import trapezoid as trapezoid
from ._divisors import gcd as gcd
from ._divisors import lcm as lcm
from ._dtypes import bfloat16 as bfloat16
from ._dtypes import bool_ as bool
from ._dtypes import bool_ as bool_
from ._dtypes import can_cast as can_cast
from ._dtypes import cdouble as cdouble
from ._dtypes import complex64 as complex64
from ._dtypes import complex128 as complex128
from ._dtypes import complex_ as complex_
from ._dtypes import csingle as csingle
from ._dtypes import double as double
from ._dtypes import float4_e2m1fn as float4_e2m1fn
from ._dtypes import float6_e2m3fn as float6_e2m3fn
from ._dtypes import float6_e3m2fn as float6_e3m2fn
from ._dtypes import float8_e3m4 as float8_e3m4
from ._dtypes import float8_e4m3 as float8_e4m3
from ._dtypes import float8_e4m3b11fnuz as float8_e4m3b11fnuz
from ._dtypes import float8_e4m3fn as float8_e4m3fn
from ._dtypes import float8_e4m3fnuz as float8_e4m3fnuz
from ._dtypes import float8_e5m2 as float8_e5m2
from ._dtypes import float8_e5m2fnuz as float8_e5m2fnuz
from ._dtypes import float8_e8m0fnu as float8_e8m0fnu
from ._dtypes import float16 as float16
from ._dtypes import float32 as float32
from ._dtypes import float64 as float64
from ._dtypes import float_ as float_
from ._dtypes import int1 as int1
from ._dtypes import int2 as int2
from ._dtypes import int4 as int4
from ._dtypes import int8 as int8
from ._dtypes import int16 as int16
from ._dtypes import int32 as int32
from ._dtypes import int64 as int64
from ._dtypes import int_ as int_
from ._dtypes import isdtype as isdtype
from ._dtypes import issubdtype as issubdtype
from ._dtypes import result_type as result_type
from ._dtypes import single as single
from ._dtypes import uint as uint
from ._dtypes import uint1 as uint1
from ._dtypes import uint2 as uint2
from ._dtypes import uint4 as uint4
from ._dtypes import uint8 as uint8
from ._dtypes import uint16 as uint16
from ._dtypes import uint32 as uint32
from ._dtypes import uint64 as uint64
from ._einsum import einsum as einsum
from ._einsum import einsum_path as einsum_path
from ._extreme_places import argmax as argmax
from ._extreme_places import argmin as argmin
from ._filling import empty as empty
from ._filling import empty_like as empty_like
from ._filling import full as full
from ._filling import full_like as full_like
from ._filling import ones as ones
from ._filling import ones_like as ones_like
from ._filling import zeros as zeros
from ._filling import zeros_like as zeros_like
from ._fitting import polyfit as polyfit
from ._fitting import roots as roots
from ._float_parts import angle as angle
from ._float_parts import bitwise_count as bitwise_count
from ._float_parts import copysign as copysign
from ._float_parts import frexp as frexp
from ._float_parts import i0 as i0
from ._float_parts import ldexp as ldexp
from ._float_parts import modf as modf
from ._float_parts import nan_to_num as nan_to_num
from ._float_parts import signbit as signbit
from ._float_parts import sinc as sinc
from ._float_parts import spacing as spacing
from ._float_parts import unwrap as unwrap
from ._grids import c_ as c_
from ._grids import mgrid as mgrid
from ._grids import ogrid as ogrid
from ._grids import r_ as r_
from ._histograms import bincount as bincount
from ._histograms import histogram as histogram
from ._histograms import histogram_bin_edges as histogram_bin_edges
from ._histograms_multi import histogram2d as histogram2d
from ._histograms_multi import histogramdd as histogramdd
from ._index_arithmetic import ix_ as ix_
from ._index_arithmetic import ravel_multi_index as ravel_multi_index
from ._index_arithmetic import unravel_index as unravel_index
from ._index_entries import ds as ds
from ._inserting import delete as delete
from ._inserting import insert as insert
from ._interchange import from_dlpack as from_dlpack
from ._interchange import load as load
from ._interpolation import interp as interp
from ._joining import append as append
from ._joining import array_split as array_split
from ._joining import block as block
from ._joining import column_stack as column_stack
from ._joining import concat as concat
from ._joining import concatenate as concatenate
from ._joining import dsplit as dsplit
from ._joining import dstack as dstack
from ._joining import hsplit as hsplit
from ._joining import hstack as hstack
from ._joining import split as split
from ._joining import stack as stack
from ._joining import unstack as unstack
from ._joining import vsplit as vsplit
from ._joining import vstack as vstack
from ._linear_algebra import cross as cross
from ._linear_algebra import dot as dot
from ._linear_algebra import inner as inner
from ._linear_algebra import kron as kron
from ._linear_algebra import matmul as matmul
from ._linear_algebra import matvec as matvec
from ._linear_algebra import outer as outer
from ._linear_algebra import tensordot as tensordot
from ._linear_algebra import vdot as vdot
from ._linear_algebra import vecdot as vecdot
from ._linear_algebra import vecmat as vecmat
from ._moments import mean as mean
from ._moments import std as std
from ._moments import var as var
from ._nan_functions import nanargmax as nanargmax
from ._nan_functions import nanargmin as nanargmin
from ._nan_functions import nanmax as nanmax
from ._nan_functions import nanmean as nanmean
from ._nan_functions import nanmin as nanmin
from ._nan_functions import nanprod as nanprod
from ._nan_functions import nanstd as nanstd
from ._nan_functions import nansum as nansum
from ._nan_functions import nanvar as nanvar
from ._padding import pad as pad
from ._polynomials import poly as poly
from ._polynomials import polyadd as polyadd
from ._polynomials import polyder as polyder
from ._polynomials import polydiv as polydiv
from ._polynomials import polyint as polyint
from ._polynomials import polymul as polymul
from ._polynomials import polysub as polysub
from ._polynomials import polyval as polyval
from ._polynomials import vander as vander
from ._printing import set_printoptions as set_printoptions
from ._ranges import arange as arange
from ._ranges import geomspace as geomspace
from ._ranges import indices as indices
from ._ranges import linspace as linspace
from ._ranges import logspace as logspace
from ._ranges import meshgrid as meshgrid
from ._rearranging import apply_along_axis as apply_along_axis
from ._rearranging import apply_over_axes as apply_over_axes
from ._rearranging import flip as flip
from ._rearranging import fliplr as fliplr
from ._rearranging import flipud as flipud
from ._rearranging import repeat as repeat
from ._rearranging import resize as resize
from ._rearranging import roll as roll
from ._rearranging import rot90 as rot90
from ._rearranging import tile as tile
from ._rearranging import trim_zeros as trim_zeros
from ._reductions import all as all
from ._reductions import amax as amax
from ._reductions import amin as amin
from ._reductions import any as any
from ._reductions import count_nonzero as count_nonzero
from ._reductions import max as max
from ._reductions import min as min
from ._reductions import minmax as minmax
from ._reductions import prod as prod
from ._reductions import ptp as ptp
from ._reductions import sum as sum
from ._searching import digitize as digitize
from ._searching import searchsorted as searchsorted
from ._sets import intersect1d as intersect1d
from ._sets import isin as isin
from ._sets import setdiff1d as setdiff1d
from ._sets import setxor1d as setxor1d
from ._sets import union1d as union1d
from ._sets import unique as unique
from ._sets import unique_all as unique_all
from ._sets import unique_counts as unique_counts
from ._sets import unique_inverse as unique_inverse
from ._sets import unique_values as unique_values
from ._shapes import atleast_1d as atleast_1d
from ._shapes import atleast_2d as atleast_2d
from ._shapes import atleast_3d as atleast_3d
from ._shapes import broadcast_arrays as broadcast_arrays
from ._shapes import broadcast_shapes as broadcast_shapes
from ._shapes import broadcast_to as broadcast_to
from ._shapes import expand_dims as expand_dims
from ._shapes import matrix_transpose as matrix_transpose
from ._shapes import moveaxis as moveaxis
from ._shapes import permute_dims as permute_dims
from ._shapes import ravel as ravel
from ._shapes import reshape as reshape
from ._shapes import rollaxis as rollaxis
from ._shapes import squeeze as squeeze
from ._shapes import swapaxes as swapaxes
from ._shapes import transpose as transpose
from ._sorting import argpartition as argpartition
from ._sorting import argsort as argsort
from ._sorting import lexsort as lexsort
from ._sorting import partition as partition
from ._sorting import sort as sort
from ._sorting import sort_complex as sort_complex
from ._sorting import top_k as top_k
from ._statistics import average as average
from ._statistics import median as median
from ._statistics import nanmedian as nanmedian
from ._statistics import nanpercentile as nanpercentile
from ._statistics import nanquantile as nanquantile
from ._statistics import percentile as percentile
from ._statistics import quantile as quantile
from ._taking import choose as choose
from ._taking import compress as compress
from ._taking import extract as extract
from ._taking import fill_diagonal as fill_diagonal
from ._taking import place as place
from ._taking import put as put
from ._taking import put_along_axis as put_along_axis
from ._taking import take as take
from ._taking import take_along_axis as take_along_axis
from ._triangles import diag_indices as diag_indices
from ._triangles import diag_indices_from as diag_indices_from
from ._triangles import eye as eye
from ._triangles import identity as identity
from ._triangles import mask_indices as mask_indices
from ._triangles import tri as tri
from ._triangles import tril as tril
from ._triangles import tril_indices as tril_indices
from ._triangles import tril_indices_from as tril_indices_from
from ._triangles import triu as triu
from ._triangles import triu_indices as triu_indices
from ._triangles import triu_indices_from as triu_indices_from
from ._ufunc_objects import add as add
from ._ufunc_objects import bitwise_and as bitwise_and
from ._ufunc_objects import bitwise_or as bitwise_or
from ._ufunc_objects import bitwise_xor as bitwise_xor
from ._ufunc_objects import frompyfunc as frompyfunc
from ._ufunc_objects import logaddexp as logaddexp
from ._ufunc_objects import logaddexp2 as logaddexp2
from ._ufunc_objects import logical_and as logical_and
from ._ufunc_objects import logical_or as logical_or
from ._ufunc_objects import logical_xor as logical_xor
from ._ufunc_objects import maximum as maximum
from ._ufunc_objects import minimum as minimum
from ._ufunc_objects import multiply as multiply
from ._ufunc_objects import negative as negative
from ._ufunc_objects import subtract as subtract
from ._ufunc_objects import ufunc as ufunc
from ._ufuncs import abs as abs
from ._ufuncs import absolute as absolute
from ._ufuncs import acos as acos
from ._ufuncs import acosh as acosh
from ._ufuncs import arccos as arccos
from ._ufuncs import arccosh as arccosh
from ._ufuncs import arcsin as arcsin
from ._ufuncs import arcsinh as arcsinh
from ._ufuncs import arctan as arctan
from ._ufuncs import arctanh as arctanh
from ._ufuncs import asin as asin
from ._ufuncs import asinh as asinh
from ._ufuncs import atan as atan
from ._ufuncs import atanh as atanh
from ._ufuncs import bitwise_invert as bitwise_invert
from ._ufuncs import bitwise_not as bitwise_not
from ._ufuncs import cbrt as cbrt
from ._ufuncs import ceil as ceil
from ._ufuncs import conj as conj
from ._ufuncs import conjugate as conjugate
from ._ufuncs import cos as cos
from ._ufuncs import cosh as cosh
from ._ufuncs import deg2rad as deg2rad
from ._ufuncs import degrees as degrees
from ._ufuncs import exp as exp
from ._ufuncs import exp2 as exp2
from ._ufuncs import expm1 as expm1
from ._ufuncs import fabs as fabs
from ._ufuncs import floor as floor
from ._ufuncs import imag as imag
from ._ufuncs import invert as invert
from ._ufuncs import log as log
from ._ufuncs import log1p as log1p
from ._ufuncs import log2 as log2
from ._ufuncs import log10 as log10
from ._ufuncs import logical_not as logical_not
from ._ufuncs import positive as positive
from ._ufuncs import rad2deg as rad2deg
from ._ufuncs import radians as radians
from ._ufuncs import real as real
from ._ufuncs import reciprocal as reciprocal
from ._ufuncs import sign as sign
from ._ufuncs import sin as sin
from ._ufuncs import sinh as sinh
from ._ufuncs import sqrt as sqrt
from ._ufuncs import square as square
from ._ufuncs import tan as tan
from ._ufuncs import tanh as tanh
from ._ufuncs_binary import arctan2 as arctan2
from ._ufuncs_binary import atan2 as atan2
from ._ufuncs_binary import bitwise_left_shift as bitwise_left_shift
from ._ufuncs_binary import bitwise_right_shift as bitwise_right_shift
from ._ufuncs_binary import divide as divide
from ._ufuncs_binary import equal as equal
from ._ufuncs_binary import greater as greater
from ._ufuncs_binary import greater_equal as greater_equal
from ._ufuncs_binary import left_shift as left_shift
from ._ufuncs_binary import less as less
from ._ufuncs_binary import less_equal as less_equal
from ._ufuncs_binary import nextafter as nextafter
from ._ufuncs_binary import not_equal as not_equal
from ._ufuncs_binary import right_shift as right_shift
from ._ufuncs_binary import true_divide as true_divide
from ._vectorize import fromfunction as fromfunction
from ._vectorize import vectorize as vectorize
from ._where import argwhere as argwhere
from ._where import flatnonzero as flatnonzero
from ._where import nonzero as nonzero
from ._where import piecewise as piecewise
from ._where import select as select
from ._where import where as where
from ._windows import bartlett as bartlett
from ._windows import blackman as blackman
from ._windows import hamming as hamming
from ._windows import hanning as hanning
from ._windows import kaiser as kaiser

__all__ = [
    "ComplexWarning",
    "abs",
    "absolute",
    "acos",
    "acosh",
    "add",
    "all",
    "allclose",
    "amax",
    "amin",
    "angle",
    "any",
    "append",
    "apply_along_axis",
    "apply_over_axes",
    "arange",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "argmax",
    "argmin",
    "argpartition",
    "argsort",
    "argwhere",
    "around",
    "array",
    "array_equal",
    "array_equiv",
    "array_repr",
    "array_split",
    "array_str",
    "asarray",
    "asin",
    "asinh",
    "astype",
    "atan",
    "atan2",
    "atanh",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "average",
    "bartlett",
    "bfloat16",
    "bincount",
    "bitwise_and",
    "bitwise_count",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_not",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "blackman",
    "block",
    "bool",
    "bool_",
    "broadcast_arrays",
    "broadcast_shapes",
    "broadcast_to",
    "c_",
    "can_cast",
    "cbrt",
    "cdouble",
    "ceil",
    "character",
    "choose",
    "clip",
    "column_stack",
    "complex64",
    "complex128",
    "complex_",
    "complexfloating",
    "compress",
    "concat",
    "concatenate",
    "conj",
    "conjugate",
    "convolve",
    "copy",
    "copysign",
    "corrcoef",
    "correlate",
    "cos",
    "cosh",
    "count_nonzero",
    "cov",
    "cross",
    "csingle",
    "cumprod",
    "cumsum",
    "cumulative_prod",
    "cumulative_sum",
    "deg2rad",
    "degrees",
    "delete",
    "diag",
    "diag_indices",
    "diag_indices_from",
    "diagflat",
    "diagonal",
    "diff",
    "digitize",
    "divide",
    "divmod",
    "dot",
    "double",
    "dsplit",
    "dstack",
    "dtype",
    "e",
    "ediff1d",
    "einsum",
    "einsum_path",
    "empty",
    "empty_like",
    "equal",
    "euler_gamma",
    "exp",
    "exp2",
    "expand_dims",
    "expm1",
    "extract",
    "eye",
    "fabs",
    "fft",
    "fill_diagonal",
    "finfo",
    "flatnonzero",
    "flexible",
    "flip",
    "fliplr",
    "flipud",
    "float4_e2m1fn",
    "float6_e2m3fn",
    "float6_e3m2fn",
    "float8_e3m4",
    "float8_e4m3",
    "float8_e4m3b11fnuz",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
    "float16",
    "float32",
    "float64",
    "float_",
    "float_power",
    "floating",
    "floor",
    "floor_divide",
    "fmax",
    "fmin",
    "fmod",
    "frexp",
    "from_dlpack",
    "frombuffer",
    "fromfile",
    "fromfunction",
    "fromiter",
    "frompyfunc",
    "fromstring",
    "full",
    "full_like",
    "gcd",
    "generic",
    "geomspace",
    "get_printoptions",
    "gradient",
    "greater",
    "greater_equal",
    "hamming",
    "hanning",
    "heaviside",
    "histogram",
    "histogram2d",
    "histogram_bin_edges",
    "histogramdd",
    "hsplit",
    "hstack",
    "hypot",
    "i0",
    "identity",
    "iinfo",
    "imag",
    "index_exp",
    "indices",
    "inexact",
    "inf",
    "inner",
    "insert",
    "int1",
    "int2",
    "int4",
    "int8",
    "int16",
    "int32",
    "int64",
    "int_",
    "integer",
    "interp",
    "intersect1d",
    "invert",
    "isclose",
    "iscomplex",
    "iscomplexobj",
    "isdtype",
    "isfinite",
    "isin",
    "isinf",
    "isnan",
    "isneginf",
    "isposinf",
    "isreal",
    "isrealobj",
    "isscalar",
    "issubdtype",
    "iterable",
    "ix_",
    "kaiser",
    "kron",
    "lcm",
    "ldexp",
    "left_shift",
    "less",
    "less_equal",
    "lexsort",
    "linalg",
    "linspace",
    "load",
    "log",
    "log1p",
    "log2",
    "log10",
    "logaddexp",
    "logaddexp2",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "logspace",
    "mask_indices",
    "matmul",
    "matrix_transpose",
    "matvec",
    "max",
    "maximum",
    "mean",
    "median",
    "meshgrid",
    "mgrid",
    "min",
    "minimum",
    "minmax",
    "mod",
    "modf",
    "moveaxis",
    "multiply",
    "nan",
    "nan_to_num",
    "nanargmax",
    "nanargmin",
    "nancumprod",
    "nancumsum",
    "nanmax",
    "nanmean",
    "nanmedian",
    "nanmin",
    "nanpercentile",
    "nanprod",
    "nanquantile",
    "nanstd",
    "nansum",
    "nanvar",
    "ndarray",
    "ndim",
    "negative",
    "newaxis",
    "nextafter",
    "nonzero",
    "not_equal",
    "number",
    "object_",
    "ogrid",
    "ones",
    "ones_like",
    "outer",
    "packbits",
    "pad",
    "partition",
    "percentile",
    "permute_dims",
    "pi",
    "piecewise",
    "place",
    "poly",
    "polyadd",
    "polyder",
    "polydiv",
    "polyfit",
    "polyint",
    "polymul",
    "polysub",
    "polyval",
    "positive",
    "pow",
    "power",
    "printoptions",
    "prod",
    "promote_types",
    "ptp",
    "put",
    "put_along_axis",
    "quantile",
    "r_",
    "rad2deg",
    "radians",
    "ravel",
    "ravel_multi_index",
    "real",
    "reciprocal",
    "remainder",
    "repeat",
    "reshape",
    "resize",
    "result_type",
    "right_shift",
    "rint",
    "roll",
    "rollaxis",
    "roots",
    "rot90",
    "round",
    "s_",
    "save",
    "savez",
    "searchsorted",
    "select",
    "set_printoptions",
    "setdiff1d",
    "setxor1d",
    "shape",
    "sign",
    "signbit",
    "signedinteger",
    "sin",
    "sinc",
    "single",
    "sinh",
    "size",
    "sort",
    "sort_complex",
    "spacing",
    "split",
    "sqrt",
    "square",
    "squeeze",
    "stack",
    "std",
    "subtract",
    "sum",
    "swapaxes",
    "take",
    "take_along_axis",
    "tan",
    "tanh",
    "tensordot",
    "tile",
    "top_k",
    "trace",
    "transpose",
    "trapezoid",
    "tri",
    "tril",
    "tril_indices",
    "tril_indices_from",
    "trim_zeros",
    "triu",
    "triu_indices",
    "triu_indices_from",
    "true_divide",
    "trunc",
    "ufunc",
    "uint",
    "uint1",
    "uint2",
    "uint4",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "union1d",
    "unique",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
    "unpackbits",
    "unravel_index",
    "unsignedinteger",
    "unstack",
    "unwrap",
    "vander",
    "var",
    "vdot",
    "vecdot",
    "vecmat",
    "vectorize",
    "vsplit",
    "vstack",
    "where",
    "zeros",
    "zeros_like",
]
