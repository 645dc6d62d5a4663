"""Optimisers, with the API of ``torch.optim``."""

from mindtorch_v2.optim import lr_scheduler
from mindtorch_v2.optim.adadelta import Adadelta
from mindtorch_v2.optim.adagrad import Adagrad
from mindtorch_v2.optim.adam import Adam
from mindtorch_v2.optim.adamax import Adamax
from mindtorch_v2.optim.adamw import AdamW
from mindtorch_v2.optim.asgd import ASGD
from mindtorch_v2.optim.nadam import NAdam
from mindtorch_v2.optim.optimizer import Optimizer
from mindtorch_v2.optim.radam import RAdam
from mindtorch_v2.optim.rmsprop import RMSprop
from mindtorch_v2.optim.rprop import Rprop
from mindtorch_v2.optim.sgd import SGD

__all__ = [
    "ASGD",
    "SGD",
    "Adadelta",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "lr_scheduler",
]
