"""Look inside a run's world model: choose a frame, and ask event layers and draws about it."""

import re
from collections.abc import Iterator

import torch
from torch import nn

from evade.checks import require
from evade.envs.pictures import render_frame
from evade.errors import RunError
from evade.evidence.results.inspection import Inspection, MapChange, SigmaImage
from evade.layers import Draw, NoisyConv2d, NoisyEventTranslation, NoisyLayer, noisy_layers
from evade.replay.store import Replay
from evade.training.load import DrawChoice, LayerMaps, LoadedRun
from evade.training.posterior import rewards_under_draws
from evade.world_models.event_prior import WINDOW, EventPrior

NUM_CANDIDATES, NUM_JUDGES = 64, 8
"""Frames to choose from, and draws that judge them: at the size of the paper's networks half a minute on a CPU."""

MAX_DRAWS = 1024
"""Draws in one strip plot; each is one prediction for every action."""

NEIGHBOURS = ("left", "self", "right", "above", "below")
"""The weights of a translation layer that shifts by one cell, in their order."""


def inspect_run(
    run: LoadedRun,
    replay: Replay,
    *,
    num_draws: int = 16,
    draw: DrawChoice = None,
    channel: int | None = None,
    frame: int | None = None,
) -> Inspection:
    """One real frame under a run's event layers and draws.

    Args:
        run: with noisy layers.
        replay: the run's experience.
        num_draws: D, draws in the strip plot.
        draw: the reward model that the maps are under.
        channel: to be shown besides the one that changes most.
        frame: which frame of the experience; None chooses the one draws disagree about most, of 64 evenly spread ones.

    Raises:
        RunError: the run has no noisy layers.
    """
    if not run.has_draws:
        raise RunError(
            f"{run.folder.path} has nothing to inspect: its variant {run.config.variant!r} has no event layers. Give a "
            f"run of another variant."
        )
    require(2 <= num_draws <= MAX_DRAWS, "draws", num_draws, f"must be 2 to {MAX_DRAWS}")
    chosen = choose_frame(run, replay) if frame is None else frame
    require(0 <= chosen < replay.size, "frame", chosen, f"must be 0 to {replay.size - 1}")
    observation = replay.observation(chosen)
    rewards = run.rewards(observation, num_draws)
    action = int(rewards.draws.std(0).argmax())
    layers = noisy_layers(run.world_model)
    priors = [layer for layer in layers.values() if isinstance(layer, EventPrior)]
    return Inspection(
        title=f"{run.config.game}, {run.config.variant}, seed {run.config.seed}",
        variant=run.config.variant,
        frame=chosen,
        picture=render_frame(observation[-1], run.game.levels),
        action=action,
        draw=_name_draw(run, draw),
        mean=rewards.mean,
        draws=rewards.draws,
        changes=tuple(_find_changes(run.maps(observation, action, draw), channel)),
        sigmas=tuple(_image(name, layer) for name, layer in layers.items() if not isinstance(layer, EventPrior)),
        prior_sigmas=tuple(image for prior in priors for image in _prior_images(prior)),
    )


def choose_frame(run: LoadedRun, replay: Replay) -> int:
    """The frame whose reward draws disagree about most, given the action taken there, of evenly spread ones."""
    windows = replay.fit_windows
    places = windows[torch.linspace(0, len(windows) - 1, min(NUM_CANDIDATES, len(windows))).long()]
    batch = replay.gather(places)
    draws = [run.sample_draw(number) for number in range(NUM_JUDGES)]
    inputs = batch.observation.to(run.device), batch.action.to(run.device)
    spread = rewards_under_draws(run.world_model, draws, *inputs).std(0)
    return int(places[int(spread.argmax())])


def _find_changes(maps: dict[str, LayerMaps], channel: int | None) -> Iterator[MapChange]:
    of_events = {name: each for name, each in maps.items() if not name.endswith("last_convolution")}
    if channel is not None and of_events:
        fewest = min(len(each.before) for each in of_events.values())
        require(0 <= channel < fewest, "channel", channel, f"must be 0 to {fewest - 1} in this network")
    for name, (before, after) in of_events.items():
        stage, layer = _name_layer(name)
        largest = int(abs(after - before).mean((1, 2)).argmax())
        for shown in dict.fromkeys([largest] if channel is None else [largest, channel]):
            yield MapChange(layer, stage, shown, len(before), shown == largest, before[shown], after[shown])


def _name_layer(name: str) -> tuple[str, str]:
    """Stage and layer: `reward_path.events.up4.translation` is `up stage 5` and `translation`, as the paper counts."""
    *_, stage, layer = name.split(".")
    if match := re.fullmatch(r"up(\d+)", stage):
        stage = f"up stage {int(match[1]) + 1}"
    elif match := re.fullmatch(r"local(\d+)", stage):
        stage = f"local convolution {match[1]}"
    return stage, layer


def _name_draw(run: LoadedRun, draw: DrawChoice) -> str:
    if draw == "mean" or (draw is None and not run.draw):
        return "mean model"
    if draw is None:
        return "the run's last draw"
    return "a draw of its own" if isinstance(draw, Draw) else f"draw {draw}"


def _image(name: str, layer: NoisyLayer) -> SigmaImage:
    """A layer's sigmas as rows and columns."""
    sigma = layer.sigma.detach().abs().float().cpu()
    stage, kind = _name_layer(name)
    title = f"{kind}, {stage}"
    names: tuple[str, ...] = ()
    block = (1, 1)
    if isinstance(layer, NoisyConv2d):
        title = kind.replace("_", " ")
    rows, columns = "output channel", "input channel"
    if isinstance(layer, NoisyConv2d) and isinstance(layer.source, nn.ConvTranspose2d):
        rows, columns = columns, rows
    if sigma.dim() == 4:
        block = (sigma.shape[2], sigma.shape[3])
        sigma = sigma.transpose(1, 2).flatten(2).flatten(0, 1)
    elif isinstance(layer, NoisyEventTranslation):
        rows, columns = "channel", "neighbour"
        names = NEIGHBOURS if sigma.shape[1] == len(NEIGHBOURS) else ()
    else:
        rows, columns = "", "channel"
    return SigmaImage(title, rows, columns, names, block, sigma.reshape(-1, sigma.shape[-1]).numpy())


def _prior_images(prior: EventPrior) -> Iterator[SigmaImage]:
    channels = tuple(f"{channel}" for channel in range(prior.channels))
    for title, sigma in prior.sigma_images().items():
        values = sigma.cpu().numpy()
        if title.startswith("weighting"):
            yield SigmaImage(title, "place", "channel at that place", channels, prior.frame_size, values)
        else:
            names = (*channels, "edge")
            yield SigmaImage(title, "channel", "neighbour's channel", names, (WINDOW, WINDOW), values)
