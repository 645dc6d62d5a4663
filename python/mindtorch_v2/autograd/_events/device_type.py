"""The kinds of devices."""

from __future__ import annotations

from enum import Enum


class DeviceType(Enum):
    """A kind of device, with torch's number for it. The NPU is ``PrivateUse1``, which is also named ``NPU``.

    >>> DeviceType(0), DeviceType.NPU
    (<DeviceType.CPU: 0>, <DeviceType.PrivateUse1: 20>)
    """

    CPU = 0
    CUDA = 1
    MKLDNN = 2
    OPENGL = 3
    OPENCL = 4
    IDEEP = 5
    HIP = 6
    FPGA = 7
    MAIA = 8
    XLA = 9
    Vulkan = 10
    Metal = 11
    XPU = 12
    MPS = 13
    Meta = 14
    HPU = 15
    VE = 16
    Lazy = 17
    IPU = 18
    MTIA = 19
    PrivateUse1 = 20
    NPU = 20

    def __int__(self) -> int:
        return self.value

    def __index__(self) -> int:
        return self.value


# Devices whose events carry device time.
TIMED_DEVICES = (DeviceType.CUDA, DeviceType.PrivateUse1, DeviceType.MTIA, DeviceType.HPU, DeviceType.XPU)

# Looking a member up by calling the class takes several times as long.
DEVICE_TYPES = tuple(DeviceType(value) for value in range(21))
