"""The layers, and the base of all of them."""

from mindtorch_v2.nn.modules.activation import (
    ELU,
    GELU,
    SELU,
    Hardsigmoid,
    Hardswish,
    Hardtanh,
    LeakyReLU,
    LogSigmoid,
    LogSoftmax,
    Mish,
    PReLU,
    ReLU,
    ReLU6,
    Sigmoid,
    SiLU,
    Softmax,
    Softplus,
    Softsign,
    Tanh,
    Tanhshrink,
)
from mindtorch_v2.nn.modules.attention import MultiheadAttention
from mindtorch_v2.nn.modules.batchnorm import BatchNorm1d, BatchNorm2d
from mindtorch_v2.nn.modules.container import ModuleDict, ModuleList, Sequential
from mindtorch_v2.nn.modules.conv import Conv1d, Conv2d
from mindtorch_v2.nn.modules.dropout import Dropout, Dropout1d, Dropout2d
from mindtorch_v2.nn.modules.flatten import Flatten, Unflatten
from mindtorch_v2.nn.modules.linear import Identity, Linear
from mindtorch_v2.nn.modules.loss import (
    BCELoss,
    BCEWithLogitsLoss,
    CrossEntropyLoss,
    HuberLoss,
    KLDivLoss,
    L1Loss,
    MSELoss,
    NLLLoss,
    SmoothL1Loss,
)
from mindtorch_v2.nn.modules.module import Module
from mindtorch_v2.nn.modules.normalization import GroupNorm, LayerNorm, RMSNorm
from mindtorch_v2.nn.modules.padding import ZeroPad2d
from mindtorch_v2.nn.modules.parameters import ParameterDict, ParameterList
from mindtorch_v2.nn.modules.pooling import AdaptiveAvgPool2d, AvgPool2d, MaxPool2d
from mindtorch_v2.nn.modules.sparse import Embedding
from mindtorch_v2.nn.modules.transformer import TransformerEncoder, TransformerEncoderLayer

__all__ = [
    "ELU",
    "GELU",
    "SELU",
    "AdaptiveAvgPool2d",
    "AvgPool2d",
    "BCELoss",
    "BCEWithLogitsLoss",
    "BatchNorm1d",
    "BatchNorm2d",
    "Conv1d",
    "Conv2d",
    "CrossEntropyLoss",
    "Dropout",
    "Dropout1d",
    "Dropout2d",
    "Embedding",
    "Flatten",
    "GroupNorm",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "HuberLoss",
    "Identity",
    "KLDivLoss",
    "L1Loss",
    "LayerNorm",
    "LeakyReLU",
    "Linear",
    "LogSigmoid",
    "LogSoftmax",
    "MSELoss",
    "MaxPool2d",
    "Mish",
    "Module",
    "ModuleDict",
    "ModuleList",
    "MultiheadAttention",
    "NLLLoss",
    "PReLU",
    "ParameterDict",
    "ParameterList",
    "RMSNorm",
    "ReLU",
    "ReLU6",
    "Sequential",
    "SiLU",
    "Sigmoid",
    "SmoothL1Loss",
    "Softmax",
    "Softplus",
    "Softsign",
    "Tanh",
    "Tanhshrink",
    "TransformerEncoder",
    "TransformerEncoderLayer",
    "Unflatten",
    "ZeroPad2d",
]
