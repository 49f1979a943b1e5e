"""The primitives, by name."""

from ricci_ir import eval_jaxpr_p as call_p
from ricci_ir import eval_jaxpr_p as closed_call_p
from ricci_lax import abs_p as abs_p
from ricci_lax import acos_p as acos_p
from ricci_lax import acosh_p as acosh_p
from ricci_lax import add_any_p as add_jaxvals_p
from ricci_lax import add_p as add_p
from ricci_lax import after_all_p as after_all_p
from ricci_lax import and_p as and_p
from ricci_lax import approx_top_k_p as approx_top_k_p
from ricci_lax import argmax_p as argmax_p
from ricci_lax import argmin_p as argmin_p
from ricci_lax import asin_p as asin_p
from ricci_lax import asinh_p as asinh_p
from ricci_lax import atan2_p as atan2_p
from ricci_lax import atan_p as atan_p
from ricci_lax import atanh_p as atanh_p
from ricci_lax import bessel_i0e_p as bessel_i0e_p
from ricci_lax import bessel_i1e_p as bessel_i1e_p
from ricci_lax import bitcast_convert_type_p as bitcast_convert_type_p
from ricci_lax import broadcast_in_dim_p as broadcast_in_dim_p
from ricci_lax import cbrt_p as cbrt_p
from ricci_lax import ceil_p as ceil_p
from ricci_lax import clamp_p as clamp_p
from ricci_lax import clz_p as clz_p
from ricci_lax import complex_p as complex_p
from ricci_lax import concatenate_p as concatenate_p
from ricci_lax import cond_p as cond_p
from ricci_lax import conj_p as conj_p
from ricci_lax import conv_general_dilated_p as conv_general_dilated_p
from ricci_lax import convert_element_type_p as convert_element_type_p
from ricci_lax import copy_p as copy_p
from ricci_lax import cos_p as cos_p
from ricci_lax import cosh_p as cosh_p
from ricci_lax import create_token_p as create_token_p
from ricci_lax import cumlogsumexp_p as cumlogsumexp_p
from ricci_lax import cummax_p as cummax_p
from ricci_lax import cummin_p as cummin_p
from ricci_lax import cumprod_p as cumprod_p
from ricci_lax import cumsum_p as cumsum_p
from ricci_lax import custom_jvp_call_p as custom_jvp_call_p
from ricci_lax import custom_vjp_call_p as custom_vjp_call_p
from ricci_lax import custom_vjp_tangent_p as custom_lin_p
from ricci_lax import digamma_p as digamma_p
from ricci_lax import div_p as div_p
from ricci_lax import dot_general_p as dot_general_p
from ricci_lax import dynamic_slice_p as dynamic_slice_p
from ricci_lax import dynamic_update_slice_p as dynamic_update_slice_p
from ricci_lax import eq_p as eq_p
from ricci_lax import eq_to_p as eq_to_p
from ricci_lax import erf_inv_p as erf_inv_p
from ricci_lax import erf_p as erf_p
from ricci_lax import erfc_p as erfc_p
from ricci_lax import exp2_p as exp2_p
from ricci_lax import exp_p as exp_p
from ricci_lax import expm1_p as expm1_p
from ricci_lax import fft_p as fft_p
from ricci_lax import floor_p as floor_p
from ricci_lax import gather_p as gather_p
from ricci_lax import ge_p as ge_p
from ricci_lax import gt_p as gt_p
from ricci_lax import igamma_grad_a_p as igamma_grad_a_p
from ricci_lax import igamma_p as igamma_p
from ricci_lax import igammac_p as igammac_p
from ricci_lax import imag_p as imag_p
from ricci_lax import integer_pow_p as integer_pow_p
from ricci_lax import iota_p as iota_p
from ricci_lax import is_finite_p as is_finite_p
from ricci_lax import jit_p as jit_p
from ricci_lax import le_p as le_p
from ricci_lax import le_to_p as le_to_p
from ricci_lax import lgamma_p as lgamma_p
from ricci_lax import linear_solve_p as linear_solve_p
from ricci_lax import log1p_p as log1p_p
from ricci_lax import log2_p as log2_p
from ricci_lax import log_p as log_p
from ricci_lax import logistic_p as logistic_p
from ricci_lax import lt_p as lt_p
from ricci_lax import lt_to_p as lt_to_p
from ricci_lax import max_p as max_p
from ricci_lax import min_p as min_p
from ricci_lax import mul_p as mul_p
from ricci_lax import name_p as name_p
from ricci_lax import ne_p as ne_p
from ricci_lax import neg_p as neg_p
from ricci_lax import nextafter_p as nextafter_p
from ricci_lax import not_p as not_p
from ricci_lax import one_minus_square_p as one_minus_square_p
from ricci_lax import or_p as or_p
from ricci_lax import pad_p as pad_p
from ricci_lax import polygamma_p as polygamma_p
from ricci_lax import population_count_p as population_count_p
from ricci_lax import pow_p as pow_p
from ricci_lax import real_p as real_p
from ricci_lax import reduce_and_p as reduce_and_p
from ricci_lax import reduce_max_p as reduce_max_p
from ricci_lax import reduce_min_p as reduce_min_p
from ricci_lax import reduce_or_p as reduce_or_p
from ricci_lax import reduce_p as reduce_p
from ricci_lax import reduce_precision_p as reduce_precision_p
from ricci_lax import reduce_prod_p as reduce_prod_p
from ricci_lax import reduce_sum_p as reduce_sum_p
from ricci_lax import reduce_window_max_p as reduce_window_max_p
from ricci_lax import reduce_window_min_p as reduce_window_min_p
from ricci_lax import reduce_window_p as reduce_window_p
from ricci_lax import reduce_window_sum_p as reduce_window_sum_p
from ricci_lax import reduce_xor_p as reduce_xor_p
from ricci_lax import regularized_incomplete_beta_p as regularized_incomplete_beta_p
from ricci_lax import rem_p as rem_p
from ricci_lax import remat_p as remat_p
from ricci_lax import reshape_p as reshape_p
from ricci_lax import rev_p as rev_p
from ricci_lax import rng_bit_generator_p as rng_bit_generator_p
from ricci_lax import rng_uniform_p as rng_uniform_p
from ricci_lax import round_p as round_p
from ricci_lax import rsqrt_p as rsqrt_p
from ricci_lax import scan_p as scan_p
from ricci_lax import scatter_add_p as scatter_add_p
from ricci_lax import scatter_max_p as scatter_max_p
from ricci_lax import scatter_min_p as scatter_min_p
from ricci_lax import scatter_mul_p as scatter_mul_p
from ricci_lax import scatter_p as scatter_p
from ricci_lax import select_and_gather_add_p as select_and_gather_add_p
from ricci_lax import select_and_scatter_add_p as select_and_scatter_add_p
from ricci_lax import select_and_scatter_p as select_and_scatter_p
from ricci_lax import select_n_p as select_n_p
from ricci_lax import shift_left_p as shift_left_p
from ricci_lax import shift_right_arithmetic_p as shift_right_arithmetic_p
from ricci_lax import shift_right_logical_p as shift_right_logical_p
from ricci_lax import sign_p as sign_p
from ricci_lax import sin_p as sin_p
from ricci_lax import sinh_p as sinh_p
from ricci_lax import slice_p as slice_p
from ricci_lax import sort_p as sort_p
from ricci_lax import sqrt_p as sqrt_p
from ricci_lax import square_p as square_p
from ricci_lax import squeeze_p as squeeze_p
from ricci_lax import stop_gradient_p as stop_gradient_p
from ricci_lax import sub_p as sub_p
from ricci_lax import tan_p as tan_p
from ricci_lax import tanh_p as tanh_p
from ricci_lax import threefry2x32_p as threefry2x32_p
from ricci_lax import top_k_p as top_k_p
from ricci_lax import transpose_p as transpose_p
from ricci_lax import while_p as while_p
from ricci_lax import xor_p as xor_p
from ricci_lax import zeta_p as zeta_p
from ricci_lax.linalg import cholesky_p as cholesky_p
from ricci_lax.linalg import eig_p as eig_p
from ricci_lax.linalg import eigh_p as eigh_p
from ricci_lax.linalg import hessenberg_p as hessenberg_p
from ricci_lax.linalg import householder_product_p as householder_product_p
from ricci_lax.linalg import lu_p as lu_p
from ricci_lax.linalg import qr_p as qr_p
from ricci_lax.linalg import schur_p as schur_p
from ricci_lax.linalg import svd_p as svd_p
from ricci_lax.linalg import triangular_solve_p as triangular_solve_p
from ricci_lax.linalg import tridiagonal_p as tridiagonal_p
from ricci_lax.linalg import tridiagonal_solve_p as tridiagonal_solve_p
from ricci_parallel import axis_index_p as axis_index_p
from ricci_parallel import device_put_p as device_put_p
from ricci_parallel import pmax_p as pmax_p
from ricci_parallel import pmin_p as pmin_p
from ricci_parallel import psum_p as psum_p
from ricci_parallel import sharding_constraint_p as sharding_constraint_p
from ricci_random import random_bits_p as random_bits_p
from ricci_random import random_fold_in_p as random_fold_in_p
from ricci_random import random_gamma_p as random_gamma_p
from ricci_random import random_seed_p as random_seed_p
from ricci_random import random_split_p as random_split_p

__all__ = [
    "abs_p",
    "acos_p",
    "acosh_p",
    "add_jaxvals_p",
    "add_p",
    "after_all_p",
    "and_p",
    "approx_top_k_p",
    "argmax_p",
    "argmin_p",
    "asin_p",
    "asinh_p",
    "atan2_p",
    "atan_p",
    "atanh_p",
    "axis_index_p",
    "bessel_i0e_p",
    "bessel_i1e_p",
    "bitcast_convert_type_p",
    "broadcast_in_dim_p",
    "call_p",
    "cbrt_p",
    "ceil_p",
    "cholesky_p",
    "clamp_p",
    "closed_call_p",
    "clz_p",
    "complex_p",
    "concatenate_p",
    "cond_p",
    "conj_p",
    "conv_general_dilated_p",
    "convert_element_type_p",
    "copy_p",
    "cos_p",
    "cosh_p",
    "create_token_p",
    "cumlogsumexp_p",
    "cummax_p",
    "cummin_p",
    "cumprod_p",
    "cumsum_p",
    "custom_jvp_call_p",
    "custom_lin_p",
    "custom_vjp_call_p",
    "device_put_p",
    "digamma_p",
    "div_p",
    "dot_general_p",
    "dynamic_slice_p",
    "dynamic_update_slice_p",
    "eig_p",
    "eigh_p",
    "eq_p",
    "eq_to_p",
    "erf_inv_p",
    "erf_p",
    "erfc_p",
    "exp2_p",
    "exp_p",
    "expm1_p",
    "fft_p",
    "floor_p",
    "gather_p",
    "ge_p",
    "gt_p",
    "hessenberg_p",
    "householder_product_p",
    "igamma_grad_a_p",
    "igamma_p",
    "igammac_p",
    "imag_p",
    "integer_pow_p",
    "iota_p",
    "is_finite_p",
    "jit_p",
    "le_p",
    "le_to_p",
    "lgamma_p",
    "linear_solve_p",
    "log1p_p",
    "log2_p",
    "log_p",
    "logistic_p",
    "lt_p",
    "lt_to_p",
    "lu_p",
    "max_p",
    "min_p",
    "mul_p",
    "name_p",
    "ne_p",
    "neg_p",
    "nextafter_p",
    "not_p",
    "one_minus_square_p",
    "or_p",
    "pad_p",
    "pmax_p",
    "pmin_p",
    "polygamma_p",
    "population_count_p",
    "pow_p",
    "psum_p",
    "qr_p",
    "random_bits_p",
    "random_fold_in_p",
    "random_gamma_p",
    "random_seed_p",
    "random_split_p",
    "real_p",
    "reduce_and_p",
    "reduce_max_p",
    "reduce_min_p",
    "reduce_or_p",
    "reduce_p",
    "reduce_precision_p",
    "reduce_prod_p",
    "reduce_sum_p",
    "reduce_window_max_p",
    "reduce_window_min_p",
    "reduce_window_p",
    "reduce_window_sum_p",
    "reduce_xor_p",
    "regularized_incomplete_beta_p",
    "rem_p",
    "remat_p",
    "reshape_p",
    "rev_p",
    "rng_bit_generator_p",
    "rng_uniform_p",
    "round_p",
    "rsqrt_p",
    "scan_p",
    "scatter_add_p",
    "scatter_max_p",
    "scatter_min_p",
    "scatter_mul_p",
    "scatter_p",
    "schur_p",
    "select_and_gather_add_p",
    "select_and_scatter_add_p",
    "select_and_scatter_p",
    "select_n_p",
    "sharding_constraint_p",
    "shift_left_p",
    "shift_right_arithmetic_p",
    "shift_right_logical_p",
    "sign_p",
    "sin_p",
    "sinh_p",
    "slice_p",
    "sort_p",
    "sqrt_p",
    "square_p",
    "squeeze_p",
    "stop_gradient_p",
    "sub_p",
    "svd_p",
    "tan_p",
    "tanh_p",
    "threefry2x32_p",
    "top_k_p",
    "transpose_p",
    "triangular_solve_p",
    "tridiagonal_p",
    "tridiagonal_solve_p",
    "while_p",
    "xor_p",
    "zeta_p",
]
