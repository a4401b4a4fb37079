"""Sweeps from a shell: `python -m ackclock sweep`."""

import json
import os
import socket
import subprocess
import sys

import pytest

import ackclock
from ackclock.__main__ import main


@pytest.fixture
def file(small, tmp_path):
    """A scenario of six points."""
    file = tmp_path / "small.toml"
    file.write_text(ackclock.Scenario(small, seeds=3).to_toml())
    return file


def shell(file, *options, **settings):
    """The command in a process of its own."""
    command = [sys.executable, "-m", "ackclock", "sweep", str(file), "--store", str(file.parent / "store"), *options]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | settings)


@pytest.fixture
def here(file, monkeypatch, capsys):
    """Does the same in this process. Returns the exit status, and what it prints."""

    def run(*options, file=file):
        monkeypatch.setattr(sys, "argv", ["ackclock", "sweep", str(file), "--store", str(file.parent / "store"), *options])
        return main(), *capsys.readouterr()

    return run


@pytest.fixture
def refused(here):
    """Runs what is to be refused, and returns what it says: a line, and perhaps a remedy."""

    def run(*options, **where):
        status, _, said = here(*options, **where)
        assert status == 2 and len(said.splitlines()) <= 2 and "Traceback" not in said, said
        return said

    return run


def test_a_sweep_in_threads(file, tmp_path, here):
    first = shell(file, "--threads", "2")
    assert first.returncode == 0 and "6 points, 6 of them computed now" in first.stdout, first.stderr
    table = tmp_path / "groups.parquet"
    status, said, _ = here("--table", "groups", "--out", str(table))
    assert status == 0 and "0 of them computed now" in said and table.exists()
    status, _, said = here("--set", 'sweep={"flows.0.count": [1, 0, 3]}')
    assert status == 1 and "failed: {'flows.0.count': 0} seed 1" in said
    status, _, said = here("--set", "flows.0.cuont=2")
    assert status == 2 and "count" in said


def test_a_sweep_on_dask(file, own_cluster, here):
    cluster = own_cluster()
    cluster.add_worker()
    address = json.loads(cluster.file.read_text())["address"]
    ran = shell(file, "--dask", address)
    assert ran.returncode == 0 and "6 points, 6 of them computed now" in ran.stdout, ran.stderr
    assert "0 of them computed now" in here("--threads", "1")[1]


def test_a_scheduler_that_is_not_there(file):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{unused.getsockname()[1]}"
        ran = shell(file, "--dask", address, DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT="1s")
    assert ran.returncode == 2 and f"no scheduler of Dask answers at {address}" in ran.stderr, ran.stderr
    assert ran.stderr.splitlines()[-1].strip().startswith("help: ") and "Traceback" not in ran.stderr
    assert not (file.parent / "store").exists() or os.listdir(file.parent / "store") == ["build"]


def test_an_address_that_is_none(refused):
    assert "no scheduler of Dask answers at nonsense" in refused("--dask", "nonsense")


@pytest.mark.parametrize(
    "module, options, extra",
    [("distributed", ["--dask", "127.0.0.1:1"], "dask"), ("ray", ["--ray", "auto"], "ray"), ("pyarrow", [], "sweep")],
)
def test_packages_that_are_missing(refused, monkeypatch, module, options, extra):
    monkeypatch.setitem(sys.modules, module, None)
    assert refused(*options) == f"a sweep{ON.get(extra, '')} needs the package {module}: pip install 'ackclock[{extra}]'\n"


ON = {"dask": " on Dask", "ray": " on Ray"}


def test_files_that_cannot_be_used(refused, tmp_path):
    said = refused("--out", str(tmp_path / "no" / "such" / "place.parquet"))
    assert "the table points cannot be written to" in said and "help: " in said
    assert "cannot be written to" in refused("--out", str(tmp_path))
    (tmp_path / "store" / "build").unlink()
    (tmp_path / "store" / "build").mkdir()
    assert "cannot be used" in refused()


def test_mistakes_in_options(refused, capsys):
    assert "--set flows: a setting has the form key=value" in refused("--set", "flows")
    assert "0 threads compute nothing" in refused("--threads", "0")
    with pytest.raises(SystemExit) as caught:
        refused("--table", "series")
    assert caught.value.code == 2 and "'points', 'flows'" in capsys.readouterr().err
