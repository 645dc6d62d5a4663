"""A module in a module, functions in functions, and the backward pass, with stacks."""

from __future__ import annotations

from typing import Any


def run(torch: Any, *, verbose: bool) -> Any:
    torch.manual_seed(0)

    class Inner(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            return torch.relu(x)

    class Net(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.fc = torch.nn.Linear(256, 256)
            self.inner = Inner()

        def forward(self, x: Any) -> Any:
            return self.inner(self.fc(x))

    def leaf(x: Any) -> Any:
        return x @ x

    def middle(x: Any) -> Any:
        return leaf(x) + 1

    net = Net()
    x = torch.randn(256, 256, requires_grad=True)

    def work() -> None:
        y = middle(net(x))
        y.sum().backward()

    work()
    config = torch.profiler._ExperimentalConfig(verbose=True) if verbose else None
    activities = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=activities, with_stack=True, experimental_config=config) as prof:
        work()
    return prof
