"""Trains a policy in Aurora-v0 with evolution strategies, saves it, and shows what it does beside CUBIC.

Source of the method: T. Salimans et al., "Evolution Strategies as a Scalable Alternative to Reinforcement
Learning", 2017. Candidates are the policy plus and minus noise; all of them meet the same paths.
"""

import argparse
import pathlib
import time

import numpy as np

import ackclock
from ackclock.gym import Policy, VectorAurora

HISTORY, HIDDEN = 10, 8
SHAPES = [(HIDDEN, 3 * HISTORY), (HIDDEN,), (1, HIDDEN), (1,)]
# A path for a look at the result: 20 Mbit/s, 40 ms, room for one bandwidth-delay product.
LOOK = {
    "duration": "60 s",
    "measure": ["20 s", "60 s"],
    "topology": {"dumbbell": {"bottleneck": {"rate": "20 Mbit/s", "delay": "20 ms", "queue": {"droptail": "1 bdp"}}}},
}




def unpack(parameters):
    """The weights of each layer; the first axis of `parameters`, if there are two, are candidates."""
    parts, start = [], 0
    for shape in SHAPES:
        size = int(np.prod(shape))
        parts.append(parameters[..., start : start + size].reshape(*parameters.shape[:-1], *shape))
        start += size
    return parts


def decide(parts, observations):
    """The actions of all candidates: candidate, path, input to candidate, path."""
    first, first_bias, second, second_bias = parts
    hidden = np.tanh(np.einsum("cpi,coi->cpo", observations, first) + first_bias[:, None, :])
    return np.einsum("cpi,coi->cpo", hidden, second)[..., 0] + second_bias


def fitness(environment, candidates, paths, steps, seed):
    """The mean reward of a step of each candidate, over the same paths."""
    parts = unpack(candidates)
    observations, _ = environment.reset(seed=seed)
    total = np.zeros((len(candidates), paths))
    for _ in range(steps):
        actions = decide(parts, observations.reshape(len(candidates), paths, -1))
        observations, rewards, _, _, _ = environment.step(actions.reshape(-1, 1))
        total += rewards.reshape(total.shape)
    return (total / steps).mean(axis=1)


def train(iterations, population, paths, steps, seed):
    draws = np.random.default_rng(seed)
    count = sum(int(np.prod(shape)) for shape in SHAPES)
    parameters = draws.normal(0, 0.1, count)
    parameters[-HIDDEN - 1 :] = 0.0  # at first the rate stays as it is
    momentum, noise, rate = np.zeros(count), 0.1, 0.1
    environment = VectorAurora(2 * population * paths, runs=paths, steps=0)
    for iteration in range(iterations):
        directions = draws.normal(size=(population, count))
        candidates = np.concatenate([parameters + noise * directions, parameters - noise * directions])
        rewards = fitness(environment, candidates, paths, steps, seed=seed * 1_000_003 + iteration)
        ranks = rewards.argsort().argsort() / (len(rewards) - 1) - 0.5
        gradient = (ranks[:population] - ranks[population:]) @ directions / population
        momentum = 0.9 * momentum + 0.1 * gradient / (np.linalg.norm(gradient) + 1e-9)
        parameters = parameters + rate * momentum * np.sqrt(count) * 0.2
        if iteration % 10 == 0 or iteration == iterations - 1:
            print(f"{iteration:4}: mean reward of a step {rewards.mean():.3f}, best {rewards.max():.3f}", flush=True)
    first, first_bias, second, second_bias = unpack(parameters)
    return Policy([(first, first_bias, "tanh"), (second, second_bias, "identity")])


def judged(policy, paths, steps, seed):
    """The mean reward of a step over paths that training has not met."""
    environment = VectorAurora(paths, steps=0)
    observations, _ = environment.reset(seed=seed)
    total = 0.0
    for _ in range(steps):
        observations, rewards, _, _, _ = environment.step(policy(observations))
        total += rewards.mean()
    return total / steps


def look(file):
    """What the policy does alone, and beside CUBIC."""
    control = {"policy": {"file": str(file)}}
    for name, flows in [
        ("alone", [{"control": control}]),
        ("beside cubic", [{"control": control}, {"control": "cubic"}]),
        ("cubic alone", [{"control": "cubic"}]),
    ]:
        results = ackclock.run({**LOOK, "flows": flows}, probes=False)
        for row in results.flows.to_pylist():
            print(f"{name}: {row['label']} {row['goodput_bps'] / 1e6:.2f} Mbit/s, RTT {row['rtt_mean_s'] * 1e3:.0f} ms")


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--iterations", type=int, default=120)
    options.add_argument("--population", type=int, default=8, help="pairs of candidates")
    options.add_argument("--paths", type=int, default=8, help="paths on which each candidate is judged")
    options.add_argument("--steps", type=int, default=60)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--out", type=pathlib.Path, default=pathlib.Path("policy.json"))
    asked = options.parse_args()
    begun = time.monotonic()
    policy = train(asked.iterations, asked.population, asked.paths, asked.steps, asked.seed)
    seconds = time.monotonic() - begun
    steps = asked.iterations * 2 * asked.population * asked.paths * asked.steps
    print(f"{steps} steps in {seconds:.0f} s")
    policy.save(asked.out, f"Aurora-v0, evolution strategies, {asked.iterations} iterations, seed {asked.seed}")
    still = Policy([(np.zeros((1, 3 * HISTORY)), np.zeros(1), "identity")])
    print(f"over 64 other paths: {judged(policy, 64, asked.steps, 10**6):.3f} a step; "
          f"a rate that stays as it is: {judged(still, 64, asked.steps, 10**6):.3f}")
    look(asked.out.resolve())


if __name__ == "__main__":
    main()
