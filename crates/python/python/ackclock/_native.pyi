"""The engine. The package `ackclock` gives what is here names for people."""

from threading import Event
from typing import Any, final

__version__: str

class Error(Exception):
    """Bad input, or something that failed. Its text is what the command line prints."""

    message: str
    remedy: str | None
    line: int | None
    key: str | None

@final
class Batch:
    columns: list[str]
    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __len__(self) -> int: ...
    def records(self, start: int, most: int) -> str: ...
    @staticmethod
    def of(batch: Any) -> Batch: ...

@final
class Scenario:
    name: str
    text: str
    @staticmethod
    def of_file(path: str) -> Scenario: ...
    @staticmethod
    def of_text(name: str, text: str) -> Scenario: ...
    @staticmethod
    def of_json(name: str, json: str) -> Scenario: ...
    @staticmethod
    def of_comparison(
        controls: list[str],
        path: tuple[str, str, str, float, str],
        duration: str,
        flows: int,
        seed: int,
        seeds: int | None,
        tcp: tuple[str | None, str | None, str | None],
    ) -> Scenario: ...
    def with_values(self, settings: list[tuple[str, str]]) -> Scenario: ...
    def to_toml(self) -> str: ...
    def to_json(self) -> str: ...
    def sweep(self) -> Sweep: ...

@final
class Results:
    axes: list[str]
    holds: bool
    name: str
    warnings: list[str]
    def table(self, name: str) -> Batch: ...
    def to_json(self) -> str: ...
    def pictures(self) -> list[tuple[str, str, str]]: ...
    def __len__(self) -> int: ...

@final
class Sweep:
    axes: list[tuple[str, str]]
    count: int
    def check(self, at_once: int) -> None: ...
    def compute(
        self, ranges: list[tuple[int, int]], threads: int, stop: Event | None = None
    ) -> tuple[Batch, list[tuple[int, str, int | None, str]], float]: ...
    def digests(self, start: int, to: int) -> bytes: ...
    def columns(self, name: str) -> list[str]: ...
    def table(self, name: str, points: Any, numbers: list[int]) -> Batch: ...

@final
class Environments:
    def __init__(
        self,
        scenario: tuple[Scenario, str] | None,
        count: int,
        runs: int,
        threads: int,
        history: int,
        interval: float,
        scale: float,
        steps: int,
        reward: tuple[float, float, float],
        arrays: Any,
    ) -> None: ...
    def reset(self, seed: int | None) -> None: ...
    def seeds(self) -> list[int]: ...
    def step(self) -> None: ...

@final
class Path:
    """The state of a connection. Times are in seconds, what is sent in segments."""

    now: float
    srtt: float
    rtt_min: float
    in_flight: float
    una: int
    nxt: int
    delivered: int
    peer_window: float
    segment_bytes: int
    cwnd_limited: bool
    recovering: bool

@final
class Ack:
    """An acknowledgement."""

    acked: float
    sacked: int
    lost: int
    marked: int
    rtt: float | None
    draw: float
    forward: float | None
    rate: float | None
    app_limited: bool

@final
class Window:
    """What a controller decides: segments, segments, and bit/s or None."""

    cwnd: float
    ssthresh: float
    pacing: float | None

def run(
    scenario: Scenario, probes: bool, threads: int | None, controllers: list[tuple[str, Any]]
) -> Results: ...
def build(library: str) -> str: ...
def locate(digests: bytes, parts: list[bytes]) -> tuple[bytes, list[tuple[int, int]]]: ...
def predict_capture(
    path: str, stream: int | None, threshold: str | None, samples: int | None, until_low: bool
) -> str: ...
def predict_scenario(scenario: Scenario, options: list[tuple[str, str]]) -> str: ...
def trace(path: str, stream: int | None) -> str: ...
def reproduce(what: str, seeds_max: int, store: str | None, threads: int | None, build: str) -> str: ...
def list() -> str: ...
def show(name: str, kind: str | None) -> str: ...
