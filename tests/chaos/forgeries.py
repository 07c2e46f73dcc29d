"""Documents, tensors and chunks that are well-formed and hashed, but not what a run can hold.

Who can write the folder can forge a run that is consistent in itself, so accepting one is no finding here: only
tracebacks, hangs, signals and writes outside are.
"""

import hashlib
import json
import random

import torch
import zstandard
from safetensors.torch import load, save

from chaos.commands import run_apart, run_here, tree
from chaos.runs import newest_checkpoint, reseal, reseal_document, run_of, words_for
from evade.errors import NotStorable

READERS = ("runs", "compare", "index", "evaluate")
VALUES = (
    *(None, True, False, 0, -1, 1, 3.5, -0.0, 2**31, 2**63, 10**30, 1e308, "", "x", "finished", "../../outside"),
    *("/etc/passwd", "\x1b[31mred", "[bold]x[/bold]", "$x$", "\ud83d", "\U0001f600", "a" * 5000, "os:x", "nan"),
    *([], [1], [[]], {}, {"a": 1}, [{"a": None}], "minatar/breakout", "atari/pong"),
)


def mutate(document, rng, depth=0):
    """The document with one random place changed."""
    if isinstance(document, dict | list) and document and rng.random() < 0.85:
        changed = dict(document) if isinstance(document, dict) else list(document)
        key = rng.choice(list(changed)) if isinstance(changed, dict) else rng.randrange(len(changed))
        choice = rng.random()
        if choice < 0.7:
            changed[key] = mutate(changed[key], rng, depth + 1)
        elif choice < 0.8:
            del changed[key]
        elif isinstance(changed, dict):
            changed[rng.choice(("extra", "", "sha256", "__class__"))] = rng.choice(VALUES)
        else:
            changed.append(rng.choice(VALUES))
        return changed
    return nest(rng) if rng.random() < 0.05 else rng.choice(VALUES)


def nest(rng):
    """A deep document."""
    inner = rng.choice(VALUES)
    for _ in range(rng.choice((5, 200))):
        inner = [inner] if rng.random() < 0.5 else {"a": inner}
    return inner


def forge_config(sandbox, rng):
    path = run_of(sandbox) / "config.json"
    _reseal_mutated(path, rng)


def forge_status(sandbox, rng):
    path = run_of(sandbox) / "status.json"
    _reseal_mutated(path, rng)


def _reseal_mutated(path, rng):
    document = mutate(json.loads(path.read_text()), rng)
    if not isinstance(document, dict):
        path.write_text(json.dumps(document))
        return
    try:
        reseal_document(path, document)
    except NotStorable:  # half a surrogate pair: no checksum fits it, but JSON can write it as an escape
        path.write_text(json.dumps(document | {"sha256": "0" * 64}))


def forge_inspection(sandbox, rng):
    """The numbers of the figures in a report."""
    _reseal_mutated(run_of(sandbox) / "inspection.json", rng)


def forge_journal(sandbox, rng):
    """One record is another; the status has the hash that fits."""
    run = run_of(sandbox)
    name = rng.choice(("scores", "metrics", "timing"))
    path = run / f"{name}.jsonl"
    lines = path.read_text().splitlines()
    chosen = rng.randrange(len(lines))
    lines[chosen] = json.dumps(mutate(json.loads(lines[chosen]), rng))
    data = ("\n".join(lines) + "\n").encode()
    path.write_bytes(data)
    extent = {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    status = json.loads((run / "status.json").read_text())
    status["journals"][name] = extent
    reseal_document(run / "status.json", status)
    if name != "timing":
        _change_state(sandbox, lambda state: state["committed"].update({name: extent}))


def forge_state(sandbox, rng):
    def change(state):
        return mutate(state, rng)

    _change_state(sandbox, change)


def _change_state(sandbox, change):
    checkpoint = newest_checkpoint(sandbox)
    state = json.loads((checkpoint / "state.json").read_text())
    (checkpoint / "state.json").write_text(json.dumps(change(state) or state))
    reseal(checkpoint)


def forge_manifest(sandbox, rng):
    path = newest_checkpoint(sandbox) / "MANIFEST.json"
    path.write_text(json.dumps(mutate(json.loads(path.read_text()), rng), indent=2) + "\n")


def bend(tensor, rng):
    """A tensor of another shape, type or content."""
    choice = rng.randrange(8)
    if choice == 0:
        return tensor.flatten()[: tensor.numel() // 2].clone()
    if choice == 1:
        return torch.cat([tensor.flatten(), tensor.flatten()])
    if choice == 2:
        return tensor.double() if tensor.dtype != torch.float64 else tensor.float()
    if choice == 3:
        return tensor.to(torch.int32)
    if choice == 4:
        return torch.zeros(0)
    if choice == 5:
        return tensor.unsqueeze(0).clone()
    if choice == 6 and tensor.is_floating_point():
        return torch.full_like(tensor, float("nan"))
    return torch.tensor(1.0)


def forge_tensors(sandbox, rng):
    checkpoint = newest_checkpoint(sandbox)
    path = rng.choice(sorted(checkpoint.glob("*.safetensors")))
    tensors = load(path.read_bytes())
    choice = rng.random()
    if choice < 0.1:
        tensors = {}
    elif choice < 0.8:
        name = rng.choice(sorted(tensors))
        tensors[name] = bend(tensors[name], rng)
    elif choice < 0.9:
        del tensors[rng.choice(sorted(tensors))]
    else:
        tensors[rng.choice(("extra", "0.exp_avg", "999.exp_avg", "x.y", ""))] = torch.ones(3)
    path.write_bytes(save(tensors))
    if rng.random() < 0.1:
        path.unlink()
    reseal(checkpoint)


def forge_chunk(sandbox, rng):
    run = run_of(sandbox)
    chosen = rng.choice(sorted((run / "replay").iterdir()))
    tensors = load(zstandard.ZstdDecompressor().decompress(chosen.read_bytes()))
    name = rng.choice(sorted(tensors))
    if rng.random() < 0.8:
        tensors[name] = bend(tensors[name], rng)
    else:
        del tensors[name]
    data = zstandard.ZstdCompressor().compress(save(tensors))
    chosen.write_bytes(data)

    def change(state):
        for record in state["parts"]["replay"]:
            if record["name"] == chosen.name:
                record["sha256"] = hashlib.sha256(data).hexdigest()

    _change_state(sandbox, change)


FORGERIES = (forge_config, forge_status, forge_journal, forge_state, forge_manifest, forge_tensors, forge_chunk)
FORGERIES += (forge_inspection,)


def attack(victim, tally, cases, seed):
    """Forge one thing in each case, then run one reader here or a resume in a process of its own."""
    for number in range(cases):
        rng = random.Random(f"{seed}/{number}")  # noqa: S311
        sandbox = victim.copy()
        forgery = FORGERIES[number % len(FORGERIES)]
        is_deep = forgery in (forge_state, forge_tensors, forge_chunk, forge_manifest)
        verb = "resume" if is_deep and rng.random() < 0.7 else rng.choice(READERS)
        verb = "report" if forgery is forge_inspection else verb
        words, before = words_for(verb, sandbox), tree(sandbox / "outside")
        forgery(sandbox, rng)
        _, _, found = (run_apart if verb == "resume" else run_here)(words)
        if tree(sandbox / "outside") != before:
            found["outside"] = forgery.__name__
        tally.add("forged and hashed", f"{forgery.__name__} {number}, evade {verb}", found)
        victim.discard(sandbox)
