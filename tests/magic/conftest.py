"""A real IPython shell with protonlab loaded, and two kernels to launch in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import ExecutionResult, InteractiveShell
from triton.profiler.hooks.hook import HookManager

KERNELS = """
import torch, triton, triton.language as tl
from protonlab import LaunchHook, device

def metadata(grid, kernel, arguments):
    return {"name": "p_double", "bytes": 8 * arguments["n"]}

@triton.jit(launch_metadata=metadata)
def _p_double(x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, tl.load(x + at, at < n) * 2, at < n)

@triton.jit
def clear(x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, tl.zeros([BLOCK], tl.float32), at < n)

x = torch.ones(16, device=device())

def double():
    _p_double[(1,)](x, 16, BLOCK=16)
    return 7

def both():
    double()
    clear[(1,)](x, 16, BLOCK=16)
"""


@dataclass(frozen=True)
class Run:
    """What one cell left behind."""

    result: ExecutionResult
    out: str
    err: str

    @property
    def shown(self) -> bool:
        """Whether a profile was shown: its summary or its table."""
        return " kernel kept" in self.out or "no kernel" in self.out or "count" in self.out


@dataclass(frozen=True)
class Notebook:
    """A shell, cell after cell."""

    shell: InteractiveShell
    capsys: pytest.CaptureFixture[str]

    def run(self, source: str, **options: Any) -> Run:
        self.capsys.readouterr()
        result = self.shell.run_cell(source, **{"store_history": True, **options})
        out, err = self.capsys.readouterr()
        assert self.nothing_is_open
        return Run(result, out, err)

    def __getitem__(self, name: str) -> Any:
        return self.shell.user_ns[name]

    def __contains__(self, name: str) -> bool:
        return name in self.shell.user_ns

    @property
    def nothing_is_open(self) -> bool:
        """Whether Proton holds neither a session's hook nor an active one."""
        return not HookManager.active_hooks and not any(HookManager.session_hooks.values())

    def launches(self, name: str = "_proton") -> dict[str, int]:
        kernels = self[name].kernels
        return dict(zip(kernels["name"], map(int, kernels["count"]), strict=True))


@pytest.fixture(scope="module")
def clusters() -> Iterator[list[Any]]:
    """The client of the engines that run, if any."""
    running: list[Any] = []
    yield running
    while running:
        _stop(running.pop())


@pytest.fixture
def engines(clusters: list[Any], tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A client of two real engines that know the kernels; others where one has died."""
    if clusters and len(clusters[0].ids) < 2:
        _stop(clusters.pop())
    if not clusters:
        clusters.append(_two_engines(tmp_path_factory.mktemp("profile")))
    return clusters[0]


def _two_engines(folder: Path) -> Any:
    ipyparallel = pytest.importorskip("ipyparallel")
    cluster = ipyparallel.Cluster(
        n=2,
        profile_dir=str(folder),
        controller_args=[
            "--HeartMonitor.period=300",  # an engine is there with its first beat
            "--HeartMonitor.max_heartmonitor_misses=200",  # a busy machine lets it skip some
        ],
        log_level=50,
    )
    cluster.start_cluster_sync()
    client = cluster.connect_client_sync()
    client.wait_for_engines(2, interactive=False, timeout=180)
    client[:].execute(KERNELS, block=True)
    client.cluster = cluster
    return client


def _stop(client: Any) -> None:
    client.close()
    client.cluster.stop_cluster_sync()


@pytest.fixture
def notebook(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    shell: InteractiveShell,
) -> Iterator[Notebook]:
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    shell.run_line_magic("load_ext", "protonlab")
    shell.run_cell(KERNELS)
    assert shell.last_execution_result.success
    opened = Notebook(shell, capsys)
    yield opened
    shell.run_line_magic("unload_ext", "protonlab")
    assert list(folder.glob("*.hatchet")) == []
    assert opened.nothing_is_open
