"""Programs that readers are asked about, for any library with torch's names.

Each is given the library, the device to compute on and what to do with the finished recording. The same source is run
by ours and by PyTorch, so that a reader can be asked the same question about both.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

STEPS = 3
THREADS = 2


def sgd(torch: Any, device: str, ready: Callable[[Any], None]) -> None:
    """Two training steps of a small network, with shapes."""
    torch.manual_seed(0)
    model = network(torch, device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, fused=True)
    x, y = torch.randn(32, 8).to(device), torch.randn(32, 4).to(device)
    with torch.profiler.profile(activities=activities(torch, device), on_trace_ready=ready, record_shapes=True):
        for _ in range(2):
            train(torch, model, optimizer, x, y)


def adam(torch: Any, device: str, ready: Callable[[Any], None]) -> None:
    """Two training steps with an optimiser that has a state, with memory, shapes and stacks."""
    torch.manual_seed(0)
    model = network(torch, device)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1, foreach=False)
    x, y = torch.randn(32, 8).to(device), torch.randn(32, 4).to(device)
    with torch.profiler.profile(
        activities=activities(torch, device),
        on_trace_ready=ready,
        profile_memory=True,
        record_shapes=True,
        with_stack=True,
    ):
        for _ in range(2):
            train(torch, model, optimizer, x, y)
        big = torch.zeros(256, 256, device=device)
        del big


def stacks(torch: Any, device: str, ready: Callable[[Any], None]) -> None:
    """Modules in a module and functions in functions, with stacks and shapes."""
    torch.manual_seed(0)

    class Inner(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.relu(x)

    class Outer(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = torch.nn.Linear(16, 16)
            self.inner = Inner()

        def forward(self, x: Any) -> Any:
            return self.inner(self.linear(x))

    def leaf(x: Any) -> Any:
        return x @ x

    def middle(x: Any) -> Any:
        return leaf(x) + 1

    model = Outer().to(device)
    x = torch.randn(16, 16).to(device)
    with torch.profiler.profile(
        activities=activities(torch, device), on_trace_ready=ready, record_shapes=True, with_stack=True
    ):
        middle(model(x)).sum().backward()


def threads(torch: Any, device: str, ready: Callable[[Any], None]) -> None:
    """Annotations in annotations, on the main thread and on others."""
    record_function = torch.profiler.record_function

    def body() -> None:
        x = torch.ones(4, 4, device=device)
        with record_function("outer"):
            for _ in range(3):
                with record_function("inner"):
                    x = x @ x
            with record_function("last"):
                x = x + 1

    def work(number: int) -> None:
        with record_function(f"thread {number}"):
            body()

    every_thread = torch.profiler._ExperimentalConfig(profile_all_threads=True)
    with torch.profiler.profile(
        activities=activities(torch, device), on_trace_ready=ready, experimental_config=every_thread
    ):
        body()
        for number in range(THREADS):
            thread = threading.Thread(target=work, args=(number,))
            thread.start()
            thread.join()


def steps(torch: Any, device: str, ready: Callable[[Any], None]) -> None:
    """A schedule that leaves a step out, warms up for one and records some."""
    torch.manual_seed(0)
    model = network(torch, device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, fused=True)
    x, y = torch.randn(32, 8), torch.randn(32, 4)
    with torch.profiler.profile(
        activities=activities(torch, device),
        schedule=torch.profiler.schedule(wait=1, warmup=1, active=STEPS, repeat=1),
        on_trace_ready=ready,
        record_shapes=True,
    ) as prof:
        for _ in range(2 + STEPS):
            train(torch, model, optimizer, x.to(device), y.to(device))
            prof.step()


PROGRAMS = {program.__name__: program for program in (sgd, adam, stacks, threads, steps)}


def network(torch: Any, device: str) -> Any:
    return torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 4)).to(device)


def train(torch: Any, model: Any, optimizer: Any, x: Any, y: Any) -> None:
    """One step, in three annotated parts."""
    record_function = torch.profiler.record_function
    with record_function("forward"):
        loss = torch.nn.functional.mse_loss(model(x), y)
    with record_function("backward"):
        loss.backward()
    with record_function("update"):
        optimizer.step()
        optimizer.zero_grad()


def activities(torch: Any, device: str) -> list[Any]:
    """The host's activity, and that of the device if it is another."""
    host = torch.profiler.ProfilerActivity.CPU
    return [host] if device == "cpu" else [host, getattr(torch.profiler.ProfilerActivity, device.upper())]
