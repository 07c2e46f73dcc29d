import pytest
import torch

from evade.config import EvaluationConfig
from evade.envs.settings import EnvConfig
from evade.policies.acting import RandomPolicy, choose_action
from evade.training.evaluation import evaluate

CONFIG = EvaluationConfig(num_envs=8, temperature=1.0)
DEVICE = torch.device("cpu")


def play(episodes=20, seed=5, config=CONFIG, env=None, **options):
    return evaluate(
        RandomPolicy(3),
        "minatar/breakout",
        env or EnvConfig(),
        config,
        num_episodes=episodes,
        seed=seed,
        device=DEVICE,
        **options,
    )


def test_every_game_is_played_once_and_scored_by_raw_rewards():
    seen = []
    scores = play(on_progress=seen.append)
    assert [score.episode for score in scores] == list(range(20))
    assert seen[-1] == 20
    assert all(score.length >= 1 for score in scores)
    # Random play of Breakout without sticky actions: about 0.4 with a deviation near 0.6.
    mean = sum(score.score for score in play(400)) / 400
    assert 0.25 < mean < 0.6


def test_the_same_seed_gives_the_same_scores_and_another_seed_others():
    assert play() == play()
    assert play() != play(seed=6)


def test_evaluating_touches_no_other_randomness():
    torch.manual_seed(1)
    before = torch.get_rng_state()
    play()
    assert torch.equal(torch.get_rng_state(), before)


def test_the_protocol_brings_its_own_time_limit():
    limited = EvaluationConfig(num_envs=4, temperature=1.0, time_limit=4)
    assert max(score.length for score in play(config=limited)) == 4
    assert max(score.length for score in play(env=EnvConfig(time_limit=3))) == 3


@pytest.mark.parametrize(("temperature", "expected"), [(1.0, 0.75), (0.5, 0.9), (0.0, 1.0)])
def test_temperature_sharpens_probabilities(temperature, expected):
    logits = torch.log(torch.tensor([[0.25, 0.75]])).expand(20_000, 2)
    chosen = choose_action(logits, temperature, torch.Generator().manual_seed(0))
    assert chosen.float().mean().item() == pytest.approx(expected, abs=0.016)
