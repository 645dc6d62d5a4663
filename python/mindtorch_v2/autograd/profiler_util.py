"""Events, averages over them and lists of both, as in ``torch.autograd.profiler_util``.

>>> from mindtorch_v2.autograd.profiler_util import EventList, FunctionEvent
>>> events = EventList([FunctionEvent(id=1, name="work", thread=1, start_us=0.0, end_us=1500.0)])
>>> print(events.table(row_limit=1).splitlines()[-1])
Self CPU time total: 1.500ms
"""

from mindtorch_v2.autograd._events.event_list import EventList
from mindtorch_v2.autograd._events.event_metadata import EventMetadata
from mindtorch_v2.autograd._events.formatted_times import FormattedTimesMixin
from mindtorch_v2.autograd._events.function_event import FunctionEvent
from mindtorch_v2.autograd._events.function_event_avg import FunctionEventAvg
from mindtorch_v2.autograd._events.interval import Interval
from mindtorch_v2.autograd._events.kernel import Kernel
from mindtorch_v2.autograd._events.mem_records import MemRecordsAcc
from mindtorch_v2.autograd._events.string_table import StringTable

# Programs import these from here, too.
from mindtorch_v2.autograd._events.device_type import DeviceType as DeviceType  # noqa: PLC0414  # isort: skip
from mindtorch_v2.autograd._events.formats import _format_memory as _format_memory  # noqa: PLC0414  # isort: skip
from mindtorch_v2.autograd._events.formats import _format_time as _format_time  # noqa: PLC0414  # isort: skip
from mindtorch_v2.autograd._events.formats import _format_time_share as _format_time_share  # noqa: PLC0414  # isort: skip
from mindtorch_v2.autograd._events.formatted_times import _attr_formatter as _attr_formatter  # noqa: PLC0414  # isort: skip

__all__ = [
    "EventList",
    "EventMetadata",
    "FormattedTimesMixin",
    "FunctionEvent",
    "FunctionEventAvg",
    "Interval",
    "Kernel",
    "MemRecordsAcc",
    "StringTable",
]

# The names of torch's events of memory outside of operations.
MEMORY_EVENT_NAME = "[memory]"
OUT_OF_MEMORY_EVENT_NAME = "[OutOfMemory]"
