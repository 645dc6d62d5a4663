"""Two training steps with Adam, with shapes, stacks and memory; then a few ops with memory alone."""

from __future__ import annotations

from typing import Any


def run(torch: Any, *, verbose: bool = False) -> Any:
    torch.manual_seed(0)
    config = torch.profiler._ExperimentalConfig(verbose=verbose)
    profile, record_function = torch.profiler.profile, torch.profiler.record_function
    activities = [torch.profiler.ProfilerActivity.CPU]
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.Tanh(), torch.nn.Linear(64, 1))
    optimizer = torch.optim.Adam(model.parameters(), foreach=False)
    x, y = torch.randn(16, 64), torch.randn(16, 1)
    options = {"profile_memory": True, "record_shapes": True, "with_stack": True, "experimental_config": config}
    with profile(activities=activities, **options) as prof:
        for _ in range(2):
            with record_function("## forward ##"):
                loss = torch.nn.functional.mse_loss(model(x), y)
            with record_function("## backward ##"):
                loss.backward()
            with record_function("## optimizer ##"):
                optimizer.step()
                optimizer.zero_grad()
        big = torch.zeros(256, 256)
        del big
    return prof


def run_small(torch: Any) -> Any:
    activities = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=activities, profile_memory=True, record_shapes=True) as prof:
        a = torch.ones(32, 32)
        b = a @ a
        del a
        c = b.relu()
        del b
    c.add_(1)
    return prof
