"""How fast the package is, as it is distributed. Each number is the best of some runs."""

import subprocess
import sys
import time

import numpy
import pyarrow

import ackclock
from ackclock import _native
from ackclock.gym import Aurora

# s, s, steps per second, acknowledgements per second.
IMPORT, PANDAS, STEPS, ACKS = 0.1, 2.0, 10_000, 300_000


def best(measure, runs=5):
    return min(measure() for _ in range(runs))


def timed(work):
    """The processor time of `work`, s."""
    begun = time.process_time()
    work()
    return time.process_time() - begun


def test_import():
    def interpreter(code):
        begun = time.monotonic()
        subprocess.run([sys.executable, "-c", code], check=True)
        return time.monotonic() - begun

    took = best(lambda: interpreter("import ackclock")) - best(lambda: interpreter("pass"))
    print(f"\nimport: {1e3 * took:.0f} ms")
    assert took <= IMPORT


def test_rows_into_pandas():
    """A million rows, of the table with the most columns."""
    few = ackclock.run(
        {
            "duration": "1 s",
            "topology": {"dumbbell": {"bottleneck": {"rate": "5 Mbit/s", "delay": "10 ms"}}},
            "flows": [{"control": "reno", "count": 100}],
        },
        seeds=10,
        probes=False,
    ).flows
    batch = pyarrow.record_batch(few._batch)
    million = pyarrow.Table.from_batches([batch] * 1000).combine_chunks().to_batches()[0]
    flows = ackclock._results.Table(_native.Batch.of(million))
    frame = flows.to_pandas()
    assert frame.shape == (1_000_000, len(few.columns))
    took = best(lambda: timed(flows.to_pandas))
    print(f"\n10^6 rows of {frame.shape[1]} columns into pandas: {took:.2f} s")
    assert took <= PANDAS


def test_steps_of_an_environment():
    environment = Aurora()
    environment.reset(seed=1)
    actions = numpy.random.default_rng(1).uniform(-1, 1, (20_000, 1))

    def steps():
        for action in actions:
            if environment.step(action)[3]:
                environment.reset()

    rate = len(actions) / best(lambda: timed(steps))
    print(f"\nAurora-v0: {rate:.0f} steps/s of one thread")
    assert rate >= STEPS


def test_acknowledgements_of_a_controller():
    class Aimd:
        calls = 0

        def grow(self, path, ack, w):
            Aimd.calls += 1
            w.cwnd += ack.acked if w.cwnd < w.ssthresh else ack.acked / w.cwnd

        def cut(self, path, w, why):
            return w.cwnd / 2

    scenario = {
        "duration": "60 s",
        "topology": {"dumbbell": {"bottleneck": {"rate": "100 Mbit/s", "delay": "10 ms", "queue": {"droptail": "1 bdp"}}}},
        "flows": [{"control": "mine"}],
    }
    run = lambda: ackclock.run(scenario, controllers={"mine": Aimd}, probes=False)  # noqa: E731
    run()
    calls = Aimd.calls
    rate = calls / best(lambda: timed(run))
    print(f"\na controller in Python: {rate:.0f} acknowledgements/s, {calls} in a run")
    assert rate >= ACKS
