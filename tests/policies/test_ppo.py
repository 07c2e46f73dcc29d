from dataclasses import replace

import pytest
import torch

import goldens
from evade.errors import ConfigError
from evade.game_spec import GameSpec
from evade.optimisers import TensorFlowAdam, update
from evade.policies.build import build_learner, build_policy
from evade.policies.ppo import PPO, Minibatch, compute_ppo_loss, improve, minibatch_times
from evade.policies.settings import ActorCriticConfig, PPOConfig
from evade.records import PolicyOutput, Rollout

CONFIG = PPOConfig()
SMALL = ActorCriticConfig(filters=(4,), kernel_size=3, stride=1, hidden_size=16)
GAME = GameSpec(channels=1, height=10, width=10, levels=2, num_actions=4)


def test_losses_gradients_and_two_adam_updates_match_t2t_simple():
    golden = goldens.load("ppo")
    for name, ours in {
        "clipping_coef": CONFIG.clip,
        "value_loss_coef": CONFIG.value_coefficient,
        "entropy_loss_coef": CONFIG.entropy_coefficient,
        "clip_grad_norm": CONFIG.max_gradient_norm,
    }.items():
        assert ours == pytest.approx(float(golden[f"hp/{name}"]))
    times = golden["step/idx"]
    minibatch = Minibatch(
        observation=torch.zeros(0),
        action=torch.from_numpy(golden["in/action"][times]).long(),
        log_prob=torch.from_numpy(golden["in/old_pdf"][times]).log(),
        advantage=torch.from_numpy(golden["out/advantage_normalized"][times]),
        returns=torch.from_numpy(golden["out/return"][times]),
    )
    logits = torch.nn.Parameter(torch.from_numpy(golden["step/new_logits"]))
    value = torch.nn.Parameter(torch.from_numpy(golden["step/new_value"]))
    optimiser = TensorFlowAdam([logits, value], float(golden["step/lr"]))

    loss = compute_ppo_loss(PolicyOutput(logits, value), minibatch, CONFIG)
    for name in ("policy_loss", "value_loss", "entropy_loss"):
        goldens.close(loss.metrics[name], golden[f"step/{name}"], 1e-5)
    goldens.close(loss.total, golden["step/total_loss"], 1e-5)
    norm = update(optimiser, loss.total, CONFIG.max_gradient_norm)
    goldens.close(norm, golden["step/grad_global_norm"], 1e-5)
    goldens.close(logits.grad, golden["step/grad_logits"], 1e-7)
    goldens.close(value.grad, golden["step/grad_value"], 1e-7)
    goldens.close(logits, golden["step/logits_after1"], 2e-6)
    goldens.close(value, golden["step/value_after1"], 2e-6)

    loss = compute_ppo_loss(PolicyOutput(logits, value), minibatch, CONFIG)
    losses = torch.stack([loss.metrics[name] for name in ("policy_loss", "value_loss", "entropy_loss")])
    goldens.close(losses, golden["step/losses_at_step2"], 1e-5)
    update(optimiser, loss.total, CONFIG.max_gradient_norm)
    goldens.close(logits, golden["step/logits_after2"], 2e-6)
    goldens.close(value, golden["step/value_after2"], 2e-6)


@pytest.mark.parametrize(("ratio", "advantage", "expected"), [(1.5, 1.0, -1.1), (1.5, -1.0, 1.5), (0.5, -1.0, 0.9)])
def test_the_ratio_is_clipped_only_where_that_is_worse(ratio, advantage, expected):
    logits = torch.log(torch.tensor([[0.3, 0.7]]))
    minibatch = Minibatch(
        observation=torch.zeros(0),
        action=torch.tensor([0]),
        log_prob=torch.log(torch.tensor([0.3 / ratio])),
        advantage=torch.tensor([advantage]),
        returns=torch.tensor([0.0]),
    )
    loss = compute_ppo_loss(PolicyOutput(logits, torch.tensor([0.0])), minibatch, CONFIG)
    assert loss.metrics["policy_loss"].item() == pytest.approx(expected, rel=1e-5)


def test_the_number_of_minibatches_matches_t2t_simple():
    generator = torch.Generator().manual_seed(0)
    in_dreams = list(minibatch_times(49, CONFIG, generator))
    in_the_game = list(minibatch_times(199, CONFIG, generator))
    assert (len(in_dreams), len(in_the_game)) == (7, 29)
    assert all(len(times) == 20 for times in in_dreams)
    # The first 49 of the 140 indices are one whole epoch.
    assert sorted(torch.cat(in_dreams)[:49].tolist()) == list(range(49))


def test_a_minibatch_that_cannot_be_filled_is_refused():
    with pytest.raises(ConfigError, match="Invalid learner.minibatch_times = 20: 3 epochs over 6 steps"):
        list(minibatch_times(6, CONFIG, torch.Generator()))


def rollout_of_a_bandit(policy, generator, paying):
    """One action pays 1, all others nothing; every step is a game of its own."""
    observation = torch.ones(20, 8, 2, 1, 10, 10, dtype=torch.uint8)
    with torch.no_grad():
        output = policy(observation.flatten(0, 1))
    log_probs = torch.log_softmax(output.logits, -1)
    action = torch.multinomial(log_probs.exp(), 1, generator=generator)
    shape = (20, 8)
    return Rollout(
        observation=observation,
        action=action.view(shape),
        log_prob=log_probs.gather(1, action).view(shape),
        value=output.value.view(shape),
        next_value=output.value.view(shape),
        reward=(action == paying).float().view(shape),
        terminated=torch.ones(shape, dtype=torch.bool),
        truncated=torch.zeros(shape, dtype=torch.bool),
    )


def test_improve_finds_the_action_that_pays():
    torch.manual_seed(0)
    policy = build_policy(SMALL, GAME, num_frames=2)
    learner = build_learner(replace(CONFIG, learning_rate=3e-3), policy)
    generator = torch.Generator().manual_seed(1)
    # The least likely action of the untrained policy.
    paying = policy(torch.ones(1, 2, 1, 10, 10, dtype=torch.uint8)).logits.argmin().item()
    before = rollout_of_a_bandit(policy, generator, paying).reward.mean()
    for _ in range(60):
        metrics = learner.improve(rollout_of_a_bandit(policy, generator, paying), generator)
    after = rollout_of_a_bandit(policy, generator, paying).reward.mean()
    assert before < 0.25
    assert after > 0.9
    assert metrics.keys() == {
        "policy_loss",
        "value_loss",
        "entropy_loss",
        "entropy",
        "clipped_share",
        "gradient_norm",
    }


def test_the_learner_makes_the_updates_of_the_function_improve():
    config = replace(CONFIG, epochs=2, minibatch_times=7, learning_rate=3e-3)
    policies, results = [], []
    for method in ("function", "learner"):
        torch.manual_seed(0)
        policy = build_policy(SMALL, GAME, num_frames=2)
        learner = build_learner(config, policy)
        assert isinstance(learner, PPO)
        rollout = rollout_of_a_bandit(policy, torch.Generator().manual_seed(1), paying=2)
        generator = torch.Generator().manual_seed(2)
        metrics = [
            improve(policy, learner.optimiser, rollout, config, generator)
            if method == "function"
            else learner.improve(rollout, generator)
            for _ in range(2)
        ]
        policies.append(policy.state_dict())
        results.append((metrics, generator.get_state(), learner.saved_tensors()))
    untrained = build_policy(SMALL, GAME, num_frames=2).state_dict()
    assert not torch.equal(policies[0]["dense.weight"], untrained["dense.weight"])
    assert all(torch.equal(policies[0][name], policies[1][name]) for name in untrained)
    (metrics, state, moments), (other_metrics, other_state, other_moments) = results
    assert metrics == other_metrics
    assert torch.equal(state, other_state)
    assert moments.keys() == other_moments.keys()
    assert all(torch.equal(moments[name], other_moments[name]) for name in moments)
