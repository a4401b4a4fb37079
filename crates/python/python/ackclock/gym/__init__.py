"""Environments for reinforcement learning, for Gymnasium. Importing this module registers them.

>>> import ackclock.gym, gymnasium
>>> environment = gymnasium.make("ackclock/Aurora-v0")
>>> observation, info = environment.reset(seed=1)
>>> observation, reward, terminated, truncated, info = environment.step(environment.action_space.sample())
"""

from ackclock._errors import needed

with needed("ackclock.gym", "gym"):
    import gymnasium

from ackclock.gym._environments import Aurora, Flow, VectorAurora, VectorFlow
from ackclock.gym._policy import Policy

__all__ = ["Aurora", "Flow", "Policy", "VectorAurora", "VectorFlow"]

for _name, _single, _vector in [("Aurora-v0", Aurora, VectorAurora), ("Scenario-v0", Flow, VectorFlow)]:
    if f"ackclock/{_name}" not in gymnasium.registry:
        gymnasium.register(
            id=f"ackclock/{_name}",
            entry_point=f"ackclock.gym:{_single.__name__}",
            vector_entry_point=f"ackclock.gym:{_vector.__name__}",
        )
