"""How often a bfloat16 dream frame differs from the float32 one: the figures of docs/decisions/0006-precision.md.

Plays a real game at random, fits a small world model in each number type for a while on the same batches, and
compares predictions of the same weights in both, and of both fits with what the game really did next.

    python benchmarks/precision.py --game atari/pong --updates 300
"""

import argparse
import sys

import torch

from evade.config import EVADE, EnvConfig, WorldModelConfig
from evade.envs.make import make_env, spec
from evade.layers import draw, resample, use_mean
from evade.records import Prediction, Transitions
from evade.world_models import (
    DeterministicWorldModel,
    build_world_model,
    build_world_model_optimiser,
    compare_predictions,
    fit_update,
    predict_with,
)

ENV = EnvConfig(frame_size=(53, 40))
MODEL = WorldModelConfig(
    hidden_size=32, depth=4, num_doublings=1, batch_size=8, warmup_updates=100, learning_rate=1.0, event_layers=EVADE
)


def play(game: str, steps: int, seed: int) -> Transitions:
    """Transitions of random play within episodes, one game."""
    env = make_env(game, seed=seed, config=ENV)
    generator = torch.Generator().manual_seed(seed)
    observation = torch.tensor(env.reset())
    rows = []
    for _ in range(steps):
        action = torch.randint(0, env.spec.num_actions, (1,), generator=generator)
        step = env.step(action.numpy())
        arrived = torch.tensor(step.final_observation[:, -1])
        rows.append((observation, action, arrived, torch.tensor(step.reward), torch.tensor(step.terminated)))
        observation = torch.tensor(step.observation)
    env.close()
    return Transitions(*(torch.cat(field) for field in zip(*rows, strict=True)))


def fit(game: str, precision: str, experience: Transitions, updates: int) -> tuple[DeterministicWorldModel, float]:
    """A world model after so many updates from seed 0, and its last loss."""
    torch.manual_seed(0)
    config = WorldModelConfig(**{**vars(MODEL), "precision": precision})
    model = build_world_model(config, spec(game, ENV)).train()
    optimiser = build_world_model_optimiser(model)
    resample(model)
    generator = torch.Generator().manual_seed(0)
    losses = []
    for _ in range(updates):
        index = torch.randint(0, len(experience.action), (config.batch_size,), generator=generator)
        batch = Transitions(*(field[index] for field in experience))
        losses.append(fit_update(model, optimiser, batch, config.max_gradient_norm)["loss"].item())
    return model.eval(), sum(losses[-20:]) / len(losses[-20:])


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--game", default="atari/pong")
    parser.add_argument("--updates", type=int, default=300)
    parser.add_argument("--frames", type=int, default=200, help="frames to compare, of another episode")
    arguments = parser.parse_args()
    experience, unseen = play(arguments.game, 1000, seed=0), play(arguments.game, arguments.frames, seed=1)
    truth = Prediction(unseen.next_frame, unseen.reward.float(), unseen.terminated)
    for fitted_in in ("float32", "bfloat16"):
        model, loss = fit(arguments.game, fitted_in, experience, arguments.updates)
        draw(model, torch.Generator().manual_seed(0))
        inputs = unseen.observation, unseen.action
        exact, low = (predict_with(model, precision, *inputs) for precision in ("float32", "bfloat16"))
        with use_mean(model):
            told = predict_with(model, fitted_in, *inputs)
        sys.stdout.write(f"{arguments.game}, {arguments.updates} updates in {fitted_in}, last loss {loss:.4f}\n")
        sys.stdout.write(f"  the same weights in float32 and bfloat16: {compare_predictions(exact, low)}\n")
        sys.stdout.write(f"  {fitted_in} and what the game did: {compare_predictions(told, truth)}\n")


if __name__ == "__main__":
    main()
