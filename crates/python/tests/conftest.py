"""What several tests use."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

# A point of it takes some milliseconds.
SMALL = {
    "duration": "2 s",
    "topology": {
        "dumbbell": {
            "bottleneck": {
                "rate": "5 Mbit/s",
                "delay": "10 ms",
                "loss": 0.001,
                "queue": {"droptail": "20 packets"},
            }
        }
    },
    "flows": [{"control": "reno"}],
    "sweep": {"flows.0.control": ["reno", "cubic"]},
    "seeds": 60,
}


@pytest.fixture
def small() -> dict:
    return SMALL
