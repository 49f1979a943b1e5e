"""Special functions."""

from ricci_numpy.authoring import logsumexp as logsumexp

from ._entropies import boxcox as boxcox
from ._entropies import boxcox1p as boxcox1p
from ._entropies import entr as entr
from ._entropies import expit as expit
from ._entropies import i0 as i0
from ._entropies import i0e as i0e
from ._entropies import i1 as i1
from ._entropies import i1e as i1e
from ._entropies import kl_div as kl_div
from ._entropies import logit as logit
from ._entropies import rel_entr as rel_entr
from ._entropies import xlog1py as xlog1py
from ._entropies import xlogy as xlogy
from ._error_functions import dawsn as dawsn
from ._error_functions import erf as erf
from ._error_functions import erfc as erfc
from ._error_functions import erfcx as erfcx
from ._error_functions import erfinv as erfinv
from ._error_functions import log_ndtr as log_ndtr
from ._error_functions import ndtr as ndtr
from ._error_functions import ndtri as ndtri
from ._error_functions import owens_t as owens_t
from ._error_functions import wofz as wofz
from ._gamma_functions import beta as beta
from ._gamma_functions import betainc as betainc
from ._gamma_functions import betaln as betaln
from ._gamma_functions import comb as comb
from ._gamma_functions import digamma as digamma
from ._gamma_functions import factorial as factorial
from ._gamma_functions import gamma as gamma
from ._gamma_functions import gammainc as gammainc
from ._gamma_functions import gammaincc as gammaincc
from ._gamma_functions import gammaln as gammaln
from ._gamma_functions import gammasgn as gammasgn
from ._gamma_functions import loggamma as loggamma
from ._gamma_functions import multigammaln as multigammaln
from ._gamma_functions import poch as poch
from ._gamma_functions import polygamma as polygamma
from ._gamma_functions import zeta as zeta
from ._hypergeometric import hyp1f1 as hyp1f1
from ._hypergeometric import hyp2f1 as hyp2f1
from ._integrals import exp1 as exp1
from ._integrals import expi as expi
from ._integrals import expn as expn
from ._integrals import fresnel as fresnel
from ._integrals import sici as sici
from ._integrals import spence as spence
from ._orders import bernoulli as bernoulli
from ._orders import bessel_jn as bessel_jn
from ._orders import lpmn as lpmn
from ._orders import lpmn_values as lpmn_values
from ._orders import sph_harm_y as sph_harm_y
from ._softmax import log_softmax as log_softmax
from ._softmax import softmax as softmax

__all__ = [
    "bernoulli",
    "bessel_jn",
    "beta",
    "betainc",
    "betaln",
    "boxcox",
    "boxcox1p",
    "comb",
    "dawsn",
    "digamma",
    "entr",
    "erf",
    "erfc",
    "erfcx",
    "erfinv",
    "exp1",
    "expi",
    "expit",
    "expn",
    "factorial",
    "fresnel",
    "gamma",
    "gammainc",
    "gammaincc",
    "gammaln",
    "gammasgn",
    "hyp1f1",
    "hyp2f1",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "kl_div",
    "log_ndtr",
    "log_softmax",
    "loggamma",
    "logit",
    "logsumexp",
    "lpmn",
    "lpmn_values",
    "multigammaln",
    "ndtr",
    "ndtri",
    "owens_t",
    "poch",
    "polygamma",
    "rel_entr",
    "sici",
    "softmax",
    "spence",
    "sph_harm_y",
    "wofz",
    "xlog1py",
    "xlogy",
    "zeta",
]
