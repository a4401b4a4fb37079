"""Aurora-v0 beside the environment of PCC-RL, in one process and by processor time.

usage: beside_pcc_rl.py DIRECTORY [SECONDS]

DIRECTORY is a checkout of PCC-RL. Its environment was written for OpenAI's gym, which is no longer kept: the
few names that it takes from there are Gymnasium's here. Both are driven by the same random actions, in turn.
"""

import contextlib
import importlib.util
import io
import os
import random
import sys
import tempfile
import time
import types
from pathlib import Path

import gymnasium
import numpy
from gymnasium.utils import seeding

from ackclock.gym import Aurora

TURNS = 6


def theirs(checkout: Path):
    """The environment of PCC-RL, from its own file."""
    gym = types.ModuleType("gym")
    gym.Env, gym.spaces = gymnasium.Env, gymnasium.spaces
    registration = types.ModuleType("gym.envs.registration")
    registration.register = lambda **_: None
    sys.modules |= {
        "gym": gym,
        "gym.spaces": gymnasium.spaces,
        "gym.envs": types.ModuleType("gym.envs"),
        "gym.envs.registration": registration,
        "gym.utils": types.ModuleType("gym.utils"),
        "gym.utils.seeding": seeding,
    }
    gym.utils, gym.utils.seeding = sys.modules["gym.utils"], seeding
    sys.modules["gym.utils"].seeding = seeding
    file = next(checkout.rglob("network_sim.py"), None)
    if file is None:
        sys.exit(f"{checkout} is no checkout of PCC-RL: it has no network_sim.py")
    sys.path[:0] = [str(file.parent), str(file.parent.parent)]
    # Its configuration reads the command line.
    sys.argv = sys.argv[:1]
    specification = importlib.util.spec_from_file_location("network_sim", file)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module.SimulatedNetworkEnv()


def run_theirs(environment, seconds: float, seed: int) -> tuple[int, int, float]:
    """Steps, packets, and processor time."""
    random.seed(seed)
    numpy.random.seed(seed)
    actions, steps, sent = numpy.random.default_rng(seed), 0, 0
    environment.reset()
    begun = time.process_time()
    while time.process_time() - begun < seconds:
        over = environment.step(actions.uniform(-1, 1, 1))[2]
        steps += 1
        sent += environment.senders[0].sent
        if over:
            environment.reset()
    return steps, sent, time.process_time() - begun


def run_ours(environment: Aurora, seconds: float, seed: int) -> tuple[int, int, float]:
    """The same of Aurora-v0."""
    actions, steps, sent = numpy.random.default_rng(seed), 0, 0
    environment.reset(seed=seed)
    begun = time.process_time()
    while time.process_time() - begun < seconds:
        _, _, _, over, seen = environment.step(actions.uniform(-1, 1, 1))
        steps += 1
        sent += seen["sent"]
        if over:
            environment.reset()
    return steps, sent, time.process_time() - begun


def main() -> None:
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    checkout = Path(sys.argv[1]).resolve()
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 8.0
    silence = contextlib.redirect_stdout(io.StringIO())
    # It writes its log of episodes where it is.
    with tempfile.TemporaryDirectory() as place:
        home = Path.cwd()
        os.chdir(place)
        with silence:
            other = theirs(checkout)
        ours = Aurora()
        turns: dict[str, list] = {"PCC-RL": [], "Aurora-v0": []}
        for seed in range(TURNS):
            with silence:
                turns["PCC-RL"].append(run_theirs(other, seconds, seed))
            turns["Aurora-v0"].append(run_ours(ours, seconds / 4, seed))
        os.chdir(home)
    rates = {}
    print("| environment | steps/s | packets/s | packets per step |\n|---|---|---|---|")
    for name, measured in turns.items():
        steps, sent, spent = (sum(column) for column in zip(*measured, strict=True))
        rates[name] = (steps / spent, sent / spent)
        print(f"| {name} | {steps / spent:.0f} | {sent / spent:.0f} | {sent / steps:.0f} |")
    ratios = [ours / other for ours, other in zip(rates["Aurora-v0"], rates["PCC-RL"], strict=True)]
    print(f"\nsteps: {ratios[0]:.1f} times as many, packets: {ratios[1]:.1f} times")


if __name__ == "__main__":
    main()
