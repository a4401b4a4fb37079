"""What a type checker sees of the package. It is checked, and never run."""

from pathlib import Path
from typing import assert_type

import ackclock
import ackclock.gym
from ackclock.gym import Aurora, Policy

results = ackclock.run("mine.toml", set={"flows.0.control": "cubic"}, seeds=range(5))
assert_type(results, ackclock.Results)
assert_type(results.groups, ackclock.Table)
assert_type(results.holds, bool)
assert_type(ackclock.compare("reno", "cubic").links.columns, list[str])

swept = ackclock.sweep(ackclock.Scenario("mine.toml"), executor=4, store=Path("points"))
assert_type(swept, ackclock.SweepResults)
assert_type(swept.flows, ackclock.Table)
assert_type(swept.store, Path)
swept.to_parquet("flows.parquet", "flows")

environment = ackclock.gym.Aurora(history=5)
assert_type(environment, Aurora)
assert_type(Policy.load("policy.json"), Policy)

try:
    ackclock.reproduce("ltcp", store="points")
except ackclock.Error as error:
    assert_type(error.remedy, str | None)

# Mistakes that are found.
ackclock.run("mine.toml", seed=1)  # type: ignore[call-arg]
ackclock.sweep("mine.toml", store=5)  # type: ignore[arg-type]
results.nothing  # type: ignore[attr-defined]
swept.series  # type: ignore[attr-defined]
