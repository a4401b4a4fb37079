"""Scenarios: from a file, a text, or a dictionary."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from ackclock import _native

# The name of a scenario without a file, in messages.
_UNNAMED = "scenario"


class Scenario:
    """A scenario file, before its sweep is expanded.

    `source` is the path of a file, the text of one (whatever has a line break), a dictionary, or another
    scenario. `set` replaces values: `{"flows.0.control": "cubic"}`. `seeds` is a number of seeds or a list.

    Nothing is checked but the syntax; `ackclock.run` finds the rest.
    """

    def __init__(
        self,
        source: str | os.PathLike[str] | Mapping[str, Any] | Scenario,
        *,
        set: Mapping[str, Any] | None = None,
        seeds: int | list[int] | range | None = None,
    ) -> None:
        if isinstance(source, Scenario):
            self._source, settings = source._source, [*source._settings]
        elif isinstance(source, Mapping):
            self._source, settings = ("json", _UNNAMED, _text(source)), []
        elif isinstance(source, str) and "\n" in source:
            self._source, settings = ("text", _UNNAMED, source), []
        else:
            path = os.fspath(source)
            # Its text travels to other hosts, and names other files relative to itself.
            self._source, settings = ("text", path, _native.Scenario.of_file(path).text), []
        settings += [(key, _text(value)) for key, value in (set or {}).items()]
        if seeds is not None:
            settings.append(("seeds", _text(seeds if isinstance(seeds, int) else [*seeds])))
        self._settings: list[tuple[str, str]] = settings
        self._native = self._read()

    def _read(self) -> _native.Scenario:
        kind, name, text = self._source
        if kind == "comparison":
            controls, path, *numbers, tcp = json.loads(text)
            read = _native.Scenario.of_comparison(controls, tuple(path), *numbers, tuple(tcp))
        else:
            read = (_native.Scenario.of_json if kind == "json" else _native.Scenario.of_text)(name, text)
        return read.with_values(self._settings)

    @classmethod
    def _comparison(cls, arguments: list[Any]) -> Scenario:
        scenario = cls.__new__(cls)
        scenario._source, scenario._settings = ("comparison", "", _text(arguments)), []
        scenario._native = scenario._read()
        return scenario

    def with_values(self, values: Mapping[str, Any]) -> Scenario:
        """A copy with these values set."""
        return Scenario(self, set=values)

    def to_toml(self) -> str:
        """The scenario as TOML, with what was set, without comments."""
        return self._native.to_toml()

    def to_dict(self) -> dict[str, Any]:
        """The scenario as a dictionary."""
        return json.loads(self._native.to_json())

    @property
    def count(self) -> int:
        """The number of points of its sweep, seeds included."""
        return self._native.sweep().count

    @property
    def axes(self) -> dict[str, list[Any]]:
        """The axes of its sweep, with their values."""
        return {name: json.loads(values) for name, values in self._native.sweep().axes}

    def __getstate__(self) -> tuple[Any, ...]:
        return self._source, self._settings

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self._source, self._settings = state
        self._native = self._read()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scenario) and self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<Scenario {self.to_dict().get('name', self._source[1])!r}, {self.count} points>"

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre>{escape(self.to_toml())}</pre>"


def _text(value: Any) -> str:
    """A value as JSON. Numbers and arrays of NumPy are numbers and lists."""
    try:
        return json.dumps(value, default=_plain, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise _native.Error(f"{value!r} cannot be a value of a scenario: {error}") from None


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, range):
        return [*value]
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"a {type(value).__name__} has no form there")
