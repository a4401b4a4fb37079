"""The environments: one run each, or many at once in threads of the engine."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from ackclock import _native
from ackclock._scenario import Scenario

# The ranges of what is observed of an interval: latency inflation, latency ratio, send ratio.
_LEAST = np.array([-1.0, 1.0, 0.0], dtype=np.float32)
_MOST = np.array([10.0, 10_000.0, 1000.0], dtype=np.float32)
# What `info` tells of the last interval.
_TOLD = ("rate", "throughput", "latency", "loss", "time", "sent")
# PCC-RL: 0.001 (10 throughput - 1000 latency - 2000 loss), in packets per second, seconds, and a share.
_REWARD = (0.01, 1.0, 2.0)


class _Runs:
    """The engine's environments, and the arrays into which they write."""

    def __init__(
        self,
        scenario: tuple[_native.Scenario, str] | None,
        count: int,
        runs: int,
        threads: int,
        history: int,
        interval: float,
        scale: float,
        steps: int,
        limit: float,
        reward: tuple[float, float, float],
    ) -> None:
        if count < 1 or not 1 <= history <= 100 or not 0.1 <= interval <= 10 or not limit > 0:
            raise _native.Error("at least one environment, a history of 1 to 100, an interval of 0.1 to 10, a limit above 0")
        self.observation_space = Box(np.tile(_LEAST, history), np.tile(_MOST, history), dtype=np.float32)
        self.action_space = Box(-limit, limit, (1,), dtype=np.float32)
        self.seen = np.zeros((count, 3 * history), dtype=np.float32)
        self.rewards = np.zeros(count)
        self.over = np.zeros(count, dtype=np.uint8)
        self.told = np.zeros((count, len(_TOLD)))
        self.actions = np.zeros(count)
        numbers = float(interval), float(scale), steps, tuple(map(float, reward))
        self.native = _native.Environments(scenario, count, runs, threads, history, *numbers, self)
        self.reset, self.step = self.native.reset, self.native.step


def _scenario(
    source: str | os.PathLike[str] | Mapping[str, Any] | Scenario, flow: str | None, set: Mapping[str, Any] | None
) -> tuple[_native.Scenario, str]:
    scenario = Scenario(source, set=set)
    if flow is None:
        first = scenario.to_dict()["flows"][0]
        control = first.get("control", "")
        flow = first.get("label") or (control if isinstance(control, str) else next(iter(control)))
    return scenario._native, flow


class _Environment(gymnasium.Env):
    metadata = {"render_modes": []}

    def __init__(self, runs: _Runs) -> None:
        self._runs = runs
        self.observation_space, self.action_space = runs.observation_space, runs.action_space
        self._seen, self._told = runs.seen[0], runs.told[0]
        self._begun = False

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        super().reset(seed=seed)
        if seed is None and not self._begun:
            seed = int(self.np_random.integers(2**53))
        self._begun = True
        self._runs.reset(seed)
        return self._seen.copy(), self._info()

    def step(self, action):
        runs = self._runs
        runs.actions[0] = action[0]
        runs.step()
        return self._seen.copy(), runs.rewards.item(), False, bool(runs.over[0]), self._info()

    def _info(self) -> dict[str, float]:
        return dict(zip(_TOLD, self._told.tolist(), strict=True))


class Aurora(_Environment):
    """The training environment of PCC-RL: one flow over a path that is drawn for each episode.

    An episode has `steps` steps, each a monitor interval of `interval` round-trip times.
    """

    def __init__(
        self,
        *,
        history: int = 10,
        interval: float = 0.5,
        scale: float = 0.025,
        steps: int = 400,
        limit: float = 1.0,
        reward: tuple[float, float, float] = _REWARD,
        render_mode: None = None,
    ) -> None:
        super().__init__(_Runs(None, 1, 1, 1, history, interval, scale, steps, limit, reward))


class Flow(_Environment):
    """A flow of any scenario. The episode ends when the run does, or after `steps` steps.

    `scenario` and `set` are those of `ackclock.run`. `flow` is the label of the group whose first flow is
    steered, whatever its control; without it, that of the first group.
    """

    def __init__(
        self,
        scenario: str | os.PathLike[str] | Mapping[str, Any] | Scenario,
        *,
        flow: str | None = None,
        set: Mapping[str, Any] | None = None,
        history: int = 10,
        interval: float = 1.0,
        scale: float = 0.025,
        steps: int = 0,
        limit: float = 1.0,
        reward: tuple[float, float, float] = _REWARD,
        render_mode: None = None,
    ) -> None:
        over = _scenario(scenario, flow, set)
        super().__init__(_Runs(over, 1, 1, 1, history, interval, scale, steps, limit, reward))


class _Vector(VectorEnv):
    metadata = {"render_modes": [], "autoreset_mode": AutoresetMode.NEXT_STEP}

    def __init__(self, runs: _Runs, num_envs: int) -> None:
        self._runs, self.num_envs = runs, num_envs
        self.single_observation_space, self.single_action_space = runs.observation_space, runs.action_space
        self.observation_space = batch_space(runs.observation_space, num_envs)
        self.action_space = batch_space(runs.action_space, num_envs)
        self._begun = False

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        super().reset(seed=seed)
        if seed is None and not self._begun:
            seed = int(self.np_random.integers(2**53))
        self._begun = True
        self._runs.reset(seed)
        return self._runs.seen.copy(), self._info()

    def step(self, actions):
        runs = self._runs
        runs.actions[:] = np.asarray(actions, dtype=np.float64).reshape(self.num_envs)
        runs.step()
        over = runs.over.astype(np.bool_)
        return runs.seen.copy(), runs.rewards.copy(), np.zeros_like(over), over, self._info()

    def _info(self) -> dict[str, np.ndarray]:
        told = self._runs.told.copy()
        return {name: told[:, column] for column, name in enumerate(_TOLD)}


def _threads(threads: int | None, num_envs: int) -> int:
    return max(1, min(threads or os.cpu_count() or 1, num_envs))


class VectorAurora(_Vector):
    """Many `Aurora` environments, computed in threads of the engine. The results do not depend on their number.

    `runs`: so many environments differ; those after them have the same paths again, so that several policies
    can be compared over the same ones.
    """

    def __init__(
        self,
        num_envs: int = 1,
        *,
        threads: int | None = None,
        runs: int | None = None,
        history: int = 10,
        interval: float = 0.5,
        scale: float = 0.025,
        steps: int = 400,
        limit: float = 1.0,
        reward: tuple[float, float, float] = _REWARD,
        render_mode: None = None,
    ) -> None:
        threads, runs = _threads(threads, num_envs), runs or num_envs
        super().__init__(_Runs(None, num_envs, runs, threads, history, interval, scale, steps, limit, reward), num_envs)


class VectorFlow(_Vector):
    """Many `Flow` environments over the same scenario, with seeds of their own, computed in threads."""

    def __init__(
        self,
        scenario: str | os.PathLike[str] | Mapping[str, Any] | Scenario,
        num_envs: int = 1,
        *,
        threads: int | None = None,
        runs: int | None = None,
        flow: str | None = None,
        set: Mapping[str, Any] | None = None,
        history: int = 10,
        interval: float = 1.0,
        scale: float = 0.025,
        steps: int = 0,
        limit: float = 1.0,
        reward: tuple[float, float, float] = _REWARD,
        render_mode: None = None,
    ) -> None:
        over, threads = _scenario(scenario, flow, set), _threads(threads, num_envs)
        super().__init__(_Runs(over, num_envs, runs or num_envs, threads, history, interval, scale, steps, limit, reward), num_envs)
