"""The names of ``ricci.scipy.stats``.

Written by tools/drop_in.py.
"""

from ricci.scipy.stats import *  # noqa: F403
from ricci.scipy.stats import __all__ as __all__

# isort: split
import jax.scipy.stats.bernoulli as bernoulli  # noqa: F401
import jax.scipy.stats.beta as beta  # noqa: F401
import jax.scipy.stats.betabinom as betabinom  # noqa: F401
import jax.scipy.stats.binom as binom  # noqa: F401
import jax.scipy.stats.cauchy as cauchy  # noqa: F401
import jax.scipy.stats.chi2 as chi2  # noqa: F401
import jax.scipy.stats.dirichlet as dirichlet  # noqa: F401
import jax.scipy.stats.expon as expon  # noqa: F401
import jax.scipy.stats.gamma as gamma  # noqa: F401
import jax.scipy.stats.gennorm as gennorm  # noqa: F401
import jax.scipy.stats.geom as geom  # noqa: F401
import jax.scipy.stats.gumbel_l as gumbel_l  # noqa: F401
import jax.scipy.stats.gumbel_r as gumbel_r  # noqa: F401
import jax.scipy.stats.laplace as laplace  # noqa: F401
import jax.scipy.stats.logistic as logistic  # noqa: F401
import jax.scipy.stats.multinomial as multinomial  # noqa: F401
import jax.scipy.stats.multivariate_normal as multivariate_normal  # noqa: F401
import jax.scipy.stats.nbinom as nbinom  # noqa: F401
import jax.scipy.stats.norm as norm  # noqa: F401
import jax.scipy.stats.pareto as pareto  # noqa: F401
import jax.scipy.stats.poisson as poisson  # noqa: F401
import jax.scipy.stats.t as t  # noqa: F401
import jax.scipy.stats.truncnorm as truncnorm  # noqa: F401
import jax.scipy.stats.uniform as uniform  # noqa: F401
import jax.scipy.stats.vonmises as vonmises  # noqa: F401
import jax.scipy.stats.wrapcauchy as wrapcauchy  # noqa: F401
