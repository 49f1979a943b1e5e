"""Ricci under the name ``jax``, for programs written for JAX.

Beside what ``ricci`` itself holds there is one module for each of its namespaces, imported when it
is first touched.
"""

import pkgutil
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ricci
from ricci import *
from ricci_ir import api_boundary, public_names, register_internal_module

from . import _installation
from . import _src as _src
from .version import __version__ as __version__
from .version import __version_info__ as __version_info__

if TYPE_CHECKING:
    from . import ad as ad
    from . import ad_checkpoint as ad_checkpoint
    from . import api_util as api_util
    from . import checkpoint_policies as checkpoint_policies
    from . import core as core
    from . import custom_batching as custom_batching
    from . import custom_derivatives as custom_derivatives
    from . import debug as debug
    from . import distributed as distributed
    from . import dlpack as dlpack
    from . import dtypes as dtypes
    from . import errors as errors
    from . import example_libraries as example_libraries
    from . import experimental as experimental
    from . import export as export
    from . import extend as extend
    from . import ffi as ffi
    from . import flatten_util as flatten_util
    from . import image as image
    from . import interpreters as interpreters
    from . import lax as lax
    from . import memory as memory
    from . import monitoring as monitoring
    from . import nn as nn
    from . import numpy as numpy
    from . import ops as ops
    from . import profiler as profiler
    from . import random as random
    from . import ref as ref
    from . import scipy as scipy
    from . import sharding as sharding
    from . import stages as stages
    from . import test_util as test_util
    from . import tools as tools
    from . import tree as tree
    from . import tree_util as tree_util
    from . import typing as typing
    from . import version as version

_FOLDER = str(Path(__file__).parent)

_installation.warn_of_others()
register_internal_module(__name__)


if not TYPE_CHECKING:  # it would tell checkers that every name is there

    @api_boundary
    def __getattr__(name: str) -> Any:
        if not name.startswith("__") and find_spec(f"jax.{name}") is not None:
            return import_module(f"jax.{name}")
        try:
            return getattr(ricci, name)
        except AttributeError as error:
            text = str(error).replace("ricci.", "jax.").replace("'ricci'", "'jax'")
            raise AttributeError(text) from None


def __dir__() -> list[str]:
    inside = (info.name for info in pkgutil.iter_modules([_FOLDER]))
    modules = [name for name in inside if not name.startswith("_")]
    return public_names({**globals(), "__all__": vars(ricci)["__all__"]}, modules)
