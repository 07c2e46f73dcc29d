"""The verbs of Algorithm 1, each resumable."""

from collections.abc import Callable
from functools import partial, wraps

import torch
from torch import Tensor

from evade.dreams.env import DreamEnv
from evade.dreams.faithfulness import measure_faithfulness
from evade.envs import make_env
from evade.layers import draw, hold, mean_sigma, resample, use_mean
from evade.policies.ppo import improve
from evade.policies.rollout import roll_out, slice_rollout
from evade.reality import RealEnv
from evade.records import Rollout, Stretches, Transitions
from evade.runs.files import write_atomically
from evade.seeding import build_generator, derive_seed
from evade.training.evaluation import EpisodeScore, evaluate
from evade.training.run import Run
from evade.training.state import TrainState
from evade.world_models import fit_update

POINTS_PER_PHASE = 20
"""Metrics are written so many times in a long phase: each time one update's own, so that nothing is carried over."""

Phase = Callable[[Run, TrainState], None]


def phase(name: str) -> Callable[[Phase], Phase]:
    """Make a verb resumable: skip it unless it is its turn, seed it afresh at its beginning, save at its end."""

    def decorate(work: Phase) -> Phase:
        @wraps(work)
        def resumable(run: Run, state: TrainState) -> None:
            if state.phase != name:
                return
            if state.progress == 0:
                seed, iteration = run.config.seed, state.iteration
                state.generator = build_generator(run.device, seed, name, iteration)
                state.host_generator = build_generator(torch.device("cpu"), seed, f"{name} data", iteration)
                torch.manual_seed(derive_seed(seed, f"{name} noise", iteration))
            with run.records.timed(state.iteration, name):
                work(run, state)
            state.finish_phase()
            run.save(state)

        return resumable

    return decorate


@phase("collect")
def collect_real_experience(run: Run, state: TrainState) -> None:
    """Act in the real game, extend the replay, and let PPO learn from the steps too."""
    config = run.config
    steps = config.schedule.real_steps_in(state.iteration)
    run.begin(state, steps)
    seed = derive_seed(config.seed, "games", state.iteration) % 2**31
    games = make_env(config.game, config.collect.num_envs, seed, config.env, config.world_model.num_frames)
    env = RealEnv(games, run.device, progress=lambda done: run.passing(state, done))
    num_steps = steps // config.collect.num_envs
    frames, temperature = config.policy.num_frames, config.collect.temperature
    rollout = roll_out(state.policy, env, num_steps, state.generator, frames, temperature)
    env.close()
    state.replay.add(env.chunk(), write_atomically)
    values: dict[str, float | Tensor] = {"real_steps": state.replay.num_steps, "real_episodes": len(env.episodes)}
    if env.episodes:
        values["real_return"] = sum(episode.raw_return for episode in env.episodes) / len(env.episodes)
    if state.iteration > 1:
        values |= measure_last_dreams(run, state)
    if config.collect.improves_policy:
        sliced = slice_rollout(rollout, config.collect.num_slices)
        values |= improve(state.policy, state.policy_optimiser, sliced, config.policy, state.generator)
    run.log(state, steps, values)


def measure_last_dreams(run: Run, state: TrainState) -> dict[str, Tensor]:
    """The dreams the policy was trained in beside the game it has just played, which the model does not know yet."""
    generator = build_generator(torch.device("cpu"), run.config.seed, "measure dreams", state.iteration)
    count, horizon = min(run.config.dream.num_envs, 64), run.config.dream.horizon
    stretches = state.replay.newest_stretches(count, horizon, generator)
    if len(stretches.observation) == 0:
        return {}
    hold(state.world_model.eval(), state.draw)
    moved = Stretches(*(field.to(run.device) for field in stretches))
    dreaming = build_generator(run.device, run.config.seed, "dream", state.iteration)
    told = measure_faithfulness(
        state.world_model,
        state.policy,
        moved,
        dreaming,
        temperature=run.config.collect.temperature,
        sticky_probability=run.config.dream.sticky_probability,
    )
    return {
        "start_real_return": told.real_return,
        "start_dream_return": told.dream_return,
        "parting_step": told.parting_step,
    }


@phase("fit")
def fit_world_model(run: Run, state: TrainState) -> None:
    """Supervised updates on all real experience, fresh event noise in every forward."""
    config = run.config.world_model
    total = run.config.schedule.fit_updates_in(state.iteration)
    run.begin(state, total)
    model = state.world_model.train()
    resample(model)
    for update in range(state.progress + 1, total + 1):
        batch = sample_transitions(run, state)
        metrics = fit_update(model, state.world_model_optimiser, batch, config.max_gradient_norm)
        if is_point(update, total):
            run.log(state, update, metrics)
        run.passed(state, update)
    run.log(state, total, measure_world_model(run, state))


def sample_transitions(run: Run, state: TrainState) -> Transitions:
    """A batch of real experience to fit to, on the run's device."""
    config = run.config.world_model
    batch = state.replay.transitions(config.batch_size, state.host_generator, eventful_share=config.eventful_share)
    return Transitions(*(field.to(run.device) for field in batch))


@torch.no_grad()
def measure_world_model(run: Run, state: TrainState, count: int = 128) -> dict[str, float]:
    """How often the mean model is right: whole frames, and rewards, on experience it may have been fitted to."""
    generator = build_generator(torch.device("cpu"), run.config.seed, "measure", state.iteration)
    batch = Transitions(*(field.to(run.device) for field in state.replay.transitions(count, generator)))
    state.world_model.eval()
    right = {"exact_frames": 0.0, "exact_rewards": 0.0}
    with use_mean(state.world_model):
        # In small pieces, because the scores of one Atari frame take 25 MB.
        for begin in range(0, count, 16):
            part = slice(begin, begin + 16)
            prediction = state.world_model.predict(batch.observation[part], batch.action[part])
            equal = (prediction.frame == batch.next_frame[part]).flatten(1).all(1)
            right["exact_frames"] += equal.sum().item()
            right["exact_rewards"] += (prediction.reward.round() == batch.reward[part]).sum().item()
    return {name: number / count for name, number in right.items()}


@phase("draw")
def draw_from_posterior(run: Run, state: TrainState) -> None:
    """One draw of the event layers' weights, kept for the whole of this iteration."""
    run.begin(state, 1)
    state.draw = draw(state.world_model, state.generator)
    sigmas = {f"sigma/{name}": value for name, value in mean_sigma(state.world_model).items()}
    if sigmas:
        run.log(state, 1, sigmas | {"sigma": sum(sigmas.values()) / len(sigmas)})
    run.passing(state, 1)


@phase("improve")
def improve_policy_in_dreams(run: Run, state: TrainState) -> None:
    """PPO in batches of dreams that start from real frames, all under the held draw."""
    config = run.config
    total = config.schedule.dream_batches_in(state.iteration)
    run.begin(state, total)
    hold(state.world_model.eval(), state.draw)
    env = DreamEnv(
        state.world_model,
        config.dream.num_envs,
        partial(dream_starts, run, state),
        compiler=run.compiler,
        sticky_probability=config.dream.sticky_probability,
        generator=state.generator,
    )
    for batch in range(state.progress + 1, total + 1):
        rollout = roll_out(state.policy, env, config.dream.horizon, state.generator, config.policy.num_frames)
        metrics = improve(state.policy, state.policy_optimiser, rollout, config.policy, state.generator)
        if is_point(batch, total):
            run.log(state, batch, measure_dreams(rollout) | metrics)
        run.passed(state, batch)
    if state.draw:
        run.log(state, total, {"draw_effect": measure_draw(run, state)})


def dream_starts(run: Run, state: TrainState, count: int) -> Tensor:
    """Real observations to start dreams from, on the run's device."""
    config = run.config.dream
    starts = state.replay.starts(
        count,
        state.host_generator,
        newest=config.starts_from == "newest",
        by_episode=config.starts_by == "episode",
    )
    if config.first_starts_at_reset:
        starts[0] = state.replay.first_start()[0]
    return starts.to(run.device)


def measure_dreams(rollout: Rollout) -> dict[str, Tensor]:
    """What a batch of dreams was worth, and how often they ended, per dream."""
    return {
        "dream_return": rollout.reward.sum(0).mean(),
        "dream_ends": rollout.terminated.float().sum(0).mean(),
    }


@torch.no_grad()
def measure_draw(run: Run, state: TrainState, count: int = 32) -> Tensor:
    """How far the held draw moves the expected reward of real transitions away from the mean model's, on average."""
    generator = build_generator(torch.device("cpu"), run.config.seed, "measure draw", state.iteration)
    batch = state.replay.transitions(count, generator)
    model = state.world_model
    moved = []
    for begin in range(0, count, 16):
        part = slice(begin, begin + 16)
        inputs = batch.observation[part].to(run.device), batch.action[part].to(run.device)
        drawn = model.expected_reward(*inputs)
        with use_mean(model):
            moved.append((drawn - model.expected_reward(*inputs)).abs())
    return torch.cat(moved).mean()


@phase("evaluate")
def evaluate_policy(run: Run, state: TrainState) -> None:
    """Whole games by the fixed protocol; training does not notice."""
    config = run.config.evaluation
    if state.iteration % config.every:
        return
    run.begin(state, config.episodes)
    run.log_scores(state, play_games(run, state, config.episodes, "evaluate"))


def score_policy(run: Run, state: TrainState) -> None:
    """The final score, taken once, after the last iteration."""
    iterations = run.config.schedule.iterations
    if state.scored_after == iterations:
        return
    episodes = run.config.evaluation.final_episodes
    run.begin(state, episodes, name="score")
    run.log_scores(state, play_games(run, state, episodes, "score"))
    state.scored_after = iterations
    run.save(state)


def play_games(run: Run, state: TrainState, episodes: int, purpose: str) -> list[EpisodeScore]:
    """Evaluation games of the current policy, from a seed of their own."""
    return evaluate(
        state.policy,
        run.config.game,
        run.config.env,
        run.config.evaluation,
        num_frames=run.config.world_model.num_frames,
        num_episodes=episodes,
        seed=derive_seed(run.config.seed, purpose, state.iteration) % 2**31,
        device=run.device,
        progress=lambda done: run.passing(state, done),
    )


def is_point(done: int, total: int) -> bool:
    """Whether metrics are written now: `POINTS_PER_PHASE` times, the last time at the end."""
    return done * POINTS_PER_PHASE // total != (done - 1) * POINTS_PER_PHASE // total
