"""A profiler with the API of ``torch.profiler``.

>>> from mindtorch_v2.profiler import profile, record_function
>>> with profile() as prof:
...     with record_function("work"):
...         total = sum(range(1000))
>>> [(row.key, row.count) for row in prof.key_averages()]
[('work', 1)]
"""

from mindtorch_v2._core import record_function
from mindtorch_v2.profiler.activities import ProfilerActivity, supported_activities
from mindtorch_v2.profiler.profiler import profile

__all__ = ["ProfilerActivity", "profile", "record_function", "supported_activities"]
