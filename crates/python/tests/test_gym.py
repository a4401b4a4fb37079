"""Environments: Gymnasium's own checks, determinism, and what they share with the controller."""

import importlib.util
import json
import subprocess
import sys
import warnings

import gymnasium
import numpy as np
import pytest
from conftest import ROOT
from gymnasium.utils.env_checker import check_env

import ackclock
import ackclock.gym
from ackclock.gym import Aurora, Flow, Policy, VectorAurora, VectorFlow

PATH = {
    "duration": "20 s",
    "topology": {"dumbbell": {"bottleneck": {"rate": "5 Mbit/s", "delay": "20 ms", "loss": 0.001}}},
    "flows": [{"label": "learned", "control": "cubic"}, {"label": "other", "control": "reno"}],
}


@pytest.mark.parametrize("name, options", [("Aurora-v0", {}), ("Scenario-v0", {"scenario": PATH, "flow": "learned"})])
def test_gymnasium_finds_nothing_to_complain_of(name, options):
    environment = gymnasium.make(f"ackclock/{name}", **options)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(environment.unwrapped, skip_render_check=True)


def test_it_is_found_as_an_attribute():
    assert ackclock.gym.Aurora is Aurora


def test_without_gymnasium_it_says_what_to_install():
    code = "import sys; sys.modules['gymnasium'] = None; import ackclock; ackclock.gym"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "pip install 'ackclock[gym]'" in ran.stderr


def _trajectory(environment, steps, seed):
    environment.reset(seed=seed)
    actions = np.random.default_rng(5).uniform(-1, 1, (steps, *environment.action_space.shape))
    return [np.concatenate([np.ravel(part) for part in environment.step(action)[:2]]) for action in actions]


def test_the_same_seed_gives_the_same_trajectory_at_any_number_of_threads():
    trajectories = [_trajectory(VectorAurora(5, threads=threads, steps=30), 70, 3) for threads in (1, 2, 5)]
    for trajectory in trajectories[1:]:
        np.testing.assert_array_equal(trajectory, trajectories[0])
    other = _trajectory(VectorAurora(5, threads=2, steps=30), 70, 4)
    assert not np.array_equal(other, trajectories[0])
    np.testing.assert_array_equal(_trajectory(Aurora(), 20, 3), _trajectory(Aurora(), 20, 3))


def test_a_scenario_has_the_same_trajectories_at_any_number_of_threads():
    trajectories = [_trajectory(VectorFlow(PATH, 4, threads=threads, steps=40), 60, 3) for threads in (1, 2, 4)]
    for trajectory in trajectories[1:]:
        np.testing.assert_array_equal(trajectory, trajectories[0])
    other = _trajectory(VectorFlow(PATH, 4, threads=2, steps=40), 60, 4)
    assert not np.array_equal(other, trajectories[0])


def test_paths_can_be_shared_so_that_actions_are_compared():
    environment = VectorAurora(6, runs=3)
    observations, _ = environment.reset(seed=1)
    np.testing.assert_array_equal(observations[:3], observations[3:])
    _, _, _, _, info = environment.step(np.zeros((6, 1)))
    np.testing.assert_array_equal(info["rate"][:3], info["rate"][3:])
    assert len(set(info["rate"])) == 3


def test_an_action_changes_the_rate_as_published():
    environment = Aurora()
    _, info = environment.reset(seed=7)
    for action, factor in [(1.0, 1.025), (-1.0, 1 / 1.025), (0.0, 1.0), (4.0, 1.1), (100.0, 2.0)]:
        before = info["rate"]
        *_, info = environment.step(np.array([action]))
        assert info["rate"] == pytest.approx(np.clip(before * factor, 40, 1000), rel=1e-9)


def test_the_reward_is_that_of_the_interval():
    environment = Aurora()
    environment.reset(seed=2)
    for _ in range(50):
        _, reward, _, _, info = environment.step(np.array([0.0]))
        expected = 0.001 * (10 * info["throughput"] - 1000 * info["latency"] - 2000 * info["loss"])
        assert reward == pytest.approx(expected)


def test_an_episode_has_400_steps_and_then_another_begins():
    environment = VectorAurora(2, threads=1)
    environment.reset(seed=1)
    action = np.zeros((2, 1))
    ends = [environment.step(action)[3].tolist() for _ in range(401)]
    assert ends[398:] == [[False, False], [True, True], [False, False]]


def test_paths_are_within_the_published_ranges():
    environment = VectorAurora(200)
    environment.reset(seed=1)
    told = [environment.step(np.full((200, 1), 40.0))[4] for _ in range(30)]
    least = np.nanmin([info["latency"] for info in told], axis=0)
    assert 0.1 <= least.min() < 0.2 and 0.8 < np.median(least[least > 0.8]) < 1.2
    fastest = np.max([info["throughput"] for info in told], axis=0)
    assert fastest.max() < 560 and fastest.min() < 250
    losses = np.mean([info["loss"] for info in told[:1]], axis=0)
    assert 0 <= losses.min()


def test_a_scenario_runs_to_its_end():
    environment = Flow(PATH, flow="learned")
    environment.reset(seed=1)
    steps, over = 0, False
    while not over:
        _, _, terminated, over, info = environment.step(np.array([0.0]))
        steps += 1
        assert not terminated
    assert 18 < info["time"] <= 20 and 50 < steps < 500
    with pytest.raises(ackclock.Error, match="no group of flows called"):
        Flow(PATH, flow="nobody")
    with pytest.raises(ackclock.Error, match="2 points"):
        Flow({**PATH, "seeds": 2})
    vector = VectorFlow(PATH, 3, flow="other")
    observations, _ = vector.reset(seed=1)
    assert observations.shape == (3, 30)


def _policy(directory, interval=1.0):
    draws = np.random.default_rng(1)
    layers = [(draws.normal(0, 0.3, (6, 30)), draws.normal(0, 0.1, 6), "tanh"),
              (draws.normal(0, 2, (1, 6)), np.zeros(1), "identity")]
    policy = Policy(layers, interval=interval)
    policy.save(directory / "policy.json", "for a test")
    return policy


def test_a_policy_does_in_a_run_what_it_did_in_the_environment(tmp_path):
    """The same network, asked from outside and as a controller: the same rates at the same instants."""
    policy = _policy(tmp_path)
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(ackclock.Scenario(PATH).to_toml() + "\n")
    environment = Flow(scenario, flow="learned")
    observation, info = environment.reset(seed=1)
    rates, over = {}, False
    while not over:
        rates[info["time"]] = info["rate"]
        observation, _, _, over, info = environment.step(policy(observation))
    seed = environment._runs.native.seeds()[0]
    settings = {"flows.0.control": {"policy": {"file": "policy.json"}}, "probe": "10 ms", "seed": seed}
    results = ackclock.run(scenario, set=settings)
    looks = [row for row in results.variables.to_pylist() if row["name"] == "rate_per_s" and row["flow"] == 0]
    assert len(looks) > 1000
    instants = np.array(sorted(rates))
    # At each look the rate is that of the last interval that began before.
    compared = 0
    for look in looks:
        after = np.searchsorted(instants, look["time_s"])
        # Close to its end an interval has the rate of the last decision.
        if 0 < after < len(instants) and instants[after] - look["time_s"] < 0.02:
            assert look["value"] == pytest.approx(rates[instants[after]], rel=1e-6)
            compared += 1
    assert compared > 30


def test_a_policy_is_written_and_read(tmp_path):
    policy = _policy(tmp_path, interval=0.5)
    again = Policy.load(tmp_path / "policy.json")
    observation = np.random.default_rng(2).uniform(0, 2, (4, 30))
    np.testing.assert_array_equal(policy(observation), again(observation))
    written = json.loads((tmp_path / "policy.json").read_text())
    assert written["history"] == 10 and written["interval"] == 0.5
    with pytest.raises(ackclock.Error, match="layers.0.weights.0"):
        written["history"] = 9
        (tmp_path / "wrong.json").write_text(json.dumps(written))
        ackclock.run(PATH, set={"flows.0.control": {"policy": {"file": str(tmp_path / "wrong.json")}}})


def test_the_example_trains(tmp_path):
    example = ROOT / "crates" / "python" / "examples" / "train_policy.py"
    budget = ["--iterations", "2", "--population", "2", "--paths", "2", "--steps", "10"]
    out = tmp_path / "policy.json"
    ran = subprocess.run(
        [sys.executable, example, *budget, "--out", out], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert ran.returncode == 0, ran.stderr
    assert "beside cubic: cubic" in ran.stdout
    assert Policy.load(out).history == 10


def test_training_improves_what_is_rewarded():
    """A few iterations of the example on few paths: better than at the start, over the same paths."""
    example = ROOT / "crates" / "python" / "examples" / "train_policy.py"
    spec = importlib.util.spec_from_file_location("train_policy", example)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    trained = module.train(iterations=12, population=6, paths=3, steps=25, seed=1)
    still = Policy([(np.zeros((1, 30)), np.zeros(1), "identity")])
    assert module.judged(trained, 12, 25, 5) > module.judged(still, 12, 25, 5)
