"""The engine of many machines: each run is a Ray task that trains in a process of its own. No torch here.

The runs folder must be the same path on all machines. A run's lease (`evade.sweeps.lease`) keeps two machines off one
run; a task that lost its lease, its machine or its Ray node is started again elsewhere, from the last checkpoint.
"""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from platform import node
from typing import Any

from evade.envs.extras import import_extra
from evade.errors import ClusterError, RunLocked
from evade.runs.files import make_folder
from evade.sweeps.carry_out import LOST
from evade.sweeps.lease import Lease
from evade.sweeps.local import start_training
from evade.sweeps.plan import PlannedRun
from evade.sweeps.record import SweepFolder

FAILED, STOPPED = 1, 75
"""Exit codes: of a task that could not even start its run, and of a run that was saved and can be resumed."""
LOOK_SECONDS = 0.2
"""How often a task looks at its run."""
COUNT_SECONDS = 5.0
"""How often the cluster's resources are asked for."""
LOOPBACK = "127.0.0.1"
HARD_STOP_SECONDS = 60.0
"""How long a run that was asked to stop may take to save."""


@dataclass(frozen=True)
class Needs:
    """What one run needs of a machine."""

    cpus: float = 1.0
    gpus: float = 0.0
    """May be a share of one: 0.25 lets four runs use a GPU together."""
    memory: float = 0.0
    """Bytes."""


def train_run(run: PlannedRun, runs_dir: str, log: str, term: float, wanted_version: str) -> int:
    """Train one run on this machine and return its exit code; the body of a task.

    Args:
        run: what to train.
        runs_dir: the folder above all runs, on storage that all machines share.
        log: file for what it prints, there too.
        term: seconds that its lease is good for.
        wanted_version: of the sweep's evade; another one here would make other runs.
    """
    if version("evade") != wanted_version:
        raise ClusterError(
            f"{node()} has evade {version('evade')}, the sweep has {wanted_version}: install the same everywhere."
        )
    raylet = os.getppid()
    make_folder(Path(log).parent)
    try:
        with Lease(Path(runs_dir) / run.folder / "lease", term) as lease, Path(log).open("ab") as output:
            process = start_training(run, Path(runs_dir), output.fileno(), is_tied=True)
            with _ended(process):
                while process.poll() is None:
                    lease.check()
                    if os.getppid() != raylet:
                        return LOST  # nobody waits for this task any more: its Ray node is dead
                    time.sleep(LOOK_SECONDS)
                return process.returncode
    except RunLocked:
        return LOST


@contextmanager
def _ended(process: "subprocess.Popen[bytes]") -> Iterator[None]:
    """See to it that the process has ended when the block is left: by a cancelled task politely, otherwise at once."""
    try:
        yield
    except KeyboardInterrupt:
        process.terminate()  # not SIGINT: Ray blocks it, and the run inherits that
        process.wait(HARD_STOP_SECONDS)
        raise
    finally:
        process.kill()
        process.wait()


class RayJob:
    """A run as a Ray task."""

    def __init__(self, ray: Any, task: Any, log: Path) -> None:
        self._ray, self._task, self._log, self._stops = ray, task, log, 0

    def poll(self) -> int | None:
        """The exit code, or `LOST`; None while it waits or works."""
        ray = self._ray
        if not ray.wait([self._task], timeout=0)[0]:
            return None
        try:
            return int(ray.get(self._task))
        except ray.exceptions.TaskCancelledError:
            return STOPPED
        except (ray.exceptions.WorkerCrashedError, ray.exceptions.NodeDiedError):
            return LOST
        except ray.exceptions.OutOfMemoryError:
            return -signal.SIGKILL
        except ray.exceptions.RayTaskError as error:
            with self._log.open("a") as log:
                log.write(f"{error}\n")
            return FAILED

    def stop(self) -> None:
        """Cancel the task: a run at work saves first; the second time it ends at once."""
        self._stops += 1
        self._ray.cancel(self._task, force=self._stops > 1)


class RayEngine:
    """Starts runs as tasks of a Ray cluster. Use it in a `with` statement.

    Args:
        folder: of the sweep, on storage that all machines share at the same path.
        needs: what one run needs.
        address: of the cluster, such as 10.0.0.1:6379; None for the one on this machine, or a new one.
        slots: how many runs at a time; None for as many as the cluster has room for, looked up again and again.
        term: seconds that a run's lease is good for.
    """

    def __init__(
        self, folder: SweepFolder, needs: Needs, *, address: str | None, slots: int | None, term: float
    ) -> None:
        # Before Ray is imported: it reports its use to its makers otherwise.
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        self._ray: Any = import_extra("ray", "ray")
        self._folder, self._needs, self._address, self._given, self._term = folder, needs, address, slots, term
        self._counted, self._slots = -COUNT_SECONDS, 1

    def __enter__(self) -> "RayEngine":
        ray, options = self._ray, {"log_to_driver": False, "configure_logging": False}
        try:
            if self._address is not None:
                host = self._address.partition(":")[0]
                # Ray would look for a loopback cluster under the machine's outer address.
                local = {"_node_ip_address": host} if host.startswith("127.") else {}
                ray.init(address=self._address, **local, **options)
            elif not self._join_here(options):
                ray.init(address="local", include_dashboard=False, _node_ip_address=LOOPBACK, **options)
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise ClusterError(
                f"there is no Ray cluster at {self._address} ({error}): start one with `ray start --head`."
            ) from None
        resources = {"num_cpus": self._needs.cpus, "num_gpus": self._needs.gpus, "memory": self._needs.memory or None}
        # A lost task is started again by `carry_out`, which counts and shows it.
        self._task = ray.remote(train_run).options(**resources, max_retries=0)
        return self

    def _join_here(self, options: dict[str, Any]) -> bool:
        """Join the cluster that `ray start` started on this machine; False if there is none."""
        try:
            self._ray.init(address="auto", **options)
        except ConnectionError:
            return False
        return True

    def __exit__(self, *_: object) -> None:
        self._ray.shutdown()

    @property
    def slots(self) -> int:
        """How many runs the cluster has room for now."""
        if self._given is not None:
            return self._given
        if time.monotonic() - self._counted > COUNT_SECONDS:
            self._counted = time.monotonic()
            alive = [each["Resources"] for each in self._ray.nodes() if each["Alive"]]
            self._slots = max(1, sum(self._room(resources) for resources in alive))
        return self._slots

    def _room(self, resources: dict[str, float]) -> int:
        wanted = {"CPU": self._needs.cpus, "GPU": self._needs.gpus, "memory": self._needs.memory}
        return min((int(resources.get(name, 0) // each) for name, each in wanted.items() if each), default=0)

    def start(self, run: PlannedRun) -> RayJob:
        """Submit a run."""
        runs_dir, log = self._folder.runs_dir, self._folder.log(run)
        task = self._task.remote(run, str(runs_dir), str(log), self._term, version("evade"))
        return RayJob(self._ray, task, log)
