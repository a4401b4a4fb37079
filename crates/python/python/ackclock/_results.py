"""Results: Arrow tables, and pictures."""

from __future__ import annotations

import json
from collections.abc import Iterator
from html import escape
from typing import Any

# Rows of a table, and pictures, that notebooks show.
_ROWS = 20
_PICTURES = 12


class Table:
    """An Arrow table. pandas, polars, pyarrow and duckdb read it as it is (`__arrow_c_stream__`)."""

    def __init__(self, batch: Any) -> None:
        self._batch = batch

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._batch.__arrow_c_stream__(requested_schema)

    def __len__(self) -> int:
        return len(self._batch)

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return self._batch.columns

    def to_arrow(self) -> Any:
        """As a `pyarrow.Table`."""
        import pyarrow

        return pyarrow.table(self)

    def to_pandas(self, **options: Any) -> Any:
        """As a `pandas.DataFrame`, by pyarrow. `options` are those of `pyarrow.Table.to_pandas`."""
        return self.to_arrow().to_pandas(**options)

    def to_polars(self) -> Any:
        """As a `polars.DataFrame`."""
        import polars

        return polars.DataFrame(self)

    def to_pylist(self, start: int = 0, rows: int | None = None) -> list[dict[str, Any]]:
        """Rows as dictionaries."""
        return json.loads(self._batch.records(start, len(self) if rows is None else rows))

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for start in range(0, len(self), 1024):
            yield from self.to_pylist(start, 1024)

    def __getitem__(self, column: str) -> list[Any]:
        if column not in self.columns:
            raise KeyError(f"there is no column {column!r}; there are {', '.join(self.columns)}")
        return [row[column] for row in self]

    def __repr__(self) -> str:
        return f"<Table of {len(self)} rows: {', '.join(self.columns)}>"

    def _repr_html_(self) -> str:
        return _html(self)


class Tables:
    """What has tables, by their names."""

    def table(self, name: str) -> Table:
        """The table of this name."""
        raise NotImplementedError

    @property
    def points(self) -> Table:
        """A row per point."""
        return self.table("points")

    @property
    def flows(self) -> Table:
        """A row per flow and point."""
        return self.table("flows")

    @property
    def groups(self) -> Table:
        """A row per group of flows and point."""
        return self.table("groups")

    @property
    def links(self) -> Table:
        """A row per link and point."""
        return self.table("links")

    @property
    def traffic(self) -> Table:
        """A row per unresponsive stream and point."""
        return self.table("traffic")

    @property
    def expectations(self) -> Table:
        """A row per expectation and point."""
        return self.table("expectations")


class Results(Tables):
    """The results of all points of a scenario.

    Each table has the parameters of the sweep first. `points` has a row per point; `flows`, `groups`, `links`,
    `traffic` and `expectations` one for each of these in each point. `series`, `link_series` and `variables`
    are what probes saw over time; they are empty without probes. `timing` says how long points took.
    """

    def __init__(self, native: Any) -> None:
        self._native = native
        self._tables: dict[str, Table] = {}

    def table(self, name: str) -> Table:
        """The table of this name."""
        if name not in self._tables:
            try:
                self._tables[name] = Table(self._native.table(name))
            except KeyError:
                raise KeyError(f"there is no table {name!r}; there are {', '.join(TABLES)}") from None
        return self._tables[name]

    @property
    def series(self) -> Table:
        """Flows over time: a row per look."""
        return self.table("series")

    @property
    def link_series(self) -> Table:
        """Links over time: a row per look."""
        return self.table("link_series")

    @property
    def variables(self) -> Table:
        """Controllers' own variables over time."""
        return self.table("variables")

    @property
    def timing(self) -> Table:
        """The wall time of each point."""
        return self.table("timing")

    @property
    def holds(self) -> bool:
        """True if everything that was expected holds."""
        return self._native.holds

    @property
    def warnings(self) -> list[str]:
        """What makes the results different from what the scenario seems to ask for."""
        return self._native.warnings

    @property
    def axes(self) -> list[str]:
        """The names of the axes."""
        return self._native.axes

    def to_json(self) -> str:
        """The document that `ackclock run --json` prints."""
        return self._native.to_json()

    def to_dict(self) -> dict[str, Any]:
        """The same, parsed."""
        return json.loads(self.to_json())

    def pictures(self) -> dict[str, str]:
        """The pictures of the report: titles, and each as SVG."""
        return {title: svg for _, title, svg in self._native.pictures()}

    def plot(self, column: str = "goodput_bps", *, ax: Any = None) -> Any:
        """Draws a column of `series` over time with matplotlib, a line per flow. Returns the axes."""
        from ackclock._plot import plot

        return plot(self, column, ax)

    def __len__(self) -> int:
        return len(self._native)

    def __repr__(self) -> str:
        return f"<Results of {self._native.name!r}, {len(self)} points>"

    def _repr_html_(self) -> str:
        parts = [f"<h4>{escape(self._native.name)}</h4>", _html(self.groups)]
        parts += [f"<p>{escape(warning)}</p>" for warning in self.warnings]
        failing = [row for row in self.expectations if not row["holds"]]
        parts += [f"<p>does not hold: <code>{escape(row['that'])}</code></p>" for row in failing]
        parts += [svg for _, _, svg in self._native.pictures()[:_PICTURES]]
        return "\n".join(parts)


TABLES = (
    "points",
    "flows",
    "groups",
    "links",
    "traffic",
    "expectations",
    "series",
    "link_series",
    "variables",
    "timing",
)


def _html(table: Table) -> str:
    """The first rows of a table. Columns without any value in them are left out."""
    rows = table.to_pylist(0, _ROWS)
    columns = [name for name in table.columns if any(row[name] not in (None, []) for row in rows)]
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    lines = ["".join(f"<td>{escape(_shown(row[name]))}</td>" for name in columns) for row in rows]
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    more = f"<p>{len(table) - _ROWS} more rows</p>" if len(table) > _ROWS else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list):
        return f"{len(value)} values"
    return "" if value is None else str(value)
