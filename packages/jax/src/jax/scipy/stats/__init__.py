"""The names of ``ricci.scipy.stats``.

Written by tools/drop_in.py.
"""

import typing as _typing

from ricci.scipy.stats import *
from ricci_ir import export_names as _export_names

# isort: split
if _typing.TYPE_CHECKING:
    from . import bernoulli as bernoulli
    from . import beta as beta
    from . import betabinom as betabinom
    from . import binom as binom
    from . import cauchy as cauchy
    from . import chi2 as chi2
    from . import dirichlet as dirichlet
    from . import expon as expon
    from . import gamma as gamma
    from . import gennorm as gennorm
    from . import geom as geom
    from . import gumbel_l as gumbel_l
    from . import gumbel_r as gumbel_r
    from . import laplace as laplace
    from . import logistic as logistic
    from . import multinomial as multinomial
    from . import multivariate_normal as multivariate_normal
    from . import nbinom as nbinom
    from . import norm as norm
    from . import pareto as pareto
    from . import poisson as poisson
    from . import t as t
    from . import truncnorm as truncnorm
    from . import uniform as uniform
    from . import vonmises as vonmises
    from . import wrapcauchy as wrapcauchy
else:
    import jax.scipy.stats.bernoulli as bernoulli
    import jax.scipy.stats.beta as beta
    import jax.scipy.stats.betabinom as betabinom
    import jax.scipy.stats.binom as binom
    import jax.scipy.stats.cauchy as cauchy
    import jax.scipy.stats.chi2 as chi2
    import jax.scipy.stats.dirichlet as dirichlet
    import jax.scipy.stats.expon as expon
    import jax.scipy.stats.gamma as gamma
    import jax.scipy.stats.gennorm as gennorm
    import jax.scipy.stats.geom as geom
    import jax.scipy.stats.gumbel_l as gumbel_l
    import jax.scipy.stats.gumbel_r as gumbel_r
    import jax.scipy.stats.laplace as laplace
    import jax.scipy.stats.logistic as logistic
    import jax.scipy.stats.multinomial as multinomial
    import jax.scipy.stats.multivariate_normal as multivariate_normal
    import jax.scipy.stats.nbinom as nbinom
    import jax.scipy.stats.norm as norm
    import jax.scipy.stats.pareto as pareto
    import jax.scipy.stats.poisson as poisson
    import jax.scipy.stats.t as t
    import jax.scipy.stats.truncnorm as truncnorm
    import jax.scipy.stats.uniform as uniform
    import jax.scipy.stats.vonmises as vonmises
    import jax.scipy.stats.wrapcauchy as wrapcauchy

_export_names(
    globals(),
    "bernoulli",
    "beta",
    "betabinom",
    "binom",
    "cauchy",
    "chi2",
    "dirichlet",
    "expon",
    "gamma",
    "gennorm",
    "geom",
    "gumbel_l",
    "gumbel_r",
    "laplace",
    "logistic",
    "multinomial",
    "multivariate_normal",
    "nbinom",
    "norm",
    "pareto",
    "poisson",
    "t",
    "truncnorm",
    "uniform",
    "vonmises",
    "wrapcauchy",
)
