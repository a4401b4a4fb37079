"""A policy's network, and its file: what `control = { policy = { file = "..." } }` reads."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence

import numpy as np

FEATURES = ["latency inflation", "latency ratio", "send ratio"]
_ACTIVATIONS = {"tanh": np.tanh, "relu": lambda sums: np.maximum(sums, 0.0), "identity": lambda sums: sums}


class Policy:
    """A feed-forward network over the last intervals. `layers` are (weights, biases, activation) each.

    Weights have a row for each output. `interval` and `scale` are those of the environment in which it was
    trained.
    """

    def __init__(
        self,
        layers: Sequence[tuple[np.ndarray, np.ndarray, str]],
        *,
        interval: float = 0.5,
        scale: float = 0.025,
    ) -> None:
        self.layers = [(np.asarray(w, float), np.asarray(b, float), activation) for w, b, activation in layers]
        self.interval, self.scale = interval, scale
        inputs = self.layers[0][0].shape[1]
        if inputs % len(FEATURES):
            raise ValueError(f"{inputs} inputs are not {len(FEATURES)} for each interval")
        self.history = inputs // len(FEATURES)

    def __call__(self, observations: np.ndarray) -> np.ndarray:
        """The actions for observations, whose last axis are the features."""
        values = np.asarray(observations, float)
        for weights, biases, activation in self.layers:
            values = _ACTIVATIONS[activation](values @ weights.T + biases)
        return values

    def to_json(self, description: str | None = None) -> str:
        """The text of the policy's file."""
        layers = [
            {"weights": weights.tolist(), "biases": biases.tolist(), "activation": activation}
            for weights, biases, activation in self.layers
        ]
        about = {} if description is None else {"description": description}
        policy = {"format": "ackclock policy", "version": 1, **about, "features": FEATURES}
        policy |= {"history": self.history, "interval": self.interval, "scale": self.scale, "layers": layers}
        return json.dumps(policy, allow_nan=False) + "\n"

    def save(self, path: str | os.PathLike[str], description: str | None = None) -> None:
        """Writes the policy's file."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.to_json(description))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Policy:
        """Reads a policy's file."""
        with open(path, encoding="utf-8") as file:
            policy = json.load(file)
        layers = [(layer["weights"], layer["biases"], layer["activation"]) for layer in policy["layers"]]
        return cls(layers, interval=policy["interval"], scale=policy["scale"])
