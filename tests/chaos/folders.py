"""Run folders made to do harm: links, names that lead out, imports, bombs, pipes."""

import hashlib
import json
import os
import shutil
from itertools import product

import torch
import zstandard
from safetensors.torch import save

from chaos.commands import run_apart, run_here, tree
from chaos.forgeries import _change_state
from chaos.runs import VERBS, newest_checkpoint, reseal, reseal_document, run_of, words_for

FOLDERS = ("checkpoints", "replay", "media", "tensorboard", "post_mortem")
FILES = ("config.json", "status.json", "environment.txt", "metrics.jsonl", "scores.jsonl", "timing.jsonl", "lock")
FILES += ("inspection.json",)


def link_folder(name):
    """A folder of the run is a link to one outside, whose files match ours by name."""

    def harm(sandbox):
        inside, outside = run_of(sandbox) / name, sandbox / "outside" / name
        shutil.move(inside, outside)
        inside.symlink_to(outside)
        (outside / "precious.txt").write_text("precious")

    harm.__name__ = f"link {name}"
    return harm


def link_file(name, *, is_hard=False):
    def harm(sandbox):
        path, outside = run_of(sandbox) / name, sandbox / "outside" / f"their-{name}"
        if path.exists():
            shutil.move(path, outside)
        else:
            outside.write_text("theirs")
        os.link(outside, path) if is_hard else path.symlink_to(outside)

    harm.__name__ = f"{'hard link' if is_hard else 'link'} {name}"
    return harm


def pipe(name):
    def harm(sandbox):
        path = run_of(sandbox) / name
        path.unlink(missing_ok=True)
        os.mkfifo(path)

    harm.__name__ = f"pipe {name}"
    return harm


def link_video(sandbox):
    path = run_of(sandbox) / "media" / "game.mp4"
    path.unlink(missing_ok=True)
    path.symlink_to(sandbox / "outside" / "secret.txt")


def name_absolute_chunk(sandbox):
    run = run_of(sandbox)
    outside = sandbox / "outside" / "chunk-00000.safetensors.zst"
    shutil.copy(run / "replay" / outside.name, outside)
    _change_state(sandbox, lambda state: state["parts"]["replay"][0].update(name=str(outside)))


def name_relative_chunk(sandbox):
    _change_state(sandbox, lambda state: state["parts"]["replay"][0].update(name="../../../../outside/secret.txt"))


def import_helper(sandbox):
    """The game names a module that says so when it is imported."""
    run = run_of(sandbox)
    (run / "chaos_helper.py").write_text(f"open({str(sandbox / 'outside' / 'imported')!r}, 'w').close()\n")
    config = json.loads((run / "config.json").read_text())
    config["settings"]["game"] = "chaos_helper:x"
    reseal_document(run / "config.json", config)


def plant_bomb(sandbox):
    """A chunk of some kilobytes that would inflate to gigabytes, with the right hash."""
    run = run_of(sandbox)
    chunk = run / "replay" / "chunk-00000.safetensors.zst"
    tensors = save({"frame": torch.zeros(1)})
    compressor = zstandard.ZstdCompressor().compressobj(size=len(tensors) + (3 << 30))
    parts = [compressor.compress(tensors)]
    block = bytes(1 << 24)
    parts += [compressor.compress(block) for _ in range(3 << 6)]
    data = b"".join([*parts, compressor.flush()])
    chunk.write_bytes(data)
    sha256 = hashlib.sha256(data).hexdigest()
    _change_state(sandbox, lambda state: state["parts"]["replay"][0].update(sha256=sha256))


def enlarge_checkpoint(sandbox):
    """A checkpoint that lists a file of many gigabytes, sparse and with the right hash of nothing."""
    checkpoint = newest_checkpoint(sandbox)
    os.truncate(checkpoint / "policy.safetensors", 40 << 30)
    manifest = json.loads((checkpoint / "MANIFEST.json").read_text())
    manifest["files"]["policy.safetensors"]["size"] = 40 << 30
    (checkpoint / "MANIFEST.json").write_text(json.dumps(manifest, indent=2) + "\n")


def bend_moments(sandbox):
    """Moments of another shape, which fused Adam would write past."""
    from safetensors.torch import load

    checkpoint = newest_checkpoint(sandbox)
    path = checkpoint / "learner.safetensors"
    tensors = {name: tensor[:1].clone() if tensor.dim() else tensor for name, tensor in load(path.read_bytes()).items()}
    path.write_bytes(save(tensors))
    reseal(checkpoint)


def add_strangers(sandbox):
    """Files of the user in every folder; they must be there afterwards."""
    run = run_of(sandbox)
    for folder in ("", *FOLDERS):
        (run / folder / "mine.txt").write_text("mine")
        (run / folder / ".tmp-mine").write_text("mine")
    (sandbox / "outside" / "strangers").write_text("\n".join(sorted(_strangers(run))))


def _strangers(run):
    return [str(path.relative_to(run)) for path in run.rglob("*mine*")]


HARMS = (
    *(link_folder(name) for name in FOLDERS),
    *(link_file(name) for name in FILES),
    *(link_file(name, is_hard=True) for name in ("metrics.jsonl", "scores.jsonl", "timing.jsonl", "lock")),
    *(pipe(name) for name in FILES),
    *(link_video, name_absolute_chunk, name_relative_chunk, import_helper, plant_bomb, enlarge_checkpoint),
    *(bend_moments, add_strangers),
)


PAIRS = tuple(product(HARMS, VERBS))
"""Every harm with every verb."""


def attack(victim, tally, pairs):
    """Do each harm to a run of its own, then run the verb. A resume is made longer, so that it has work to do."""
    for harm, verb in pairs:
        sandbox = victim.copy(with_report=verb == "verify")
        words = words_for(verb, sandbox)
        harm(sandbox)
        before = tree(sandbox / "outside")
        is_resume = verb == "resume"
        longer = ["--schedule.iterations", "3"] if is_resume else []
        code, output, found = (run_apart if is_resume or harm is plant_bomb else run_here)([*words, *longer])
        if tree(sandbox / "outside") != before:
            found["outside"] = output
        if harm is link_video and _leaks(sandbox):
            found["outside"] = "a secret is in the report"
        if harm is add_strangers and len(_strangers(run_of(sandbox))) != 12:
            found["outside"] = f"a user's file was removed: {sorted(_strangers(run_of(sandbox)))}"
        tally.add("hostile folders", f"{harm.__name__}, evade {verb}, code {code}", found)
        victim.discard(sandbox)


def _leaks(sandbox):
    report = sandbox / "report"
    return report.exists() and any(b"somebody else" in path.read_bytes() for path in report.rglob("*.mp4"))
