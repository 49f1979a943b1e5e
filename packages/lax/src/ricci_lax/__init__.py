"""Every primitive operation on arrays, with all its rules."""

from ._approximate_top_k import approx_max_k as approx_max_k
from ._approximate_top_k import approx_min_k as approx_min_k
from ._approximate_top_k import approx_top_k_p as approx_top_k_p
from ._arithmetic import abs as abs
from ._arithmetic import abs_p as abs_p
from ._arithmetic import add as add
from ._arithmetic import add_any_p as add_any_p
from ._arithmetic import add_p as add_p
from ._arithmetic import complex as complex
from ._arithmetic import complex_p as complex_p
from ._arithmetic import conj as conj
from ._arithmetic import conj_p as conj_p
from ._arithmetic import div as div
from ._arithmetic import div_p as div_p
from ._arithmetic import floor as floor
from ._arithmetic import floor_p as floor_p
from ._arithmetic import imag as imag
from ._arithmetic import imag_p as imag_p
from ._arithmetic import integer_pow as integer_pow
from ._arithmetic import integer_pow_p as integer_pow_p
from ._arithmetic import max as max
from ._arithmetic import max_p as max_p
from ._arithmetic import min as min
from ._arithmetic import min_p as min_p
from ._arithmetic import mul as mul
from ._arithmetic import mul_p as mul_p
from ._arithmetic import mulhi as mulhi
from ._arithmetic import mulhi_p as mulhi_p
from ._arithmetic import neg as neg
from ._arithmetic import neg_p as neg_p
from ._arithmetic import one_minus_square as one_minus_square
from ._arithmetic import one_minus_square_p as one_minus_square_p
from ._arithmetic import real as real
from ._arithmetic import real_p as real_p
from ._arithmetic import reciprocal as reciprocal
from ._arithmetic import rem as rem
from ._arithmetic import rem_p as rem_p
from ._arithmetic import sign as sign
from ._arithmetic import sign_p as sign_p
from ._arithmetic import square as square
from ._arithmetic import square_p as square_p
from ._arithmetic import sub as sub
from ._arithmetic import sub_p as sub_p
from ._associative_scan import associative_scan as associative_scan
from ._breakpoint import debug_breakpoint as debug_breakpoint
from ._callback import io_callback as io_callback
from ._callback import io_callback_p as io_callback_p
from ._callback import pure_callback as pure_callback
from ._callback import pure_callback_p as pure_callback_p
from ._callback_in_rules import emit_python_callback as emit_python_callback
from ._check_rules import check_rules as check_rules
from ._checkpoint import checkpoint as checkpoint
from ._checkpoint import checkpoint_name as checkpoint_name
from ._checkpoint import name_p as name_p
from ._checkpoint import remat_p as remat_p
from ._closure_convert import closure_convert as closure_convert
from ._comparison import and_p as and_p
from ._comparison import bitwise_and as bitwise_and
from ._comparison import bitwise_not as bitwise_not
from ._comparison import bitwise_or as bitwise_or
from ._comparison import bitwise_xor as bitwise_xor
from ._comparison import clamp as clamp
from ._comparison import clamp_p as clamp_p
from ._comparison import clz as clz
from ._comparison import clz_p as clz_p
from ._comparison import eq as eq
from ._comparison import eq_p as eq_p
from ._comparison import eq_to_p as eq_to_p
from ._comparison import ge as ge
from ._comparison import ge_p as ge_p
from ._comparison import gt as gt
from ._comparison import gt_p as gt_p
from ._comparison import le as le
from ._comparison import le_p as le_p
from ._comparison import le_to_p as le_to_p
from ._comparison import lt as lt
from ._comparison import lt_p as lt_p
from ._comparison import lt_to_p as lt_to_p
from ._comparison import ne as ne
from ._comparison import ne_p as ne_p
from ._comparison import not_p as not_p
from ._comparison import or_p as or_p
from ._comparison import population_count as population_count
from ._comparison import population_count_p as population_count_p
from ._comparison import select as select
from ._comparison import select_n as select_n
from ._comparison import select_n_p as select_n_p
from ._comparison import shift_left as shift_left
from ._comparison import shift_left_p as shift_left_p
from ._comparison import shift_right_arithmetic as shift_right_arithmetic
from ._comparison import shift_right_arithmetic_p as shift_right_arithmetic_p
from ._comparison import shift_right_logical as shift_right_logical
from ._comparison import shift_right_logical_p as shift_right_logical_p
from ._comparison import xor_p as xor_p
from ._composite import composite as composite
from ._cond import cond as cond
from ._cond import cond_p as cond_p
from ._cond import switch as switch
from ._constants import broadcasted_iota as broadcasted_iota
from ._constants import full as full
from ._constants import full_like as full_like
from ._constants import iota as iota
from ._constants import iota_p as iota_p
from ._contraction import DotDimensionNumbers as DotDimensionNumbers
from ._contraction import batch_matmul as batch_matmul
from ._contraction import dot as dot
from ._contraction import dot_general as dot_general
from ._contraction import dot_general_p as dot_general_p
from ._conversion import bitcast_convert_type as bitcast_convert_type
from ._conversion import bitcast_convert_type_p as bitcast_convert_type_p
from ._conversion import convert_element_type as convert_element_type
from ._conversion import convert_element_type_p as convert_element_type_p
from ._conversion import reduce_precision as reduce_precision
from ._conversion import reduce_precision_p as reduce_precision_p
from ._convolution import conv_general_dilated as conv_general_dilated
from ._convolution import conv_general_dilated_p as conv_general_dilated_p
from ._convolution_forms import conv as conv
from ._convolution_forms import conv_general_dilated_local as conv_general_dilated_local
from ._convolution_forms import conv_general_dilated_patches as conv_general_dilated_patches
from ._convolution_forms import conv_transpose as conv_transpose
from ._convolution_forms import conv_with_general_padding as conv_with_general_padding
from ._convolution_shape import ConvDimensionNumbers as ConvDimensionNumbers
from ._convolution_shape import (
    ConvGeneralDilatedDimensionNumbers as ConvGeneralDilatedDimensionNumbers,
)
from ._convolution_shape import conv_dimension_numbers as conv_dimension_numbers
from ._convolution_shape import conv_general_permutations as conv_general_permutations
from ._convolution_shape import conv_general_shape_tuple as conv_general_shape_tuple
from ._convolution_shape import conv_shape_tuple as conv_shape_tuple
from ._convolution_shape import conv_transpose_shape_tuple as conv_transpose_shape_tuple
from ._copy import copy_p as copy_p
from ._cumulative import cumlogsumexp as cumlogsumexp
from ._cumulative import cumlogsumexp_p as cumlogsumexp_p
from ._cumulative import cummax as cummax
from ._cumulative import cummax_p as cummax_p
from ._cumulative import cummin as cummin
from ._cumulative import cummin_p as cummin_p
from ._cumulative import cumprod as cumprod
from ._cumulative import cumprod_p as cumprod_p
from ._cumulative import cumsum as cumsum
from ._cumulative import cumsum_p as cumsum_p
from ._custom_batching import custom_vmap as custom_vmap
from ._custom_batching import custom_vmap_p as custom_vmap_p
from ._custom_gradient import custom_gradient as custom_gradient
from ._custom_jvp import custom_jvp as custom_jvp
from ._custom_jvp import custom_jvp_call_p as custom_jvp_call_p
from ._custom_root import custom_root as custom_root
from ._custom_vjp import CustomVJPPrimal as CustomVJPPrimal
from ._custom_vjp import custom_vjp as custom_vjp
from ._custom_vjp import custom_vjp_call_p as custom_vjp_call_p
from ._custom_vjp import custom_vjp_tangent_p as custom_vjp_tangent_p
from ._debug import debug_callback as debug_callback
from ._debug import debug_callback_p as debug_callback_p
from ._debug import debug_log as debug_log
from ._debug import debug_print as debug_print
from ._debug import debug_print_p as debug_print_p
from ._dynamic_slicing import dynamic_index_in_dim as dynamic_index_in_dim
from ._dynamic_slicing import dynamic_slice as dynamic_slice
from ._dynamic_slicing import dynamic_slice_in_dim as dynamic_slice_in_dim
from ._dynamic_slicing import dynamic_slice_p as dynamic_slice_p
from ._dynamic_slicing import dynamic_update_index_in_dim as dynamic_update_index_in_dim
from ._dynamic_slicing import dynamic_update_slice as dynamic_update_slice
from ._dynamic_slicing import dynamic_update_slice_in_dim as dynamic_update_slice_in_dim
from ._dynamic_slicing import dynamic_update_slice_p as dynamic_update_slice_p
from ._effects import DebugEffect as DebugEffect
from ._effects import OrderedDebugEffect as OrderedDebugEffect
from ._fft import FftType as FftType
from ._fft import fft as fft
from ._fft import fft_p as fft_p
from ._find_nan import find_nan as find_nan
from ._fwd_and_bwd import fwd_and_bwd as fwd_and_bwd
from ._gamma import betainc as betainc
from ._gamma import igamma as igamma
from ._gamma import igamma_grad_a as igamma_grad_a
from ._gamma import igamma_grad_a_p as igamma_grad_a_p
from ._gamma import igamma_p as igamma_p
from ._gamma import igammac as igammac
from ._gamma import igammac_p as igammac_p
from ._gamma import random_gamma_grad as random_gamma_grad
from ._gamma import random_gamma_grad_p as random_gamma_grad_p
from ._gamma import regularized_incomplete_beta_p as regularized_incomplete_beta_p
from ._gather import gather as gather
from ._gather import gather_p as gather_p
from ._gather import index_take as index_take
from ._identity import optimization_barrier as optimization_barrier
from ._identity import optimization_barrier_p as optimization_barrier_p
from ._identity import stop_gradient as stop_gradient
from ._identity import stop_gradient_p as stop_gradient_p
from ._indexing import GatherDimensionNumbers as GatherDimensionNumbers
from ._indexing import GatherScatterMode as GatherScatterMode
from ._indexing import ScatterDimensionNumbers as ScatterDimensionNumbers
from ._jacobian import hessian as hessian
from ._jacobian import jacfwd as jacfwd
from ._jacobian import jacobian as jacobian
from ._jacobian import jacrev as jacrev
from ._joining import broadcast_shapes as broadcast_shapes
from ._joining import broadcast_to_rank as broadcast_to_rank
from ._joining import collapse as collapse
from ._joining import concatenate as concatenate
from ._joining import concatenate_p as concatenate_p
from ._joining import rev as rev
from ._joining import rev_p as rev_p
from ._joining import split as split
from ._joining import split_p as split_p
from ._joining import stack as stack
from ._joining import stack_p as stack_p
from ._joining import tile as tile
from ._joining import tile_p as tile_p
from ._joining import unstack as unstack
from ._joining import unstack_p as unstack_p
from ._linear_call import linear_call as linear_call
from ._linear_call import linear_call_p as linear_call_p
from ._linear_solve import custom_linear_solve as custom_linear_solve
from ._linear_solve import linear_solve_p as linear_solve_p
from ._loops import fori_loop as fori_loop
from ._loops import map as map
from ._loops import scan as scan
from ._making import broadcast_like as broadcast_like
from ._making import dtype as dtype
from ._making import empty as empty
from ._making import shape_as_value as shape_as_value
from ._making import stage as stage
from ._making import stage_p as stage_p
from ._math import AccuracyMode as AccuracyMode
from ._math import RoundingMethod as RoundingMethod
from ._math import Tolerance as Tolerance
from ._math import acos as acos
from ._math import acos_p as acos_p
from ._math import acosh as acosh
from ._math import acosh_p as acosh_p
from ._math import asin as asin
from ._math import asin_p as asin_p
from ._math import asinh as asinh
from ._math import asinh_p as asinh_p
from ._math import atan as atan
from ._math import atan2 as atan2
from ._math import atan2_p as atan2_p
from ._math import atan_p as atan_p
from ._math import atanh as atanh
from ._math import atanh_p as atanh_p
from ._math import cbrt as cbrt
from ._math import cbrt_p as cbrt_p
from ._math import ceil as ceil
from ._math import ceil_p as ceil_p
from ._math import cos as cos
from ._math import cos_p as cos_p
from ._math import cosh as cosh
from ._math import cosh_p as cosh_p
from ._math import exp as exp
from ._math import exp2 as exp2
from ._math import exp2_p as exp2_p
from ._math import exp_p as exp_p
from ._math import expm1 as expm1
from ._math import expm1_p as expm1_p
from ._math import is_finite as is_finite
from ._math import is_finite_p as is_finite_p
from ._math import log as log
from ._math import log1p as log1p
from ._math import log1p_p as log1p_p
from ._math import log2 as log2
from ._math import log2_p as log2_p
from ._math import log_p as log_p
from ._math import logistic as logistic
from ._math import logistic_p as logistic_p
from ._math import nextafter as nextafter
from ._math import nextafter_p as nextafter_p
from ._math import pow as pow
from ._math import pow_p as pow_p
from ._math import round as round
from ._math import round_p as round_p
from ._math import rsqrt as rsqrt
from ._math import rsqrt_p as rsqrt_p
from ._math import sin as sin
from ._math import sin_p as sin_p
from ._math import sinh as sinh
from ._math import sinh_p as sinh_p
from ._math import sqrt as sqrt
from ._math import sqrt_p as sqrt_p
from ._math import tan as tan
from ._math import tan_p as tan_p
from ._math import tanh as tanh
from ._math import tanh_p as tanh_p
from ._nan_report import NonFinite as NonFinite
from ._platform import platform_dependent as platform_dependent
from ._platform import platform_index_p as platform_index_p
from ._precision import DotAlgorithm as DotAlgorithm
from ._precision import DotAlgorithmPreset as DotAlgorithmPreset
from ._precision import Precision as Precision
from ._precision import PrecisionLike as PrecisionLike
from ._ragged_dot import RaggedDotDimensionNumbers as RaggedDotDimensionNumbers
from ._ragged_dot import ragged_dot as ragged_dot
from ._ragged_dot import ragged_dot_general as ragged_dot_general
from ._random_bits import RandomAlgorithm as RandomAlgorithm
from ._random_bits import rng_bit_generator as rng_bit_generator
from ._random_bits import rng_bit_generator_p as rng_bit_generator_p
from ._random_bits import rng_uniform as rng_uniform
from ._random_bits import rng_uniform_p as rng_uniform_p
from ._reduce import reduce as reduce
from ._reduce import reduce_p as reduce_p
from ._reductions import argmax as argmax
from ._reductions import argmax_p as argmax_p
from ._reductions import argmin as argmin
from ._reductions import argmin_p as argmin_p
from ._reductions import reduce_and as reduce_and
from ._reductions import reduce_and_p as reduce_and_p
from ._reductions import reduce_max as reduce_max
from ._reductions import reduce_max_p as reduce_max_p
from ._reductions import reduce_min as reduce_min
from ._reductions import reduce_min_p as reduce_min_p
from ._reductions import reduce_or as reduce_or
from ._reductions import reduce_or_p as reduce_or_p
from ._reductions import reduce_prod as reduce_prod
from ._reductions import reduce_prod_p as reduce_prod_p
from ._reductions import reduce_xor as reduce_xor
from ._reductions import reduce_xor_p as reduce_xor_p
from ._saved_residuals import print_saved_residuals as print_saved_residuals
from ._saved_residuals import saved_residuals as saved_residuals
from ._scaled_dot import scaled_dot as scaled_dot
from ._scan import scan_p as scan_p
from ._scatter import scatter as scatter
from ._scatter import scatter_add as scatter_add
from ._scatter import scatter_add_p as scatter_add_p
from ._scatter import scatter_apply as scatter_apply
from ._scatter import scatter_max as scatter_max
from ._scatter import scatter_max_p as scatter_max_p
from ._scatter import scatter_min as scatter_min
from ._scatter import scatter_min_p as scatter_min_p
from ._scatter import scatter_mul as scatter_mul
from ._scatter import scatter_mul_p as scatter_mul_p
from ._scatter import scatter_p as scatter_p
from ._scatter import scatter_sub as scatter_sub
from ._scatter import scatter_sub_p as scatter_sub_p
from ._sequential_vmap import sequential_vmap as sequential_vmap
from ._slicing import index_in_dim as index_in_dim
from ._slicing import pad as pad
from ._slicing import pad_p as pad_p
from ._slicing import slice as slice
from ._slicing import slice_in_dim as slice_in_dim
from ._slicing import slice_p as slice_p
from ._sorting import sort as sort
from ._sorting import sort_key_val as sort_key_val
from ._sorting import sort_p as sort_p
from ._sorting import top_k as top_k
from ._sorting import top_k_p as top_k_p
from ._special import bessel_i0e as bessel_i0e
from ._special import bessel_i0e_p as bessel_i0e_p
from ._special import bessel_i1e as bessel_i1e
from ._special import bessel_i1e_p as bessel_i1e_p
from ._special import digamma as digamma
from ._special import digamma_p as digamma_p
from ._special import erf as erf
from ._special import erf_inv as erf_inv
from ._special import erf_inv_p as erf_inv_p
from ._special import erf_p as erf_p
from ._special import erfc as erfc
from ._special import erfc_p as erfc_p
from ._special import lgamma as lgamma
from ._special import lgamma_p as lgamma_p
from ._special import polygamma as polygamma
from ._special import polygamma_p as polygamma_p
from ._special import zeta as zeta
from ._special import zeta_p as zeta_p
from ._staged import jit_p as jit_p
from ._structural import broadcast as broadcast
from ._structural import broadcast_in_dim as broadcast_in_dim
from ._structural import broadcast_in_dim_p as broadcast_in_dim_p
from ._structural import expand_dims as expand_dims
from ._structural import placement as placement
from ._structural import reduce_sum as reduce_sum
from ._structural import reduce_sum_p as reduce_sum_p
from ._structural import reshape as reshape
from ._structural import reshape_p as reshape_p
from ._structural import squeeze as squeeze
from ._structural import squeeze_p as squeeze_p
from ._structural import transpose as transpose
from ._structural import transpose_p as transpose_p
from ._symbolic_zeros import custom_vjp_primal_tree_values as custom_vjp_primal_tree_values
from ._symbolic_zeros import zero_from_primal as zero_from_primal
from ._tangent_map import tangent_map_p as tangent_map_p
from ._threefry import threefry2x32_p as threefry2x32_p
from ._tokens import after_all as after_all
from ._tokens import after_all_p as after_all_p
from ._tokens import create_token as create_token
from ._tokens import create_token_p as create_token_p
from ._tokens import dce_sink as dce_sink
from ._while import while_loop as while_loop
from ._while import while_p as while_p
from ._window_selection import select_and_gather_add_p as select_and_gather_add_p
from ._window_selection import select_and_scatter_add_p as select_and_scatter_add_p
from ._window_selection import select_and_scatter_p as select_and_scatter_p
from ._window_shape import padtype_to_pads as padtype_to_pads
from ._window_shape import reduce_window_shape_tuple as reduce_window_shape_tuple
from ._windows import reduce_window as reduce_window
from ._windows import reduce_window_max_p as reduce_window_max_p
from ._windows import reduce_window_min_p as reduce_window_min_p
from ._windows import reduce_window_p as reduce_window_p
from ._windows import reduce_window_sum_p as reduce_window_sum_p

__all__ = [
    "AccuracyMode",
    "ConvDimensionNumbers",
    "ConvGeneralDilatedDimensionNumbers",
    "CustomVJPPrimal",
    "DebugEffect",
    "DotAlgorithm",
    "DotAlgorithmPreset",
    "DotDimensionNumbers",
    "FftType",
    "GatherDimensionNumbers",
    "GatherScatterMode",
    "OrderedDebugEffect",
    "NonFinite",
    "Precision",
    "PrecisionLike",
    "RaggedDotDimensionNumbers",
    "RandomAlgorithm",
    "RoundingMethod",
    "ScatterDimensionNumbers",
    "Tolerance",
    "abs",
    "abs_p",
    "acos",
    "acos_p",
    "acosh",
    "acosh_p",
    "add",
    "add_any_p",
    "add_p",
    "after_all",
    "after_all_p",
    "and_p",
    "approx_max_k",
    "approx_min_k",
    "approx_top_k_p",
    "argmax",
    "argmax_p",
    "argmin",
    "argmin_p",
    "asin",
    "asin_p",
    "asinh",
    "asinh_p",
    "associative_scan",
    "atan",
    "atan2",
    "atan2_p",
    "atan_p",
    "atanh",
    "atanh_p",
    "batch_matmul",
    "bessel_i0e",
    "bessel_i0e_p",
    "bessel_i1e",
    "bessel_i1e_p",
    "betainc",
    "bitcast_convert_type",
    "bitcast_convert_type_p",
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "broadcast",
    "broadcast_in_dim",
    "broadcast_in_dim_p",
    "broadcast_like",
    "broadcast_shapes",
    "broadcast_to_rank",
    "broadcasted_iota",
    "cbrt",
    "cbrt_p",
    "ceil",
    "ceil_p",
    "check_rules",
    "checkpoint",
    "checkpoint_name",
    "clamp",
    "clamp_p",
    "closure_convert",
    "clz",
    "clz_p",
    "collapse",
    "complex",
    "complex_p",
    "composite",
    "concatenate",
    "concatenate_p",
    "cond",
    "cond_p",
    "conj",
    "conj_p",
    "conv",
    "conv_dimension_numbers",
    "conv_general_dilated",
    "conv_general_dilated_local",
    "conv_general_dilated_p",
    "conv_general_dilated_patches",
    "conv_general_permutations",
    "conv_general_shape_tuple",
    "conv_shape_tuple",
    "conv_transpose",
    "conv_transpose_shape_tuple",
    "conv_with_general_padding",
    "convert_element_type",
    "convert_element_type_p",
    "copy_p",
    "cos",
    "cos_p",
    "cosh",
    "cosh_p",
    "create_token",
    "create_token_p",
    "cumlogsumexp",
    "cumlogsumexp_p",
    "cummax",
    "cummax_p",
    "cummin",
    "cummin_p",
    "cumprod",
    "cumprod_p",
    "cumsum",
    "cumsum_p",
    "custom_gradient",
    "custom_jvp",
    "custom_jvp_call_p",
    "custom_linear_solve",
    "custom_root",
    "custom_vjp",
    "custom_vjp_call_p",
    "custom_vjp_primal_tree_values",
    "custom_vjp_tangent_p",
    "custom_vmap",
    "custom_vmap_p",
    "dce_sink",
    "debug_breakpoint",
    "debug_callback",
    "debug_callback_p",
    "debug_log",
    "debug_print",
    "debug_print_p",
    "digamma",
    "digamma_p",
    "div",
    "div_p",
    "dot",
    "dot_general",
    "dot_general_p",
    "dtype",
    "dynamic_index_in_dim",
    "dynamic_slice",
    "dynamic_slice_in_dim",
    "dynamic_slice_p",
    "dynamic_update_index_in_dim",
    "dynamic_update_slice",
    "dynamic_update_slice_in_dim",
    "dynamic_update_slice_p",
    "emit_python_callback",
    "empty",
    "eq",
    "eq_p",
    "eq_to_p",
    "erf",
    "erf_inv",
    "erf_inv_p",
    "erf_p",
    "erfc",
    "erfc_p",
    "exp",
    "exp2",
    "exp2_p",
    "exp_p",
    "expand_dims",
    "expm1",
    "expm1_p",
    "fft",
    "fft_p",
    "find_nan",
    "floor",
    "floor_p",
    "fori_loop",
    "full",
    "full_like",
    "fwd_and_bwd",
    "gather",
    "gather_p",
    "ge",
    "ge_p",
    "gt",
    "gt_p",
    "hessian",
    "igamma",
    "igamma_grad_a",
    "igamma_grad_a_p",
    "igamma_p",
    "igammac",
    "igammac_p",
    "imag",
    "imag_p",
    "index_in_dim",
    "index_take",
    "integer_pow",
    "integer_pow_p",
    "io_callback",
    "io_callback_p",
    "iota",
    "iota_p",
    "is_finite",
    "is_finite_p",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jit_p",
    "le",
    "le_p",
    "le_to_p",
    "lgamma",
    "lgamma_p",
    "linear_call",
    "linear_call_p",
    "linear_solve_p",
    "log",
    "log1p",
    "log1p_p",
    "log2",
    "log2_p",
    "log_p",
    "logistic",
    "logistic_p",
    "lt",
    "lt_p",
    "lt_to_p",
    "map",
    "max",
    "max_p",
    "min",
    "min_p",
    "mul",
    "mul_p",
    "mulhi",
    "mulhi_p",
    "name_p",
    "ne",
    "ne_p",
    "neg",
    "neg_p",
    "nextafter",
    "nextafter_p",
    "not_p",
    "one_minus_square",
    "one_minus_square_p",
    "optimization_barrier",
    "optimization_barrier_p",
    "or_p",
    "pad",
    "pad_p",
    "padtype_to_pads",
    "platform_dependent",
    "platform_index_p",
    "polygamma",
    "polygamma_p",
    "population_count",
    "population_count_p",
    "pow",
    "pow_p",
    "pure_callback",
    "pure_callback_p",
    "ragged_dot",
    "ragged_dot_general",
    "random_gamma_grad",
    "random_gamma_grad_p",
    "real",
    "real_p",
    "reciprocal",
    "reduce",
    "reduce_and",
    "reduce_and_p",
    "reduce_max",
    "reduce_max_p",
    "reduce_min",
    "reduce_min_p",
    "reduce_or",
    "reduce_or_p",
    "reduce_p",
    "reduce_precision",
    "reduce_precision_p",
    "reduce_prod",
    "reduce_prod_p",
    "reduce_sum",
    "reduce_sum_p",
    "reduce_window",
    "reduce_window_max_p",
    "reduce_window_min_p",
    "reduce_window_p",
    "reduce_window_shape_tuple",
    "reduce_window_sum_p",
    "reduce_xor",
    "reduce_xor_p",
    "regularized_incomplete_beta_p",
    "rem",
    "rem_p",
    "remat_p",
    "reshape",
    "reshape_p",
    "rev",
    "rev_p",
    "rng_bit_generator",
    "rng_bit_generator_p",
    "rng_uniform",
    "rng_uniform_p",
    "round",
    "round_p",
    "rsqrt",
    "rsqrt_p",
    "scaled_dot",
    "scan",
    "scan_p",
    "scatter",
    "scatter_add",
    "scatter_add_p",
    "scatter_apply",
    "scatter_max",
    "scatter_max_p",
    "scatter_min",
    "scatter_min_p",
    "scatter_mul",
    "scatter_mul_p",
    "scatter_p",
    "scatter_sub",
    "scatter_sub_p",
    "select",
    "select_and_gather_add_p",
    "select_and_scatter_add_p",
    "select_and_scatter_p",
    "select_n",
    "select_n_p",
    "sequential_vmap",
    "shape_as_value",
    "shift_left",
    "shift_left_p",
    "shift_right_arithmetic",
    "shift_right_arithmetic_p",
    "shift_right_logical",
    "shift_right_logical_p",
    "sign",
    "sign_p",
    "sin",
    "sin_p",
    "sinh",
    "sinh_p",
    "slice",
    "slice_in_dim",
    "slice_p",
    "sort",
    "sort_key_val",
    "sort_p",
    "split",
    "split_p",
    "sqrt",
    "sqrt_p",
    "square",
    "square_p",
    "squeeze",
    "squeeze_p",
    "stack",
    "stack_p",
    "stage",
    "stage_p",
    "stop_gradient",
    "stop_gradient_p",
    "sub",
    "sub_p",
    "switch",
    "tan",
    "tan_p",
    "tangent_map_p",
    "tanh",
    "tanh_p",
    "threefry2x32_p",
    "tile",
    "tile_p",
    "top_k",
    "top_k_p",
    "transpose",
    "transpose_p",
    "unstack",
    "unstack_p",
    "while_loop",
    "while_p",
    "xor_p",
    "zero_from_primal",
    "zeta",
    "zeta_p",
    "print_saved_residuals",
    "saved_residuals",
]
