"""A million points on four workers: what the driver takes of memory, and what the sweep takes beside the engine.

Takes minutes: `make python-clusters` runs it. POINTS=100000 makes it shorter.
"""

import os
import resource
import time

import ackclock
import dask
from ackclock import sweep
from distributed import Client, LocalCluster

POINTS = int(os.environ.get("POINTS", "1000000"))
SEEDS = 10_000
# 2,000 points of ten seconds take half a second of a core.
SCENARIO = {
    "duration": "10 s",
    "topology": {"dumbbell": {"bottleneck": {"rate": "2 Mbit/s", "delay": "10 ms", "queue": {"droptail": "20 packets"}}}},
    "flows": [{"control": "reno"}],
    "seeds": SEEDS,
    "sweep": {"topology.dumbbell.bottleneck.loss": [1e-4 * (1 + number) for number in range(POINTS // SEEDS)]},
}
# What the book advises: each process of Dask samples its own stack, and wakes up fifty times a second. Four
# workers and a driver without work take 13 % of a core with Dask's own settings, and 3 % with these.
FEWER_WAKE_UPS = {"distributed.worker.profile.enabled": False, "distributed.admin.tick.interval": "1s"}
# 10 % beside the engine, 500 MiB. In the wall time is also what else the machine does.
OVERHEAD, MEMORY, SLOWER = 0.10, 500 << 20, 0.25


def peak() -> int:
    """The most memory that this process has had, bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def cpu() -> float:
    """The CPU time of this process, s."""
    times = os.times()
    return times.user + times.system


def alone(scenario: dict) -> float:
    """The CPU time that a point takes on one thread without a sweep, s: the engine, and nothing kept."""
    begun = cpu()
    results = ackclock.run(scenario, probes=False, threads=1)
    return (cpu() - begun) / len(results)


def test_a_million_points(tmp_path):
    with (
        dask.config.set(FEWER_WAKE_UPS),
        LocalCluster(n_workers=4, threads_per_worker=1, dashboard_address=None, memory_limit=0) as cluster,
        Client(cluster) as client,
    ):
        # The same points, some of each loss rate, by as many processes at once: they share cores and caches, too.
        sample = dict(SCENARIO, seeds=max(1, 20_000 * SEEDS // POINTS))
        bare = [*client.run(alone, sample).values()]
        before = client.run(cpu)
        begun, wall = cpu(), time.monotonic()
        results = sweep(SCENARIO, executor=client, store=tmp_path)
        wall = time.monotonic() - wall
        workers = sum(after - before[name] for name, after in client.run(cpu).items())
        driver = cpu() - begun
        bare += client.run(alone, sample).values()
    alone_s = sum(bare) / len(bare)
    memory = peak()
    overhead = (workers + driver) / (alone_s * len(results)) - 1
    # The four workers share the cores of this machine with the driver.
    slower = wall * min(4, len(os.sched_getaffinity(0))) / (alone_s * len(results)) - 1
    print(
        f"\n{len(results)} points: {1e6 * alone_s:.0f} us each alone; workers {workers:.0f} s, driver {driver:.1f} s of CPU,"
        f" {wall:.0f} s of wall time: {100 * overhead:.1f} % beside the engine in CPU time, {100 * slower:.1f} % in wall time;"
        f" {memory >> 20} MiB in the driver"
    )
    begun = time.monotonic()
    again = sweep(SCENARIO, store=tmp_path)
    print(f"again: {again.computed} points computed in {time.monotonic() - begun:.0f} s; {peak() >> 20} MiB")
    begun = time.monotonic()
    results.to_parquet(tmp_path / "flows.parquet", "flows")
    print(f"one table of all flows: {(tmp_path / 'flows.parquet').stat().st_size} bytes, {time.monotonic() - begun:.0f} s; {peak() >> 20} MiB")
    assert again.computed == 0 and results.computed == len(results) == POINTS and not results.failures
    assert overhead <= OVERHEAD
    assert slower <= SLOWER
    assert memory <= MEMORY and peak() <= MEMORY
