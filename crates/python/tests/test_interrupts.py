"""Ctrl-C in a notebook: the cell ends, nothing goes on behind it, and the next one works."""

import threading

import pytest
from conftest import SMALL
from jupyter_client.manager import start_new_kernel

# A run that takes hours.
ENDLESS = dict(SMALL, duration="1000000 s", topology={"dumbbell": {"bottleneck": {"rate": "10 Gbit/s", "delay": "10 ms"}}})


@pytest.fixture(scope="module")
def kernel():
    manager, client = start_new_kernel()
    yield manager, client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def cell(kernel, code, interrupt=False):
    """The reply to a cell. `interrupt`: Ctrl-C half a second after its first output."""
    manager, client = kernel
    begun = threading.Event()

    def output(message):
        if interrupt and message["msg_type"] == "stream" and not begun.is_set():
            begun.set()
            threading.Timer(0.5, manager.interrupt_kernel).start()

    return client.execute_interactive(code, timeout=120, output_hook=output)["content"]


@pytest.mark.parametrize(
    "computes",
    [
        "ackclock.run(ENDLESS, seeds=1)",
        "ackclock.run(dict(ENDLESS, flows=[{'control': 'mine'}], sweep={}), seeds=1, controllers={'mine': Mine})",
        "ackclock.sweep(ENDLESS, store=store.name, executor=2, progress=lambda done, all: print(done, flush=True))",
        "ackclock.sweep(ENDLESS, executor=2)",
    ],
    ids=["run", "controller", "sweep", "sweep without a store"],
)
def test_the_next_cell_works(kernel, computes):
    prepared = cell(kernel, f"""
        import tempfile, threading
        import ackclock
        SMALL, ENDLESS, store = {SMALL!r}, {ENDLESS!r}, tempfile.TemporaryDirectory()
        class Mine:
            def grow(self, path, ack, w):
                w.cwnd += 1 / w.cwnd
            def cut(self, path, w, why):
                return w.cwnd / 2
    """)
    assert prepared["status"] == "ok", prepared
    # Where there is progress, the first of it is the first output.
    ended = cell(kernel, computes if "progress" in computes else f"print('begun', flush=True)\n{computes}", interrupt=True)
    assert (ended["status"], ended.get("ename")) == ("error", "KeyboardInterrupt"), ended
    if "store" in computes:
        assert "0 of 120 points are kept in" in ended["evalue"]
    after = cell(kernel, """
        names = [thread.name for thread in threading.enumerate() if thread.name.startswith("ThreadPool")]
        assert not names, names
        assert ackclock.sweep(SMALL, seeds=2, store=store.name).computed == 4
        assert len(ackclock.run(SMALL, seeds=2).points) == 4
    """)
    assert after["status"] == "ok", after
