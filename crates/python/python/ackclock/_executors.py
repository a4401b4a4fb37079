"""Where the parts of a sweep are computed: this machine's threads, Dask, or Ray.

One small interface, so that another engine is a class of four lines: `workers`, `submit`, `wait`, `close`.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from typing import Any, Protocol

from ackclock._errors import failed, first_line, needed


class Executor(Protocol):
    """What computes tasks somewhere."""

    # The number of tasks that can be under way at once.
    workers: int

    def submit(self, task: Callable[..., Any], *arguments: Any) -> Any:
        """Begins a task. Returns a handle."""

    def wait(self, handles: list[Any]) -> list[tuple[Any, Callable[[], Any]]]:
        """Waits until at least one of them has ended. Returns those, each with a function that returns the
        task's result or raises what it raised."""

    def close(self, handles: list[Any]) -> None:
        """Gives up what has not ended."""


class Threads:
    """The threads of this machine. The engine runs without the interpreter's lock."""

    def __init__(self, workers: int | None = None) -> None:
        from concurrent.futures import ThreadPoolExecutor

        if workers is not None and workers < 1:
            raise failed(f"{workers} threads compute nothing", "give at least one")
        self.workers = workers or len(os.sched_getaffinity(0))
        self._pool = ThreadPoolExecutor(self.workers)
        # Ctrl-C reaches the main thread only. This ends what the others compute.
        self._stop = threading.Event()

    def submit(self, task: Callable[..., Any], *arguments: Any) -> Any:
        return self._pool.submit(task, *arguments, stop=self._stop)

    def wait(self, handles: list[Any]) -> list[tuple[Any, Callable[[], Any]]]:
        from concurrent.futures import FIRST_COMPLETED, wait

        # Ctrl-C is noticed between looks.
        while not (done := wait(handles, timeout=0.2, return_when=FIRST_COMPLETED).done):
            pass
        return [(handle, handle.result) for handle in done]

    def close(self, handles: list[Any]) -> None:
        self._stop.set()
        self._pool.shutdown(cancel_futures=True)


# How long a cluster may be without workers, s: nodes that a batch system takes away may come back. Dask itself
# waits for ever.
PATIENCE = 300.0
# The time between two looks at the workers, s.
_LOOK = 1.0


class Dask:
    """A cluster of Dask: a `distributed.Client`, or the address of its scheduler."""

    def __init__(self, client: Any) -> None:
        with needed("a sweep on Dask", "dask"):
            from distributed import Client

        self._own = not isinstance(client, Client)
        try:
            self._client = Client(client, set_as_default=False) if self._own else client
        except (OSError, ValueError) as error:
            raise failed(
                f"no scheduler of Dask answers at {client}: {first_line(error)}",
                "check the address, and whether it runs there: dask scheduler",
            ) from error
        self.workers = max(1, sum(self._client.nthreads().values()))

    def submit(self, task: Callable[..., Any], *arguments: Any) -> Any:
        # A worker that dies takes its tasks with it. The scheduler gives them to others, until one of them has
        # lost so many workers that Dask gives it up (`distributed.scheduler.allowed-failures`).
        return self._client.submit(task, *arguments, pure=False)

    def wait(self, handles: list[Any]) -> list[tuple[Any, Callable[[], Any]]]:
        seen = time.monotonic()
        while not (ended := self._ended(handles)):
            if self._client.nthreads():
                seen = time.monotonic()
            elif time.monotonic() - seen > PATIENCE:
                raise TimeoutError(f"for {PATIENCE:.0f} s there was no worker")
        return ended

    def _ended(self, handles: list[Any]) -> list[tuple[Any, Callable[[], Any]]]:
        from distributed import wait

        try:
            with self._client.as_current():
                done = wait(handles, timeout=_LOOK, return_when="FIRST_COMPLETED").done
        except TimeoutError:
            return []
        ended = []
        for handle in done:
            if handle.status == "finished":
                # Until it is fetched a result is with its worker. It is lost with it, and computed again.
                try:
                    result = handle.result(timeout=PATIENCE)
                except TimeoutError:
                    continue
                ended.append((handle, lambda result=result: result))
            else:
                ended.append((handle, handle.result))
        return ended

    def close(self, handles: list[Any]) -> None:
        try:
            if handles:
                self._client.cancel(handles, force=True)
        except Exception:  # the scheduler may be gone
            pass
        if self._own:
            self._client.close(timeout=5)


class Ray:
    """A cluster of Ray: `ray` itself, initialised by the caller or here."""

    def __init__(self, ray: Any) -> None:
        self._ray = ray
        if not ray.is_initialized():
            ray.init()
        self.workers = max(1, int(ray.cluster_resources().get("CPU", 1)))
        self._remote = ray.remote(_call).options(max_retries=3, num_cpus=1)

    def submit(self, task: Callable[..., Any], *arguments: Any) -> Any:
        return self._remote.remote(task, *arguments)

    def wait(self, handles: list[Any]) -> list[tuple[Any, Callable[[], Any]]]:
        done, _ = self._ray.wait(handles, num_returns=1)
        return [(handle, lambda handle=handle: self._ray.get(handle)) for handle in done]

    def close(self, handles: list[Any]) -> None:
        for handle in handles:
            self._ray.cancel(handle, force=True)


def _call(task: Callable[..., Any], *arguments: Any) -> Any:
    return task(*arguments)


def executor(wanted: Any) -> Executor:
    """What `executor=` means: None or a number of threads, a client or an address of Dask, `ray`, or an object
    with the interface itself."""
    if wanted is None or isinstance(wanted, int):
        return Threads(wanted)
    if all(hasattr(wanted, name) for name in ("workers", "submit", "wait", "close")):
        return wanted
    module = type(wanted).__module__.split(".")[0]
    if isinstance(wanted, str) and wanted != "ray" or module == "distributed":
        return Dask(wanted)
    if wanted == "ray" or getattr(wanted, "__name__", "") == "ray":
        with needed("a sweep on Ray", "ray"):
            import ray

        return Ray(ray)
    raise TypeError(f"{wanted!r} computes nothing: give a number of threads, a client of Dask, or ray")
