"""Random numbers from keys: the same key always gives the same numbers.

``key`` (or ``PRNGKey``) makes a key from a seed; ``split`` and ``fold_in`` derive further keys from
it. A sampler takes a key and draws numbers of a distribution.

The package has three rooms: ``keys``, ``generators``, which turn keys into random bits, and
``samplers``.
"""

from . import generators as generators  # registers the generators by their names
from .keys import KeyArray as KeyArray
from .keys import KeyType as KeyType
from .keys import PRNGKey as PRNGKey
from .keys import clone as clone
from .keys import fold_in as fold_in
from .keys import key as key
from .keys import key_data as key_data
from .keys import key_dtype as key_dtype
from .keys import key_impl as key_impl
from .keys import random_bits_p as random_bits_p
from .keys import random_fold_in_p as random_fold_in_p
from .keys import random_seed_p as random_seed_p
from .keys import random_split_p as random_split_p
from .keys import split as split
from .keys import wrap_key_data as wrap_key_data
from .samplers import ball as ball
from .samplers import bernoulli as bernoulli
from .samplers import beta as beta
from .samplers import binomial as binomial
from .samplers import bits as bits
from .samplers import categorical as categorical
from .samplers import cauchy as cauchy
from .samplers import chisquare as chisquare
from .samplers import choice as choice
from .samplers import dirichlet as dirichlet
from .samplers import double_sided_maxwell as double_sided_maxwell
from .samplers import exponential as exponential
from .samplers import f as f
from .samplers import gamma as gamma
from .samplers import generalized_normal as generalized_normal
from .samplers import geometric as geometric
from .samplers import gumbel as gumbel
from .samplers import laplace as laplace
from .samplers import loggamma as loggamma
from .samplers import logistic as logistic
from .samplers import lognormal as lognormal
from .samplers import maxwell as maxwell
from .samplers import multinomial as multinomial
from .samplers import multivariate_normal as multivariate_normal
from .samplers import normal as normal
from .samplers import orthogonal as orthogonal
from .samplers import pareto as pareto
from .samplers import permutation as permutation
from .samplers import poisson as poisson
from .samplers import rademacher as rademacher
from .samplers import randint as randint
from .samplers import random_gamma_p as random_gamma_p
from .samplers import rayleigh as rayleigh
from .samplers import t as t
from .samplers import triangular as triangular
from .samplers import truncated_normal as truncated_normal
from .samplers import uniform as uniform
from .samplers import wald as wald
from .samplers import weibull_min as weibull_min

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
