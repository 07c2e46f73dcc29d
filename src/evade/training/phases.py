"""The verbs of Algorithm 1, each resumable."""

from collections.abc import Callable
from functools import partial, wraps

import torch
from torch import Tensor

from evade.dreams.beside import dream_along
from evade.dreams.env import DreamEnv
from evade.envs.tensors import RealEnv
from evade.layers import draw, hold, mean_draw, mean_sigma, noisy_layers, resample, use_mean
from evade.policies.rollout import roll_out, slice_rollout
from evade.records import Segments, Transitions
from evade.replay.recorder import Recorder
from evade.runs.files import write_atomically
from evade.seeding import build_generator, derive_seed
from evade.training.evaluation import EpisodeScore, evaluate
from evade.training.measurements import (
    measure_accuracy,
    measure_last_dreams,
    measure_posterior,
    measure_rollout,
    sample_measured,
)
from evade.training.run import Run
from evade.training.state import TrainState
from evade.vocabulary.phases import SCORE
from evade.world_models.fit import update_on_replay

POINTS_PER_PHASE = 20
"""How often metrics are logged in a long phase; each time one update's own, so that nothing is carried over."""

CPU = torch.device("cpu")

OBSERVED_AT_ONCE = 256
"""New transitions that the world model takes note of at a time."""

Phase = Callable[[Run, TrainState], None]


def phase(name: str) -> Callable[[Phase], Phase]:
    """Make a verb resumable: skip it unless it is its turn, seed it at its beginning, save at its end."""

    def decorate(work: Phase) -> Phase:
        @wraps(work)
        def resumable(run: Run, state: TrainState) -> None:
            position = state.position
            if position.phase != name:
                return
            if position.progress == 0:
                state.generators.begin(name, position.iteration)
            with run.checkpoints.logbook.timed(position.iteration, name):
                work(run, state)
            position.finish_phase()
            run.save(state)

        return resumable

    return decorate


@phase("collect")
def collect_real_experience(run: Run, state: TrainState) -> None:
    """Act in the real game, extend the replay, and let the learner improve the policy on these steps too."""
    config, iteration, generator = run.config, state.position.iteration, state.generators.device
    steps = config.schedule.real_steps_in(iteration)
    run.begin(state, steps)
    recorder = Recorder(run.real_games.begin(state.replay))
    env = RealEnv(recorder, run.device)
    num_steps = steps // config.collect.num_envs
    temperature = torch.tensor(config.collect.temperatures(config.collect.num_envs), device=run.device)
    rollout = roll_out(state.policy, env, num_steps, generator, temperature, run.report_progress)
    state.replay.add(recorder.chunk(), write_atomically)
    values: dict[str, float | Tensor] = {"steps": state.replay.num_steps, "episodes": len(env.episodes)}
    if env.episodes:
        values["return"] = sum(episode.raw_return for episode in env.episodes) / len(env.episodes)
    faithfulness = measure_last_dreams(run, state) if iteration > 1 else {}
    if config.collect.improves_policy:
        values |= state.learner.improve(slice_rollout(rollout, config.collect.num_slices), generator)
    run.log(state, steps, "collect", values)
    if faithfulness:
        run.log(state, steps, "faithfulness", faithfulness)


@phase("fit")
def fit_world_model(run: Run, state: TrainState) -> None:
    """Supervised updates on all real experience, fresh event noise in every forward."""
    total = run.config.schedule.fit_updates_in(state.position.iteration)
    run.begin(state, total)
    state.world_model.use_statistics(state.replay.statistics())
    resample(state.world_model.train())
    for update in range(state.position.progress + 1, total + 1):
        metrics = update_on_replay(state.fitter, state.replay, state.generators.host, run.device)
        if is_log_point(update, total):
            run.log(state, update, "fit", metrics)
        run.complete_unit(state, update)
    run.log(state, total, "fit", measure_accuracy(state.world_model, sample_measured(run, state, "measure", 128)))


@phase("draw")
def draw_from_posterior(run: Run, state: TrainState) -> None:
    """One draw of the event layers' weights (at the end, perhaps their mean), kept for the whole of this iteration."""
    run.begin(state, 1)
    state.world_model.eval()
    with use_mean(state.world_model):
        for batch in state.replay.newest_transitions(OBSERVED_AT_ONCE):
            state.world_model.observe(Transitions(*(field.to(run.device) for field in batch)))
        if noisy_layers(state.world_model):
            dream_beside_games(run, state)
    if run.config.schedule.uses_mean_in(state.position.iteration):
        state.draw.value = mean_draw(state.world_model)
    else:
        state.draw.value = draw(state.world_model, state.generators.device)
    sigmas = mean_sigma(state.world_model)
    if sigmas:
        values = {f"sigma/{name}": value for name, value in sigmas.items()}
        run.log(state, 1, "posterior", values | {"sigma": sum(sigmas.values()) / len(sigmas)})
    run.report_progress(1)


def dream_beside_games(run: Run, state: TrainState) -> None:
    """Let the world model take note of what it dreams where the game is known."""
    config, seed, iteration = run.config.dream, run.config.seed, state.position.iteration
    host, device = (build_generator(where, seed, "dreams beside games", iteration) for where in (CPU, run.device))
    for _ in range(config.beside_games):
        sampled = state.replay.segments(config.num_envs, config.horizon, host, newest=False)
        if len(sampled.observation) == 0:
            return
        for batch in dream_along(state.world_model, Segments(*(field.to(run.device) for field in sampled)), device):
            state.world_model.observe_dreamt(batch)


@phase("improve")
def improve_policy_in_dreams(run: Run, state: TrainState) -> None:
    """Improve the policy on batches of dreams that start from real frames, all under the held draw."""
    config, generator = run.config, state.generators.device
    total = config.schedule.dream_batches_in(state.position.iteration)
    run.begin(state, total)
    hold(state.world_model.eval(), state.draw.value)
    env = DreamEnv(
        state.world_model,
        config.dream.num_envs,
        partial(sample_starts, run, state),
        compiler=run.compiler,
        sticky_probability=config.dream.sticky_probability,
        generator=generator,
    )
    for batch in range(state.position.progress + 1, total + 1):
        rollout = roll_out(state.policy, env, config.dream.horizon, generator)
        metrics = state.learner.improve(rollout, generator)
        if is_log_point(batch, total):
            run.log(state, batch, "dream", measure_rollout(rollout) | metrics)
        run.complete_unit(state, batch)
    if state.draw.value:
        run.log(state, total, "posterior", measure_posterior(run, state))


def sample_starts(run: Run, state: TrainState, count: int) -> Tensor:
    """Real observations to start dreams from, on the run's device."""
    config = run.config.dream
    starts = state.replay.starts(
        count,
        state.generators.host,
        newest=config.starts_from == "newest",
        by=config.starts_by,
    )
    if config.first_starts_at_reset:
        starts[0] = state.replay.first_start()[0]
    return starts.to(run.device)


@phase("evaluate")
def evaluate_policy(run: Run, state: TrainState) -> None:
    """Whole games by the fixed protocol; training is not affected."""
    config = run.config.evaluation
    if state.position.iteration % config.every:
        return
    run.begin(state, config.episodes)
    run.log_scores(state, play_games(run, state, config.episodes, "evaluate"))


def score_policy(run: Run, state: TrainState) -> None:
    """The final score, taken once, after the last iteration."""
    iterations = run.config.schedule.iterations
    if state.position.scored_after == iterations:
        return
    episodes = run.config.evaluation.final_episodes
    run.begin(state, episodes, SCORE.name)
    run.log_scores(state, play_games(run, state, episodes, SCORE.name))
    state.position.scored_after = iterations
    run.save(state)


def play_games(run: Run, state: TrainState, num_episodes: int, purpose: str) -> list[EpisodeScore]:
    """Evaluation games of the current policy, from a seed of their own."""
    return evaluate(
        state.policy,
        run.config.game,
        run.config.env,
        run.config.evaluation,
        num_episodes=num_episodes,
        seed=derive_seed(run.config.seed, purpose, state.position.iteration) % 2**31,
        device=run.device,
        on_progress=run.report_progress,
    )


def is_log_point(done: int, total: int) -> bool:
    """Whether metrics are logged now: `POINTS_PER_PHASE` times in a phase, the last time at its end."""
    return done * POINTS_PER_PHASE // total != (done - 1) * POINTS_PER_PHASE // total
