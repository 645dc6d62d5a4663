"""Every op that flops are counted for."""

from __future__ import annotations

from typing import Any


def run(torch: Any, **options: Any) -> Any:
    torch.manual_seed(0)
    a, b, c = torch.randn(40, 33), torch.randn(33, 243), torch.randn(3, 4, 5)
    conv = torch.nn.Conv2d(8, 15, 5, padding=2, stride=2)
    images = torch.randn(2, 8, 24, 24)
    linear = torch.nn.Linear(30, 20)
    rows = torch.randn(7, 30)

    def work() -> None:
        torch.mm(a, b)
        torch.matmul(a, b)
        torch.bmm(c, c.transpose(1, 2))
        conv(images)
        linear(rows)
        torch.add(a, a)
        torch.mul(a, a)
        torch.baddbmm(torch.zeros(3, 4, 4), c, c.transpose(1, 2))
        torch.addmm(torch.zeros(40, 243), a, b)

    activities = [torch.profiler.ProfilerActivity.CPU]
    with torch.no_grad():
        work()
        with torch.profiler.profile(activities=activities, with_flops=True, **options) as prof:
            work()
    return prof
