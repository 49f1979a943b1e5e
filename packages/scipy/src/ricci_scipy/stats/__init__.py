"""Distributions, each a module of its functions, and statistics of samples."""

from ._continuous import (
    beta,
    cauchy,
    chi2,
    expon,
    gamma,
    gennorm,
    gumbel_l,
    gumbel_r,
    laplace,
    logistic,
    norm,
    pareto,
    t,
    truncnorm,
    uniform,
    vonmises,
    wrapcauchy,
)
from ._descriptive import ModeResult, mode, rankdata, sem
from ._discrete import bernoulli, betabinom, binom, geom, nbinom, poisson
from ._kernel_density import gaussian_kde
from ._multivariate import dirichlet, multinomial, multivariate_normal

__all__ = ["ModeResult", "bernoulli", "beta", "betabinom", "binom", "cauchy", "chi2"]
__all__ += ["dirichlet", "expon"]
__all__ += ["gamma", "gaussian_kde", "gennorm", "geom", "gumbel_l", "gumbel_r", "laplace"]
__all__ += ["logistic", "mode", "multinomial", "multivariate_normal", "nbinom", "norm"]
__all__ += ["pareto", "poisson", "rankdata", "sem", "t", "truncnorm", "uniform", "vonmises"]
__all__ += ["wrapcauchy"]
