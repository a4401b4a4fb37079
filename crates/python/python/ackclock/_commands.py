"""What the command line does, as functions."""

from __future__ import annotations

import builtins
import json
import os
from collections.abc import Callable, Mapping
from html import escape
from typing import Any

from ackclock import _native
from ackclock._build import build
from ackclock._results import Results
from ackclock._scenario import Scenario


def run(
    scenario: str | os.PathLike[str] | Mapping[str, Any] | Scenario,
    *,
    set: Mapping[str, Any] | None = None,
    seeds: int | builtins.list[int] | range | None = None,
    probes: bool = True,
    threads: int | None = None,
    controllers: Mapping[str, Callable[[], Any]] | None = None,
) -> Results:
    """Simulates a scenario. A sweep runs all its points in parallel, and keeps all results in memory.

    `probes` says whether what is seen over time is kept. `threads` is the number of points that run at once;
    by default one per core.

    `controllers` are controllers in Python, which flows may name: a class for each, of which every connection
    has an instance. It has `grow(self, path, ack, w)`, which changes `w.cwnd`, and `cut(self, path, w, why)`,
    which returns the new slow-start threshold or None. Such a run has one thread. An exception ends it.
    """
    read = Scenario(scenario, set=set, seeds=seeds)._native
    return Results(_native.run(read, probes, threads, [*(controllers or {}).items()]))


def compare(
    *controls: str,
    rate: str = "1 Gbit/s",
    rtt: str = "120 ms",
    buffer: str = "1 bdp",
    loss: float = 3e-6,
    duration: str = "60 s",
    queue: str = "droptail",
    stack: str | None = None,
    detection: str | None = None,
    recovery: str | None = None,
    flows: int = 1,
    seed: int = 1,
    seeds: int | None = None,
    probes: bool = True,
    threads: int | None = None,
) -> Results:
    """Compares controllers on one bottleneck, one after the other. The defaults are the command line's."""
    if not controls:
        raise _native.Error('name the controllers to compare: ackclock.compare("reno", "cubic")')
    path = [rate, rtt, buffer, float(loss), queue]
    others = [stack, detection, recovery]
    arguments = [[*controls], path, duration, flows, seed, seeds, others]
    return run(Scenario._comparison(arguments), probes=probes, threads=threads)


def predict(
    source: str | os.PathLike[str] | Mapping[str, Any] | Scenario,
    *,
    set: Mapping[str, Any] | None = None,
    stream: int | None = None,
    flow: str | None = None,
    link: str | None = None,
    threshold: str | None = None,
    samples: int | None = None,
    until_low: bool = False,
) -> dict[str, Any]:
    """Asks whether a flow's delay would have predicted its losses. `source` is a scenario, or a capture of a
    connection with timestamps (.pcap, .pcapng)."""
    if isinstance(source, (str, os.PathLike)) and os.fspath(source).endswith((".pcap", ".pcapng")):
        path = os.fspath(source)
        return json.loads(_native.predict_capture(path, stream, threshold, samples, until_low))
    asked = {"flow": flow, "link": link, "threshold": threshold, "samples": samples}
    options = [(key, json.dumps(value)) for key, value in asked.items() if value is not None]
    options += [("until_low", "true")] if until_low else []
    return json.loads(_native.predict_scenario(Scenario(source, set=set)._native, options))


def trace(capture: str | os.PathLike[str], *, stream: int | None = None) -> dict[str, Any]:
    """The TCP connections of a capture in numbers, as `ackclock trace --json` prints them."""
    return json.loads(_native.trace(os.fspath(capture), stream))


def reproduce(
    what: str = "all",
    *,
    seeds_max: int = 60,
    store: str | os.PathLike[str] | None = None,
    threads: int | None = None,
) -> dict[str, Any]:
    """Runs published experiments again, and judges their claims. The document is that of `ackclock reproduce
    --json`. Finished points are kept in the directory `store`, if it is given, and do not run again. Where more
    runs need more memory than there is, claims stay undecided, and a warning names their experiments."""
    directory = None if store is None else os.fspath(store)
    return json.loads(_native.reproduce(what, seeds_max, directory, threads, build()))


class Entry(dict[str, Any]):
    """What is known of something that is chosen by name."""

    def __repr__(self) -> str:
        lines = [f"{self.get('title', '')} ({self.get('name', self.get('id', ''))})", self.get("summary", "")]
        lines += [f"    {equation}" for equation in self.get("equations", ())]
        for parameter in self.get("parameters", ()):
            unit = f" {parameter['unit']}" if parameter["unit"] else ""
            lines.append(f"  {parameter['name']} = {parameter['default']}{unit}: {parameter['about']}")
        return "\n".join(line for line in lines if line)


class Entries(builtins.list[dict[str, str]]):
    """A list of what can be chosen by name."""

    def __repr__(self) -> str:
        return "\n".join(f"{entry['kind']:12} {entry['name']:24} {entry['what']}" for entry in self)

    def _repr_html_(self) -> str:
        cells = ("kind", "name", "what", "source")
        rows = ("".join(f"<td>{escape(entry[cell])}</td>" for cell in cells) for entry in self)
        head = "".join(f"<th>{cell}</th>" for cell in cells)
        return f"<table><tr>{head}</tr>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>"


KINDS = ("controls", "recoveries", "detections", "slow-starts", "stacks", "queues", "experiments")


def list(what: str | None = None) -> Entries:
    """Controllers, recoveries, detections, slow starts, stacks, queues and experiments, with their sources.
    `what` is one of these kinds."""
    if what is not None and what not in KINDS:
        raise _native.Error(f"there is no kind {what!r}; there are {', '.join(KINDS)}")
    entries = json.loads(_native.list())
    return Entries(entry for entry in entries if what in (None, entry["kind"]))


def show(name: str, *, kind: str | None = None) -> Entry:
    """The equations, parameters, defaults and source of something that is chosen by name."""
    return Entry(json.loads(_native.show(name, kind)))
