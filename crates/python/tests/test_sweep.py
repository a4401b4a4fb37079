"""Sweeps: the same bytes however the work is divided and whatever dies, and no point twice."""

import contextlib
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import ackclock
from ackclock import _executors, sweep
from ackclock._store import Store


def written(results, path):
    """The bytes of a result."""
    results.to_parquet(path, "flows")
    return path.read_bytes()


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The result of one thread."""
    from conftest import SMALL

    return written(sweep(SMALL, executor=1), tmp_path_factory.mktemp("whole") / "flows.parquet")


@pytest.mark.parametrize("part", [1, 7, 1000])
def test_the_result_does_not_depend_on_how_the_work_is_divided(small, whole, tmp_path, part):
    results = sweep(small, executor=3, store=tmp_path / "store", part=part)
    assert written(results, tmp_path / "flows.parquet") == whole
    assert results.computed == len(results) == 120
    assert len(Store(tmp_path / "store").names()) == -(-120 // part)


def test_tables_are_those_of_a_run(small):
    results, run = sweep(small, seeds=3), ackclock.run(small, seeds=3, probes=False)
    for name in ("points", "flows", "groups", "links", "traffic", "expectations"):
        assert results.table(name).to_pylist() == run.table(name).to_pylist(), name


def test_nothing_is_computed_twice(small, whole, tmp_path):
    store = tmp_path / "store"
    assert sweep(small, store=store).computed == 120
    assert sweep(small, store=store).computed == 0
    more = dict(small, sweep={"flows.0.control": ["reno", "vegas", "cubic"]})
    assert sweep(more, store=store, seeds=60).computed == 60
    again = sweep(small, store=store)
    assert again.computed == 0 and written(again, tmp_path / "flows.parquet") == whole


def _last_column(data):
    """A byte in the middle of the last column, which nothing reads that looks for digests only."""
    from pyarrow import BufferReader, parquet

    group = parquet.ParquetFile(BufferReader(data)).metadata.row_group(0)
    column = group.column(group.num_columns - 1)
    return column.data_page_offset + column.total_compressed_size // 2


# What becomes of a part, by its name in the test.
DAMAGE = {
    "first byte": lambda data: _flipped(data, 0),
    "digests": lambda data: _flipped(data, 40),
    "last column": lambda data: _flipped(data, _last_column(data)),
    "footer": lambda data: _flipped(data, len(data) - 100),
    "length of the footer": lambda data: _flipped(data, len(data) - 6),
    "last byte": lambda data: _flipped(data, len(data) - 1),
    "half": lambda data: data[: len(data) // 2],
    "all but one byte": lambda data: data[:-1],
    "one byte more": lambda data: data + b"1",
    "empty": lambda data: b"",
}


def _flipped(data, at):
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A store of four parts with five points each, and the bytes of its flows."""
    from conftest import SMALL

    store = tmp_path_factory.mktemp("kept") / "store"
    return store, written(sweep(SMALL, seeds=10, store=store, part=5), store.parent / "flows.parquet")


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_part_is_computed_again(small, kept, tmp_path, damage):
    store, flows = shutil.copytree(kept[0], tmp_path / "store"), kept[1]
    part = store / Store(store).names()[1]
    part.write_bytes(damage(part.read_bytes()))
    results = sweep(small, seeds=10, store=store, part=5)
    assert results.computed == 5 and written(results, tmp_path / "flows.parquet") == flows
    assert sweep(small, seeds=10, store=store).computed == 0


def test_what_is_damaged_after_a_sweep_is_told(small, kept, tmp_path):
    store, flows = shutil.copytree(kept[0], tmp_path / "store"), kept[1]
    early, late = (sweep(small, seeds=10, store=store) for _ in range(2))
    assert len(early.points) == 20  # it has found the parts
    name = Store(store).names()[1]
    (store / name).write_bytes(DAMAGE["last column"]((store / name).read_bytes()))
    for results, says in [(early, name), (late, "5 of 20 points")]:
        with pytest.raises(ackclock.Error, match=says) as caught:
            results.table("flows")
        assert "run the same sweep again" in caught.value.remedy
    assert sweep(small, seeds=10, store=store).computed == 5
    assert written(late, tmp_path / "flows.parquet") == written(early, tmp_path / "again.parquet") == flows


def test_what_a_killed_worker_leaves_is_no_part(small, whole, tmp_path):
    store = tmp_path / "store"
    sweep(small, store=store, part=30)
    first, *_ = (store / name for name in Store(store).names())
    (store / f".{first.name}.1.partial").write_bytes(first.read_bytes()[:100])
    (store / "part-0123.parquet").write_bytes(b"not from here")
    results = sweep(small, store=store)
    assert results.computed == 0 and written(results, tmp_path / "flows.parquet") == whole


def test_another_build_is_refused_with_both_identities(small, tmp_path):
    sweep(small, seeds=1, store=tmp_path)
    own = (tmp_path / "build").read_text()
    (tmp_path / "build").write_text("0123456789abcdef 0.0.9\n")
    with pytest.raises(ackclock.Error) as caught:
        sweep(small, seeds=1, store=tmp_path)
    assert "0123456789abcdef" in str(caught.value) and own.split()[0] in str(caught.value)


def test_a_worker_of_another_build_is_refused(small):
    from ackclock._sweep import _compute

    with pytest.raises(ackclock.Error) as caught:
        _compute(ackclock.Scenario(small), [(0, 1)], None, "another")
    assert "another" in str(caught.value) and ackclock.build() in str(caught.value)


def test_a_point_that_fails_is_told_and_the_others_finish(small, tmp_path):
    wrong = dict(small, sweep={"flows.0.count": [1, 0, 3]})
    with pytest.warns(UserWarning, match="2 of 6 points failed"):
        results = sweep(wrong, seeds=[5, 8], store=tmp_path)
    assert [(it["number"], it["parameters"], it["seed"]) for it in results.failures] == [
        (2, {"flows.0.count": 0}, 5),
        (3, {"flows.0.count": 0}, 8),
    ]
    assert results.points["flows.0.count"] == [1, 1, 3, 3]
    assert len(results.flows) == 2 * 1 + 2 * 3


def test_an_engine_that_fails_at_a_point_is_told_and_the_others_finish(small, tmp_path, monkeypatch):
    monkeypatch.setenv("ACKCLOCK_FAILS_AT", "67")  # heeded by builds for tests
    with pytest.warns(UserWarning, match="1 of 120 points failed"):
        results = sweep(small, store=tmp_path, executor=2, part=25)
    (failure,) = results.failures
    assert failure == {
        "number": 67, "parameters": {"flows.0.control": "cubic"}, "seed": 8, "why": "the engine failed: on purpose"
    }
    assert results.computed == 120 and len(results.points) == 119
    monkeypatch.delenv("ACKCLOCK_FAILS_AT")
    assert sweep(small, store=tmp_path).computed == 1


def test_a_mistake_in_all_points_shows_before_anything_runs(small):
    with pytest.raises(ackclock.Error, match="cubics"):
        sweep(small, set={"sweep": {"flows.0.control": ["cubics"]}})
    with pytest.raises(ackclock.Error, match="over all points"):
        sweep(small, set={"expect": [{"that": "goodput('reno') > 0", "over": "points"}]})


PROGRAM = """
    import json, sys
    from conftest import SMALL
    from ackclock import _executors, sweep
    if __name__ == "__main__":
        sweep(SMALL, set={"duration": sys.argv[2]}, executor=2, store=sys.argv[1], part=10,
              progress=lambda done, all: print(done, flush=True))
"""


def program(store, duration, **options):
    arguments = [sys.executable, "-c", textwrap.dedent(PROGRAM), str(store), duration]
    tests = os.path.dirname(__file__)
    return subprocess.Popen(arguments, cwd=tests, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


def test_a_full_disk_is_told_and_leaves_nothing_half(tmp_path):
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))  # noqa: E731
    _, stderr = program(tmp_path, "2 s", preexec_fn=limit).communicate(timeout=60)
    assert "cannot be kept" in stderr and "0 of 120 points are kept" in stderr, stderr
    assert sorted(os.listdir(tmp_path)) == ["build"]


@pytest.fixture
def disk(tmp_path):
    """A directory on a disk of its own, and a function that says how large it is, KiB."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = os.geteuid() == 0 and subprocess.run(["mount", "-t", "tmpfs", "none", place], check=False).returncode == 0
    if not mounted:
        pytest.skip("a small disk cannot be mounted: it takes root")
    yield place, lambda size: subprocess.run(["mount", "-o", f"remount,size={size}k", place], check=True)
    subprocess.run(["umount", place], check=True)


@pytest.mark.parametrize("where", ["threads", "dask"])
def test_a_full_disk_is_told_by_any_worker(small, whole, tmp_path, disk, where, request):
    place, resize = disk
    executor = 2 if where == "threads" else request.getfixturevalue("cluster")
    resize(64)
    with pytest.raises(ackclock.Error) as caught:
        sweep(small, executor=executor, store=place / "store", part=10)
    assert "No space left on device" in caught.value.message and str(place / "store") in caught.value.message
    kept = int(re.search(r"(\d+) of 120 points are kept", caught.value.remedy)[1])
    resize(10_000)
    results = sweep(small, executor=executor, store=place / "store", part=10)
    assert kept <= 120 - results.computed and 0 < results.computed < 120
    assert written(results, tmp_path / "flows.parquet") == whole
    assert not [name for name in os.listdir(place / "store") if name.startswith(".")]


def test_a_table_that_does_not_fit_leaves_nothing(kept, small, disk):
    place, resize = disk
    resize(4)
    results = sweep(small, seeds=10, store=kept[0])
    with pytest.raises(ackclock.Error, match="No space left on device") as caught:
        results.to_parquet(place / "all.parquet", "flows")
    assert "the table flows" in caught.value.message and str(place / "all.parquet") in caught.value.message
    assert "another path" in caught.value.remedy and not os.listdir(place)


def test_a_table_is_written_by_several_at_once(kept, small, tmp_path):
    results, path = sweep(small, seeds=10, store=kept[0]), tmp_path / "flows.parquet"
    with ThreadPoolExecutor(4) as pool:
        [*pool.map(lambda _: results.to_parquet(path, "flows"), range(8))]
    assert path.read_bytes() == kept[1] and os.listdir(tmp_path) == ["flows.parquet"]
    with pytest.raises(ackclock.Error, match="no/such/place"):
        results.to_parquet(tmp_path / "no/such/place.parquet")


def test_ctrl_c_keeps_what_is_finished(tmp_path):
    process = program(tmp_path, "30 s")
    while int(process.stdout.readline()) == 0:
        pass
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert "KeyboardInterrupt" in stderr and "of 120 points are kept" in stderr, stderr
    assert 1 <= len(Store(tmp_path).names()) < 12
    assert not [name for name in os.listdir(tmp_path) if name.endswith(".partial")]


def test_killed_at_any_moment_it_goes_on_where_it_was(whole, tmp_path):
    for delay in (0.0, 0.05, 0.2):
        process = program(tmp_path, "2 s")
        process.stdout.readline()
        time.sleep(delay)
        process.kill()
        process.communicate()
    from conftest import SMALL

    results = sweep(SMALL, store=tmp_path)
    assert written(results, tmp_path.parent / "flows.parquet") == whole


@pytest.fixture(scope="module")
def cluster():
    from distributed import Client, LocalCluster

    options = {"n_workers": 4, "threads_per_worker": 1, "dashboard_address": None, "memory_limit": 0}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        yield client


def test_a_cluster_of_dask_computes_the_same(small, whole, tmp_path, cluster):
    results = sweep(small, executor=cluster)  # without a store it sends the results
    assert written(results, tmp_path / "flows.parquet") == whole


def kill_a_busy_one(client, pids):
    """Kills one of these workers, which are known by address, in the middle of a task. Returns its address; None
    if none has a task."""

    def send(number, to):
        for address in to:
            with contextlib.suppress(ProcessLookupError):  # it is about to be replaced
                os.kill(pids[address], number)

    send(signal.SIGSTOP, pids)  # while it is stopped it cannot finish what it has
    try:
        time.sleep(0.1)  # what it had said before arrives
        busy = [address for address, tasks in client.processing().items() if tasks and address in pids]
        send(signal.SIGKILL, busy[:1])
    finally:
        send(signal.SIGCONT, pids)
    return busy[0] if busy else None


@pytest.mark.filterwarnings("ignore")
def test_workers_of_dask_that_are_killed_change_nothing(small, whole, tmp_path, cluster):
    """One of them early, one later, one towards the end."""
    moments, killed = [5, 40, 80], []

    def workers():
        nannies = [nanny for nanny in cluster.cluster.workers.values() if nanny.process and nanny.process.pid]
        return {nanny.worker_address: nanny.process.pid for nanny in nannies}

    def kill(done, count):
        if not moments or done < moments[0]:
            return
        before = workers()
        if victim := kill_a_busy_one(cluster, before):
            moments.pop(0)
            killed.append((victim, before[victim]))

    results = sweep(small, executor=cluster, store=tmp_path / "store", part=5, progress=kill)
    assert len(killed) == 3
    assert written(results, tmp_path / "flows.parquet") == whole and results.computed == 120
    # Dask says what they were doing.
    removed = [event for _, event in cluster.get_events("all") if event["action"] == "remove-worker"]
    for victim, pid in killed:
        assert [event for event in removed if event["worker"] == victim and event["processing-tasks"]]
        deadline = time.monotonic() + 60
        while os.path.exists(f"/proc/{pid}") and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not os.path.exists(f"/proc/{pid}")


@pytest.mark.filterwarnings("ignore")
def test_workers_that_are_gone_for_good_end_the_sweep(small, whole, tmp_path, own_cluster, monkeypatch):
    monkeypatch.setattr(_executors, "PATIENCE", 2.0)
    cluster = own_cluster()
    worker = cluster.add_worker()

    def kill(done, count):
        if done:
            worker.kill()

    with cluster.client() as client:
        with pytest.raises(ackclock.Error, match="for 2 s there was no worker") as caught:
            sweep(small, executor=client, store=tmp_path / "store", part=5, progress=kill)
        assert "run the same again" in caught.value.remedy
        cluster.add_worker()
        client.wait_for_workers(1, timeout=60)
        results = sweep(small, executor=client, store=tmp_path / "store", part=5)
    assert 0 < results.computed < 120 and written(results, tmp_path / "flows.parquet") == whole


@pytest.mark.filterwarnings("ignore")
def test_a_part_that_loses_too_many_workers_ends_the_sweep(small, tmp_path, own_cluster):
    cluster = own_cluster(SCHEDULER__ALLOWED_FAILURES="0")
    worker, killed = cluster.add_worker(), []

    def kill(done, count):
        if done and not killed and kill_a_busy_one(client, {address: worker.pid for address in client.nthreads()}):
            killed.append(worker)

    with cluster.client() as client:
        with pytest.raises(ackclock.Error, match="KilledWorker") as caught:
            sweep(small, executor=client, store=tmp_path / "store", part=5, progress=kill)
    assert killed and "run the same again" in caught.value.remedy


@pytest.mark.filterwarnings("ignore")
def test_a_scheduler_that_dies_is_told_and_nothing_is_lost(small, tmp_path, own_cluster):
    cluster = own_cluster()
    cluster.add_worker()
    with cluster.client() as client:

        def kill(done, count):
            if done:
                cluster.scheduler.kill()

        with pytest.raises(ackclock.Error) as caught:
            sweep(small, set={"duration": "20 s"}, executor=client, store=tmp_path / "store", part=10, progress=kill)
        assert "could not be computed" in str(caught.value) and "store" in caught.value.remedy
    assert Store(tmp_path / "store").names()
