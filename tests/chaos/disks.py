"""Full disks: a small file system, filled up at different moments of a run."""

import random
import shutil
import subprocess
import threading
import time
from contextlib import contextmanager, suppress

import crashing
from chaos.commands import run_apart


@contextmanager
def small_disk(place, megabytes):
    """A tmpfs of its own at `place`."""
    place.mkdir(parents=True)
    mount, unmount = shutil.which("mount"), shutil.which("umount")
    subprocess.run([mount, "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", place], check=True)
    try:
        yield place
    finally:
        subprocess.run([unmount, place], check=True)


def can_mount(place):
    try:
        with small_disk(place, 1):
            return True
    except (subprocess.CalledProcessError, TypeError):
        return False


def attack(place, tally, cases, seed, reference, game="minatar"):
    """Fill the disk while a run works, free it, and finish: the end must be the reference's."""
    rng = random.Random(seed)  # noqa: S311
    for number in range(cases):
        with small_disk(place / f"disk-{number}", 8) as disk:
            filler = disk / "filler"
            delay, room = rng.uniform(0.0, 2.5), rng.choice((0, 1000, 20_000, 60_000))

            def fill(filler=filler, disk=disk, delay=delay, room=room):
                time.sleep(delay)
                free = max(shutil.disk_usage(disk).free - room, 0)
                with suppress(OSError):
                    filler.write_bytes(bytes(free))

            thread = threading.Thread(target=fill)
            thread.start()
            code, output, found = run_apart(crashing.command(disk, game))
            thread.join()
            filler.unlink(missing_ok=True)
            if not found:
                again, output, found = run_apart(crashing.command(disk, game))
                if again != 0 or crashing.digest(disk) != reference:
                    found["silent"] = output
            tally.add("full disks", f"{game}, full after {delay:.1f} s with {room} bytes left, code {code}", found)
