"""Learning rate schedules, with the API of ``torch.optim.lr_scheduler``."""

from mindtorch_v2.optim.lr_scheduler.composite import ChainedScheduler, SequentialLR
from mindtorch_v2.optim.lr_scheduler.cosine import CosineAnnealingLR, CosineAnnealingWarmRestarts
from mindtorch_v2.optim.lr_scheduler.curves import ExponentialLR, LinearLR, PolynomialLR
from mindtorch_v2.optim.lr_scheduler.cyclic import CyclicLR
from mindtorch_v2.optim.lr_scheduler.lambdas import LambdaLR, MultiplicativeLR
from mindtorch_v2.optim.lr_scheduler.one_cycle import OneCycleLR
from mindtorch_v2.optim.lr_scheduler.plateau import ReduceLROnPlateau
from mindtorch_v2.optim.lr_scheduler.scheduler import LRScheduler
from mindtorch_v2.optim.lr_scheduler.steps import ConstantLR, MultiStepLR, StepLR

__all__ = [
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
]
