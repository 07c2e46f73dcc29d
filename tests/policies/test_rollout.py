import torch
from torch import nn

from evade.dreams.env import DreamEnv
from evade.policies.advantages import compute_advantages
from evade.policies.rollout import roll_out, slice_rollout
from evade.records import EnvStep, PolicyOutput, Prediction
from fake_worlds import ScriptedPolicy


class Plain(nn.Module):
    """A model without memory and noise."""

    def initial_memory(self, observation):
        return ()

    def sample_noise(self, batch_size, generator):
        return ()


class Counter(Plain):
    """The next frame's only cell is the last one's plus 1; the game ends at 5."""

    def predict(self, observation, action, memory=(), noise=()):
        frame = observation[:, -1] + 1
        value = frame.flatten(1)[:, 0]
        return Prediction(frame, value.float(), value == 5)


def count_from_one(count):
    starts = torch.zeros(count, 2, 1, 1, 1, dtype=torch.uint8)
    starts[:, 1] = 1
    starts[count // 2 :] = 0
    return starts


def test_a_rollout_is_closed_by_the_value_of_where_it_leads():
    rollout = roll_out(ScriptedPolicy([0] * 4, 2), DreamEnv(Counter(), 2, count_from_one), 3, torch.Generator())
    assert rollout.observation[:, 0].flatten(1).tolist() == [[0, 1], [1, 2], [2, 3]]
    assert rollout.value[:, 0].tolist() == [1, 2, 3]
    assert rollout.next_value[:, 0].tolist() == [2, 3, 4]
    assert rollout.reward[:, 0].tolist() == [2, 3, 4]
    torch.testing.assert_close(rollout.log_prob, torch.zeros(3, 2))


def test_only_the_frames_the_policy_uses_are_recorded():
    policy = ScriptedPolicy([0] * 4, 2, num_frames=1)
    rollout = roll_out(policy, DreamEnv(Counter(), 2, count_from_one), 3, torch.Generator())
    assert rollout.observation.shape == (3, 2, 1, 1, 1, 1)
    assert rollout.observation[:, 0].flatten(1).tolist() == [[1], [2], [3]]


class Echo(Plain):
    """Shows the action, which is also the reward."""

    def predict(self, observation, action, memory=(), noise=()):
        frame = action.to(torch.uint8)[:, None, None, None]
        return Prediction(frame, action.float(), torch.zeros_like(action, dtype=torch.bool))


class Biased(nn.Module):
    """Action 1 is nine times as likely as action 0."""

    num_frames = 1

    def forward(self, observation):
        logits = torch.tensor([1.0, 9.0]).log().repeat(len(observation), 1)
        return PolicyOutput(logits, logits[:, 0])


def test_a_warmer_rollout_samples_from_flatter_probabilities_and_records_them():
    count = 8000
    dream = DreamEnv(Echo(), count, lambda _: torch.zeros(2 * count, 1, 1, 1, 1, dtype=torch.uint8))
    rollout = roll_out(Biased(), dream, 1, torch.Generator().manual_seed(0), temperature=2.0)
    # sqrt(1) : sqrt(9)
    assert abs(rollout.action.float().mean() - 0.75) < 5 * (0.75 * 0.25 / count) ** 0.5
    expected = torch.where(rollout.action == 1, 0.75, 0.25).log()
    torch.testing.assert_close(rollout.log_prob, expected)


class Line:
    """Two games whose only cell shows the step; game 0 is cut off and restarted at step 2."""

    num_envs = 2

    def reset(self):
        self.time = torch.zeros(2, dtype=torch.uint8)
        return self.time.view(2, 1, 1, 1, 1)

    def step(self, action):
        final = self.time + 1
        truncated = final == torch.tensor([2, 255])
        self.time = torch.where(truncated, 0, final).to(torch.uint8)
        observation, last = (time.view(2, 1, 1, 1, 1) for time in (self.time, final))
        terminated = torch.zeros(2, dtype=torch.bool)
        return EnvStep(observation, action.float(), terminated, truncated, last if truncated.any() else None)


def test_a_truncated_game_is_valued_where_it_was_cut_off():
    # The policy is called once more for the final observations, which uses up the third action of the script.
    rollout = roll_out(ScriptedPolicy([0, 1, 9, 2], 10), Line(), 3, torch.Generator())
    assert rollout.action[:, 0].tolist() == rollout.reward[:, 0].tolist() == [0, 1, 2]
    assert rollout.truncated.tolist() == [[False, False], [True, False], [False, False]]
    assert rollout.value.tolist() == [[0, 0], [1, 1], [0, 2]]
    assert rollout.next_value.tolist() == [[1, 1], [2, 2], [1, 3]]


def test_slices_are_the_same_steps_as_shorter_games():
    rollout = roll_out(ScriptedPolicy([0] * 13, 2), DreamEnv(Counter(), 3, count_from_one), 12, torch.Generator())
    assert rollout.terminated.any()
    sliced = slice_rollout(rollout, 4)
    for whole, short in zip(rollout, sliced, strict=True):
        assert short.shape == (3, 12, *whole.shape[2:])
        for index in range(4):
            assert torch.equal(short[:, 3 * index : 3 * index + 3], whole[3 * index : 3 * index + 3])


def test_one_step_advantages_do_not_change_by_slicing():
    rollout = roll_out(ScriptedPolicy([0] * 7, 2), DreamEnv(Counter(), 2, count_from_one), 6, torch.Generator())

    def one_step(rollout):
        fields = rollout.reward, rollout.value, rollout.next_value, rollout.terminated, rollout.truncated
        return compute_advantages(*fields, discount=0.9, gae_lambda=0.0).advantage

    expected = one_step(rollout)
    assert torch.equal(one_step(slice_rollout(rollout, 2)), torch.cat([expected[:3], expected[3:]], dim=1))


def test_progress_counts_the_steps_of_all_games():
    done = []
    roll_out(
        ScriptedPolicy([0] * 4, 2), DreamEnv(Counter(), 2, count_from_one), 3, torch.Generator(), on_step=done.append
    )
    assert done == [2, 4, 6]
