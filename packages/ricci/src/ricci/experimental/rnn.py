"""Recurrent layers. See ``ricci_nn.recurrent``."""

from ricci_ir import guard_public as _guard_public
from ricci_nn import sigmoid as sigmoid
from ricci_nn.recurrent import get_num_params_in_lstm as get_num_params_in_lstm
from ricci_nn.recurrent import init_lstm_weight as init_lstm_weight
from ricci_nn.recurrent import lstm as lstm
from ricci_nn.recurrent import lstm_bwd as lstm_bwd
from ricci_nn.recurrent import lstm_fwd as lstm_fwd
from ricci_nn.recurrent import lstm_ref as lstm_ref
from ricci_nn.recurrent import swap_lstm_gates as swap_lstm_gates
from ricci_nn.recurrent import unpack_lstm_weights as unpack_lstm_weights
from ricci_numpy import tanh as tanh

_guard_public(globals())
