import os
import resource
import shutil
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass
class Disk:
    """A folder on a disk that can be made nearly full."""

    path: Path
    is_tmpfs: bool

    @contextmanager
    def room(self, num_bytes):
        """Leave so many bytes, or where nothing can be mounted forbid larger files, which fails the same way."""
        if self.is_tmpfs:
            filler = self.path.parent / "filler"
            filler.write_bytes(bytes(shutil.disk_usage(self.path).free - num_bytes))
            try:
                yield
            finally:
                filler.unlink()
        else:
            limits = resource.getrlimit(resource.RLIMIT_FSIZE)
            resource.setrlimit(resource.RLIMIT_FSIZE, (num_bytes, limits[1]))
            try:
                yield
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, limits)


@pytest.fixture
def disk(tmp_path):
    place = tmp_path / "disk"
    place.mkdir()
    mount = shutil.which("mount")
    command = [mount, "-t", "tmpfs", "-o", "size=1m", "tmpfs", place]
    is_tmpfs = mount is not None and subprocess.run(command, capture_output=True, check=False).returncode == 0
    folder = place / "run"
    folder.mkdir()
    yield Disk(folder, is_tmpfs)
    if is_tmpfs:
        subprocess.run([shutil.which("umount"), place], check=True)


@pytest.fixture(params=["tmpfs where possible", "file size limit"])
def small_disk(request, disk):
    """Both ways of running out of room."""
    return disk if request.param == "tmpfs where possible" else Disk(disk.path, is_tmpfs=False)


@pytest.fixture
def disk_calls(monkeypatch):
    """What was asked of the disk, in order: ("fsync", path, size of a file) and ("rename", from, to)."""
    calls = []
    fsync, rename = os.fsync, os.rename

    def record_fsync(descriptor):
        path = Path(f"/proc/self/fd/{descriptor}").readlink()
        calls.append(("fsync", str(path), None if path.is_dir() else os.fstat(descriptor).st_size))
        fsync(descriptor)

    def record_rename(source, target):
        calls.append(("rename", str(source), str(target)))
        rename(source, target)

    monkeypatch.setattr(os, "fsync", record_fsync)
    monkeypatch.setattr(os, "rename", record_rename)
    return calls
