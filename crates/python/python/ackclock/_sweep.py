"""Sweeps: many points, in parts, on this machine or on many."""

from __future__ import annotations

import json
import os
import tempfile
import threading
import warnings
from array import array
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

from ackclock import _native
from ackclock._build import build
from ackclock._errors import failed, needed
from ackclock._executors import Executor, executor as chosen
from ackclock._results import Table, Tables
from ackclock._scenario import Scenario
from ackclock._store import NotKept, Store, encoded, replacing

# How long a part takes to compute, s: engines of clusters spend about a millisecond on each task.
_PART_SECONDS = 10.0
# The points of the first part, which tells how long one takes.
_FIRST = 64
# The most points of a part: so many rows are in memory at once.
_MOST = 20_000
# Tasks under way or waiting, per worker.
_AHEAD = 2

# The tables of a sweep: those of a run without what is seen over time.
KEPT = ("points", "flows", "groups", "links", "traffic", "expectations")

Ranges = list[tuple[int, int]]


class Failures(list[dict[str, Any]]):
    """Points without a result: `number`, `parameters`, `seed` and `why` of each."""

    def __repr__(self) -> str:
        return "\n".join(f"{it['parameters']} seed {it['seed']}: {it['why']}" for it in self) or "no failures"


def sweep(
    scenario: str | os.PathLike[str] | Mapping[str, Any] | Scenario,
    *,
    set: Mapping[str, Any] | None = None,
    seeds: int | list[int] | range | None = None,
    executor: int | str | Executor | Any = None,
    store: str | os.PathLike[str] | None = None,
    part: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> SweepResults:
    """Runs all points of a scenario's sweep, and keeps them in a store.

    `executor` is a number of threads of this machine (by default one per core), a `distributed.Client` or the
    address of a scheduler of Dask, the module `ray`, or an object with the interface of
    `ackclock._executors.Executor`. Workers need this package, of the same build.

    `store` is a directory. Points that are in it are not computed again, whichever sweep they were computed
    for; all hosts must reach it under this path. Without one, results are sent to this process, which keeps
    them in a temporary directory until the returned object is gone.

    `part` is the number of points of a part; by default what takes about ten seconds. `progress` is called with
    the number of finished points and of all points.

    A point that fails is told with its settings; the others finish.
    """
    with needed("a sweep", "sweep"):
        import pyarrow.parquet  # noqa: F401
    spec = Scenario(scenario, set=set, seeds=seeds)
    temporary = None if store is not None else tempfile.TemporaryDirectory(prefix="ackclock-")
    kept = Store(store if store is not None else temporary.name)
    points = spec._native.sweep()
    engine = chosen(executor)
    points.check(engine.workers if isinstance(executor, (int, type(None))) else 1)
    driver = _Driver(spec, points, kept, shared=store is not None, part=part, progress=progress)
    failures = driver.run(engine)
    results = SweepResults(spec, points, kept, failures, driver.computed)
    results._temporary = temporary
    if failures:
        first = failures[0]
        warnings.warn(
            f"{len(failures)} of {points.count} points failed; the first: {first['parameters']}, "
            f"seed {first['seed']}: {first['why']}",
            stacklevel=2,
        )
    return results


class _Driver:
    """Gives out the points that are missing, part by part."""

    def __init__(
        self,
        spec: Scenario,
        points: Any,
        store: Store,
        *,
        shared: bool,
        part: int | None,
        progress: Callable[[int, int], None] | None,
    ) -> None:
        self.spec, self.points, self.store = spec, points, store
        self.destination = str(store.path) if shared else None
        self.part = part
        self.progress = progress or (lambda done, all: None)
        self.computed = 0
        # Seconds that a point takes, once one is known.
        self.pace: float | None = None

    def run(self, engine: Executor) -> Failures:
        missing = _missing(self.points, self.store)
        left = sum(to - start for start, to in missing)
        done = self.points.count - left
        failures, under_way = Failures(), {}
        try:
            self.progress(done, self.points.count)
            while left or under_way:
                while left and len(under_way) < self._most_under_way(engine):
                    ranges = _take(missing, self._size(left, engine.workers))
                    left -= sum(to - start for start, to in ranges)
                    under_way[self._submit(engine, ranges)] = sum(to - start for start, to in ranges)
                for handle, result in self._ended(engine, [*under_way]):
                    count = under_way.pop(handle)
                    data, lost, seconds = self._answer(result)
                    if data is not None:
                        self.store.keep(data)
                    failures.extend(_failure(it) for it in lost)
                    self.computed += count
                    done += count
                    self.pace = max(seconds / count, 1e-9) if self.pace is None else 0.5 * (self.pace + seconds / count)
                    self.progress(done, self.points.count)
        except NotKept as error:
            raise failed(
                f"what was finished cannot be kept in {error}",
                f"at least {done} of {self.points.count} points are kept there; make room and run the same again",
            ) from error
        except KeyboardInterrupt:
            kept = self.destination and f"at least {done} of {self.points.count} points are kept in {self.destination}"
            raise KeyboardInterrupt(kept or "nothing is kept: there is no store") from None
        finally:
            engine.close([*under_way])
        failures.sort(key=lambda it: it["number"])
        return failures

    def _most_under_way(self, engine: Executor) -> int:
        return engine.workers * (_AHEAD if self.pace is not None or self.part else 1)

    def _submit(self, engine: Executor, ranges: Ranges) -> Any:
        return engine.submit(_compute, self.spec, ranges, self.destination, build())

    def _size(self, left: int, workers: int) -> int:
        """The number of points of the next part."""
        if self.part:
            return self.part
        if self.pace is None:
            return _FIRST
        # Towards the end parts are smaller, so that workers end at about the same time.
        fair = left // (2 * workers) + 1
        return max(1, min(int(_PART_SECONDS / self.pace), fair, _MOST))

    def _ended(self, engine: Executor, handles: list[Any]) -> Any:
        try:
            return engine.wait(handles)
        except Exception as error:  # such as a scheduler that is gone, or workers
            raise self._lost(error) from error

    def _lost(self, error: Exception) -> _native.Error:
        return failed(
            f"a part of the sweep could not be computed: {type(error).__name__}: {error}",
            f"finished points are kept in {self.destination or 'no store'}; run the same again to go on",
        )

    def _answer(self, result: Callable[[], Any]) -> Any:
        """What a task returned."""
        try:
            return result()
        except (_native.Error, NotKept):
            raise
        except Exception as error:  # such as a task that took too many workers with it
            raise self._lost(error) from error


def _failure(it: tuple[int, str, int | None, str]) -> dict[str, Any]:
    number, parameters, seed, why = it
    return {"number": number, "parameters": json.loads(parameters), "seed": seed, "why": why}


def _take(missing: Ranges, count: int) -> Ranges:
    """Takes so many points off the front."""
    taken: Ranges = []
    while missing and count:
        start, to = missing[0]
        upto = min(to, start + count)
        taken.append((start, upto))
        count -= upto - start
        if upto == to:
            missing.pop(0)
        else:
            missing[0] = (upto, to)
    return taken


def _missing(points: Any, store: Store) -> Ranges:
    """The points that are not in the store."""
    parts = [digests for digests in map(store.digests, store.names()) if digests]
    if not parts:
        return [(0, points.count)]
    return _native.locate(points.digests(0, points.count), parts)[1]


@lru_cache(maxsize=4)
def _points(state: str) -> Any:
    """The sweep of a scenario, which tasks of the same sweep share."""
    scenario = Scenario.__new__(Scenario)
    source, settings = json.loads(state)
    scenario.__setstate__((tuple(source), [tuple(setting) for setting in settings]))
    return scenario._native.sweep()


def _compute(
    spec: Scenario, ranges: Ranges, destination: str | None, wanted: str, stop: threading.Event | None = None
) -> Any:
    """A task: computes points, and keeps them where they are wanted. Runs on a worker. `stop` ends it."""
    import pyarrow

    if wanted != build():
        raise failed(
            f"this worker has the build {build()}, and the sweep is of the build {wanted}",
            "install the same build on all hosts: another one may give other results",
        )
    points = _points(json.dumps(spec.__getstate__()))
    rows, lost, seconds = points.compute(ranges, 1, stop)
    data = encoded(pyarrow.record_batch(rows)) if len(rows) else None
    if data is not None and destination is not None:
        Store(destination).keep(data)
        data = None
    return data, lost, seconds


class SweepResults(Tables):
    """The results of a sweep, in a store.

    Tables are those of `ackclock.run` without series. They are read when they are asked for, part by part:
    `batches` and `to_parquet` never hold more than some thousands of points.
    """

    def __init__(
        self, scenario: Scenario, points: Any, store: Store, failures: Failures, computed: int
    ) -> None:
        self.scenario, self.failures, self.computed = scenario, failures, computed
        self._points, self._store = points, store
        self._places: array[int] | None = None
        self._names: list[str] = []
        self._temporary: Any = None

    def __len__(self) -> int:
        return self._points.count

    @property
    def store(self) -> Path:
        """The directory of the store."""
        return self._store.path

    def _locate(self) -> array[int]:
        """For each point the number of its part and of its row there."""
        if self._places is None:
            read = [(name, self._store.digests(name)) for name in self._store.names()]
            readable = [(name, digests) for name, digests in read if digests]
            self._names = [name for name, _ in readable]
            digests = self._points.digests(0, self._points.count)
            places = array("I")
            found, missing = _native.locate(digests, [digests for _, digests in readable])
            lost = sum(to - start for start, to in missing) - len(self.failures)
            if lost > 0:
                raise failed(
                    f"{lost} of {len(self)} points are no longer in the store {self.store}",
                    "run the same sweep again: it computes what is missing",
                )
            places.frombytes(found)
            self._places = places
        return self._places

    def batches(self, name: str = "points", *, points: int = 16_384) -> Iterator[Table]:
        """A table in pieces of so many points, in the order of the sweep."""
        if name not in KEPT:
            raise failed(f"a sweep keeps no table {name!r}", f"there are {', '.join(KEPT)}")
        places, cache = self._locate(), {}
        columns = self._points.columns(name)
        for start in range(0, len(self), points):
            rows, numbers = self._rows(places, start, min(start + points, len(self)), columns, cache)
            if numbers:
                yield Table(self._points.table(name, rows, numbers))

    def _rows(
        self, places: array[int], start: int, stop: int, columns: list[str], cache: dict[int, Any]
    ) -> tuple[Any, list[int]]:
        """The rows of points, in order, with their numbers. Points that failed have none. `cache` has the parts
        that the rows before were in."""
        import pyarrow

        wanted: dict[int, list[int]] = {}
        order, numbers = [], []
        for number in range(start, stop):
            part, row = places[2 * number], places[2 * number + 1]
            if part == 0xFFFFFFFF:
                continue
            rows = wanted.setdefault(part, [])
            order.append((part, len(rows)))
            rows.append(row)
            numbers.append(number)
        for part in [part for part in cache if part not in wanted]:
            del cache[part]
        offsets, pieces, before = {}, [], 0
        for part, rows in wanted.items():
            if part not in cache:
                cache[part] = self._store.read(self._names[part], columns)
            offsets[part] = before
            before += len(rows)
            pieces.append(cache[part].take(pyarrow.array(rows)))
        if not pieces:
            return None, []
        joined = pyarrow.Table.from_batches(pieces).combine_chunks()
        places = [offsets[part] + at for part, at in order]
        if places != sorted(places):  # parts of this sweep follow each other; those of others may not
            joined = joined.take(pyarrow.array(places)).combine_chunks()
        return joined.to_batches()[0], numbers

    def table(self, name: str = "points") -> Table:
        """The whole table of this name."""
        import pyarrow

        pieces = [pyarrow.record_batch(piece._batch) for piece in self.batches(name)]
        if not pieces:
            raise failed("there are no points in it", "see the failures")
        whole = pyarrow.Table.from_batches(pieces).combine_chunks().to_batches()
        return Table(_native.Batch.of(whole[0] if whole else pieces[0]))

    def to_parquet(self, path: str | os.PathLike[str], name: str = "points") -> None:
        """Writes a table into one Parquet file. It depends on the points only, and not on how the work was
        divided."""
        from pyarrow import parquet, record_batch

        path = Path(path)
        batches = (record_batch(piece._batch) for piece in self.batches(name))
        first = next(batches, None)
        if first is None:
            raise failed("there are no points in it", "see the failures")
        try:
            with replacing(path) as file, parquet.ParquetWriter(file, first.schema, compression="zstd") as writer:
                for batch in chain([first], batches):
                    writer.write_batch(batch)
        except OSError as error:
            raise failed(
                f"the table {name} cannot be written to {path}: {error}", "make room there, or give another path"
            ) from error

    def __repr__(self) -> str:
        return (
            f"<SweepResults of {len(self)} points, {self.computed} of them computed now, "
            f"{len(self.failures)} failed, in {self.store}>"
        )
