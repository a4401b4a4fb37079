"""Sweeps on Ray, which is too large to be installed for every change."""

import os
import signal
import subprocess
import sys

import pytest
import ray

import ackclock
from ackclock import sweep

SMALL = {
    "duration": "2 s",
    "topology": {"dumbbell": {"bottleneck": {"rate": "5 Mbit/s", "delay": "10 ms", "loss": 0.001, "queue": {"droptail": "20 packets"}}}},
    "flows": [{"control": "reno"}],
    "sweep": {"flows.0.control": ["reno", "cubic"]},
    "seeds": 60,
}


@pytest.fixture(scope="module", autouse=True)
def cluster():
    ray.init(num_cpus=4, include_dashboard=False)
    yield
    ray.shutdown()


def test_ray_computes_the_same_even_if_a_worker_is_killed(tmp_path):
    sweep(SMALL, executor=1).to_parquet(tmp_path / "one.parquet", "flows")
    killed = []

    def kill(done, count):
        if done and not killed:
            pids = ray.get([ray.remote(lambda: os.getpid()).remote() for _ in range(4)])
            killed.append(pids[0])
            os.kill(pids[0], signal.SIGKILL)

    results = sweep(SMALL, executor=ray, store=tmp_path / "store", part=5, progress=kill)
    results.to_parquet(tmp_path / "ray.parquet", "flows")
    assert killed and (tmp_path / "ray.parquet").read_bytes() == (tmp_path / "one.parquet").read_bytes()
    assert sweep(SMALL, executor="ray", store=tmp_path / "store").computed == 0


def shell(tmp_path, address):
    """`python -m ackclock sweep --ray` in a process of its own."""
    file = tmp_path / "small.toml"
    file.write_text(ackclock.Scenario(SMALL, seeds=3).to_toml())
    command = [sys.executable, "-m", "ackclock", "sweep", str(file), "--store", str(tmp_path / "shell"), "--ray", address]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


def test_the_shell_sweeps_on_ray(tmp_path):
    ran = shell(tmp_path, ray.get_runtime_context().gcs_address)
    assert ran.returncode == 0 and "6 points, 6 of them computed now" in ran.stdout, ran.stderr


def test_a_head_that_is_not_there_is_told(tmp_path):
    ran = shell(tmp_path, "127.0.0.1:1")
    assert ran.returncode == 2 and "no head of Ray answers at 127.0.0.1:1" in ran.stderr, ran.stderr
    assert "Traceback" not in ran.stderr
