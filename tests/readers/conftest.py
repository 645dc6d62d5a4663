"""Files that ours and PyTorch wrote of the same programs, and a browser to open them in."""

from __future__ import annotations

import contextlib
import functools
import http.server
import os
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import sync_playwright
from tests.readers import programs
from tests.readers.report_page import Report

import mindtorch_v2

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Browser, Page, Route

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
# Programs as PyTorch 2.11 recorded them on a GPU (an H200): PROGRAM.json.gz.
CUDA = ROOT / "tests" / "data" / "readers" / "cuda"
TORCH_PYTHON = os.environ.get("TORCH_PYTHON", str(ROOT / ".venv-torch" / "bin" / "python"))
BROWSER = os.environ.get("CHROMIUM", "/usr/bin/chromium")
PATIENCE_MS = 120_000  # other programs may be at work on the machine
BROWSER_OPTIONS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--enable-unsafe-swiftshader",  # WebGL without a graphics card, which speedscope draws with
]


@dataclass(frozen=True)
class Traces:
    """A directory for each recorder, with PROGRAM.json and, from TensorBoard's handler, a directory tensorboard."""

    torch: Path
    ours: Path
    npu: Path


@pytest.fixture(scope="session")
def traces(tmp_path_factory: pytest.TempPathFactory) -> Traces:
    """Every program, recorded by PyTorch and by ours on the CPU, and by ours on the NPU."""
    root = tmp_path_factory.mktemp("traces")
    found = Traces(root / "torch", root / "ours", root / "npu")
    record(TORCH_PYTHON, "torch", "cpu", found.torch)
    record(sys.executable, "mindtorch_v2", "cpu", found.ours)
    record(sys.executable, "mindtorch_v2", "npu", found.npu)
    return found


def record(python: str, library: str, device: str, directory: Path) -> None:
    directory.mkdir()
    environment = {**os.environ, "KINETO_LOG_LEVEL": "6"}
    command = [python, str(HERE / "record.py"), library, device, str(directory)]
    subprocess.run(command, check=True, env=environment)


@pytest.fixture(scope="session")
def recorded() -> Callable[..., Any]:
    """A finished profile of ours: ``recorded("adam")``, ``recorded("sgd", device="npu")``."""

    @functools.cache
    def run(program: str, device: str = "cpu") -> Any:
        finished: list[Any] = []
        programs.PROGRAMS[program](mindtorch_v2, device, finished.append)
        return finished[-1]

    return run


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Debian's Chromium, without a window."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER, args=BROWSER_OPTIONS)
        yield browser
        browser.close()


@pytest.fixture
def page(browser: Browser, serve: Servers) -> Iterator[Page]:
    """An empty page that reaches files and what is served here. What nobody catches in it fails the test."""

    def stay_here(route: Route) -> None:
        if route.request.url.startswith(tuple(serve.addresses)):
            route.continue_()
        else:
            route.abort()

    context = browser.new_context(viewport={"width": 1600, "height": 1000}, service_workers="block")
    context.route(lambda url: url.startswith("http"), stay_here)
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    thrown: list[str] = []
    page.on("pageerror", lambda error: thrown.append(str(error)))
    yield page
    context.close()
    assert thrown == []


@pytest.fixture
def report(page: Page) -> Iterator[Report]:
    """A page that has nothing to complain about and asks for nothing but itself."""
    report = Report(page)
    yield report
    assert report.complaints == []
    assert [url for url in report.requests if not url.startswith(("file:", "data:"))] == []
    assert len([url for url in report.requests if url.startswith("file:")]) == 1


class Servers:
    """Directories that are served on the loopback interface: ``serve(directory) -> "http://127.0.0.1:PORT/"``."""

    def __init__(self, running: contextlib.ExitStack) -> None:
        self.running = running
        self.served: dict[Path, str] = {}

    @property
    def addresses(self) -> list[str]:
        return list(self.served.values())

    def __call__(self, directory: Path) -> str:
        if directory not in self.served:
            handler = functools.partial(QuietHandler, directory=str(directory))
            server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
            self.running.callback(server.server_close)
            self.running.callback(server.shutdown)
            threading.Thread(target=server.serve_forever, daemon=True).start()
            self.served[directory] = f"http://127.0.0.1:{server.server_port}/"
        return self.served[directory]


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    """Serves files and says nothing about it."""

    def log_message(self, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture(scope="session")
def serve() -> Iterator[Servers]:
    with contextlib.ExitStack() as running:
        yield Servers(running)


@pytest.fixture(scope="session")
def screenshots() -> Path:
    """Where pictures go for people to look at."""
    directory = ROOT / "readers-output"
    directory.mkdir(exist_ok=True)
    return directory
