"""Results drawn with matplotlib."""

from __future__ import annotations

from typing import Any

from ackclock._errors import needed


def plot(results: Any, column: str, ax: Any) -> Any:
    """A column of the flows' series over time, a line per point and flow."""
    with needed("plot", "plot"):
        from matplotlib import pyplot

    series = results.series
    if column not in series.columns:
        raise KeyError(f"there is no column {column!r}; there are {', '.join(series.columns)}")
    if len(series) == 0:
        raise ValueError("there are no series: run with probes=True")
    ax = ax if ax is not None else pyplot.subplots()[1]
    lines: dict[tuple[Any, ...], tuple[list[float], list[float]]] = {}
    for row in series:
        name = tuple(row[axis] for axis in results.axes) + (row["label"], row["flow"], row["seed"])
        times, values = lines.setdefault(name, ([], []))
        times.append(row["time_s"])
        values.append(row[column])
    for (*parameters, label, flow, _), (times, values) in lines.items():
        ax.plot(times, values, label=" ".join(map(str, [*parameters, label, flow])))
    ax.set_xlabel("time, s")
    ax.set_ylabel(column)
    if len(lines) <= 12:
        ax.legend()
    return ax
