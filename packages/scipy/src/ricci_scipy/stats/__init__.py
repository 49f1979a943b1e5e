"""Distributions, each a module of its functions, and statistics of samples."""

from ._continuous import beta as beta
from ._continuous import cauchy as cauchy
from ._continuous import chi2 as chi2
from ._continuous import expon as expon
from ._continuous import gamma as gamma
from ._continuous import gennorm as gennorm
from ._continuous import gumbel_l as gumbel_l
from ._continuous import gumbel_r as gumbel_r
from ._continuous import laplace as laplace
from ._continuous import logistic as logistic
from ._continuous import norm as norm
from ._continuous import pareto as pareto
from ._continuous import t as t
from ._continuous import truncnorm as truncnorm
from ._continuous import uniform as uniform
from ._continuous import vonmises as vonmises
from ._continuous import wrapcauchy as wrapcauchy
from ._descriptive import mode as mode
from ._descriptive import rankdata as rankdata
from ._descriptive import sem as sem
from ._discrete import bernoulli as bernoulli
from ._discrete import betabinom as betabinom
from ._discrete import binom as binom
from ._discrete import geom as geom
from ._discrete import nbinom as nbinom
from ._discrete import poisson as poisson
from ._kernel_density import gaussian_kde as gaussian_kde
from ._multivariate import dirichlet as dirichlet
from ._multivariate import multinomial as multinomial
from ._multivariate import multivariate_normal as multivariate_normal

__all__ = [
    "bernoulli",
    "beta",
    "betabinom",
    "binom",
    "cauchy",
    "chi2",
    "dirichlet",
    "expon",
    "gamma",
    "gaussian_kde",
    "gennorm",
    "geom",
    "gumbel_l",
    "gumbel_r",
    "laplace",
    "logistic",
    "mode",
    "multinomial",
    "multivariate_normal",
    "nbinom",
    "norm",
    "pareto",
    "poisson",
    "rankdata",
    "sem",
    "t",
    "truncnorm",
    "uniform",
    "vonmises",
    "wrapcauchy",
]
