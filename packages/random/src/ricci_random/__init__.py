"""Random numbers from keys: the same key always gives the same numbers.

Keys are made by ``key`` (or ``PRNGKey``), and made into further keys by ``split`` and ``fold_in``.
"""

# Importing these makes the generator known by its name, and lets keys be moved about.
from . import _generator as _generator
from . import _key_lowering as _key_lowering
from . import _rbg as _rbg
from ._binomial import binomial as binomial
from ._binomial import multinomial as multinomial
from ._continuous import cauchy as cauchy
from ._continuous import exponential as exponential
from ._continuous import geometric as geometric
from ._continuous import laplace as laplace
from ._continuous import logistic as logistic
from ._continuous import pareto as pareto
from ._continuous import rayleigh as rayleigh
from ._continuous import triangular as triangular
from ._continuous import wald as wald
from ._continuous import weibull_min as weibull_min
from ._discrete import categorical as categorical
from ._discrete import choice as choice
from ._discrete import gumbel as gumbel
from ._discrete import permutation as permutation
from ._gamma import gamma as gamma
from ._gamma import loggamma as loggamma
from ._gamma import random_gamma_p as random_gamma_p
from ._gamma_ratios import ball as ball
from ._gamma_ratios import beta as beta
from ._gamma_ratios import chisquare as chisquare
from ._gamma_ratios import dirichlet as dirichlet
from ._gamma_ratios import f as f
from ._gamma_ratios import generalized_normal as generalized_normal
from ._gamma_ratios import t as t
from ._key_array import KeyArray as KeyArray
from ._key_type import KeyType as KeyType
from ._keys import PRNGKey as PRNGKey
from ._keys import clone as clone
from ._keys import fold_in as fold_in
from ._keys import key as key
from ._keys import key_data as key_data
from ._keys import key_dtype as key_dtype
from ._keys import key_impl as key_impl
from ._keys import split as split
from ._keys import wrap_key_data as wrap_key_data
from ._matrices import multivariate_normal as multivariate_normal
from ._matrices import orthogonal as orthogonal
from ._normal import double_sided_maxwell as double_sided_maxwell
from ._normal import lognormal as lognormal
from ._normal import maxwell as maxwell
from ._normal import normal as normal
from ._normal import truncated_normal as truncated_normal
from ._poisson import poisson as poisson
from ._primitives import random_bits_p as random_bits_p
from ._primitives import random_fold_in_p as random_fold_in_p
from ._primitives import random_seed_p as random_seed_p
from ._primitives import random_split_p as random_split_p
from ._uniform import bernoulli as bernoulli
from ._uniform import bits as bits
from ._uniform import rademacher as rademacher
from ._uniform import randint as randint
from ._uniform import uniform as uniform

__all__ = [
    "KeyArray",
    "KeyType",
    "PRNGKey",
    "ball",
    "bernoulli",
    "beta",
    "binomial",
    "bits",
    "categorical",
    "cauchy",
    "chisquare",
    "choice",
    "clone",
    "dirichlet",
    "double_sided_maxwell",
    "exponential",
    "f",
    "fold_in",
    "gamma",
    "generalized_normal",
    "geometric",
    "gumbel",
    "key",
    "key_data",
    "key_dtype",
    "key_impl",
    "laplace",
    "loggamma",
    "logistic",
    "lognormal",
    "maxwell",
    "multinomial",
    "multivariate_normal",
    "normal",
    "orthogonal",
    "pareto",
    "permutation",
    "poisson",
    "rademacher",
    "randint",
    "random_gamma_p",
    "rayleigh",
    "split",
    "t",
    "triangular",
    "truncated_normal",
    "uniform",
    "wald",
    "weibull_min",
    "wrap_key_data",
]
