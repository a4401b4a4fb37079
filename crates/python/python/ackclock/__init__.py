"""Congestion control: simulate, sweep, compare and reproduce.

>>> import ackclock
>>> results = ackclock.compare("reno", "cubic", rate="10 Mbit/s", rtt="40 ms", duration="10 s")
>>> [round(row["utilisation"], 1) for row in results.links.to_pylist() if row["name"] == "bottleneck"]
[1.0, 1.0]

Results are Arrow tables: pandas, polars and pyarrow read them without copying. None of them is needed here.
"""

import builtins
from typing import TYPE_CHECKING

from ackclock._native import Error, __version__
from ackclock._commands import Entries, Entry, compare, list, predict, reproduce, run, show, trace
from ackclock._results import Results, Table
from ackclock._scenario import Scenario
from ackclock._build import build

__all__ = [
    "Entries",
    "Entry",
    "Error",
    "Results",
    "Scenario",
    "SweepResults",
    "Table",
    "__version__",
    "build",
    "compare",
    "gym",
    "list",
    "predict",
    "reproduce",
    "run",
    "show",
    "sweep",
    "trace",
]

if TYPE_CHECKING:
    from ackclock import gym
    from ackclock._sweep import SweepResults, sweep

# What needs other packages is imported when it is first asked for.
_LATER = {
    "sweep": ("ackclock._sweep", "sweep"),
    "SweepResults": ("ackclock._sweep", "SweepResults"),
    "gym": ("ackclock.gym", None),
}


def __getattr__(name: str) -> object:
    if name not in _LATER:
        raise AttributeError(f"module 'ackclock' has no attribute {name!r}")
    from importlib import import_module

    module, attribute = _LATER[name]
    found = import_module(module)
    value = getattr(found, attribute) if attribute else found
    globals()[name] = value
    return value


def __dir__() -> builtins.list[str]:
    return sorted(__all__)
