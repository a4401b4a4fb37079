"""What several tests use."""

import os
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

# A point of it takes some milliseconds.
SMALL = {
    "duration": "2 s",
    "topology": {
        "dumbbell": {
            "bottleneck": {
                "rate": "5 Mbit/s",
                "delay": "10 ms",
                "loss": 0.001,
                "queue": {"droptail": "20 packets"},
            }
        }
    },
    "flows": [{"control": "reno"}],
    "sweep": {"flows.0.control": ["reno", "cubic"]},
    "seeds": 60,
}


@pytest.fixture
def small() -> dict:
    return SMALL


class Cluster:
    """A scheduler of Dask and its workers, each a process."""

    def __init__(self, directory: Path, **settings: str) -> None:
        self.file = directory / "scheduler.json"
        self.environment = os.environ | {f"DASK_DISTRIBUTED__{key}": value for key, value in settings.items()}
        self.scheduler = self._start("scheduler", "--host", "127.0.0.1", "--port", "0")
        self.workers: list[subprocess.Popen] = []
        while not self.file.exists():
            assert self.scheduler.poll() is None, "the scheduler has ended"
            time.sleep(0.05)

    def _start(self, what: str, *options: str) -> subprocess.Popen:
        command = [sys.executable, "-m", f"distributed.cli.dask_{what}", "--no-dashboard"]
        command += ["--scheduler-file", str(self.file), *options]
        return subprocess.Popen(command, env=self.environment, stderr=subprocess.DEVNULL)

    def add_worker(self) -> subprocess.Popen:
        """A worker that nothing starts again when it dies."""
        self.workers.append(self._start("worker", "--no-nanny", "--nthreads", "1", "--death-timeout", "60"))
        return self.workers[-1]

    @contextmanager
    def client(self):
        from distributed import Client

        with Client(scheduler_file=str(self.file), timeout=60) as client:
            client.wait_for_workers(len(self.workers), timeout=60)
            yield client


@pytest.fixture
def own_cluster(tmp_path):
    """Makes a `Cluster` that a test may harm."""
    made: list[Cluster] = []

    def make(**settings: str) -> Cluster:
        made.append(Cluster(tmp_path, **settings))
        return made[-1]

    yield make
    for cluster in made:
        for process in [cluster.scheduler, *cluster.workers]:
            process.kill()
            process.wait()
