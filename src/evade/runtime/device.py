"""The device of a run: checked before anything is written."""

import torch

from evade.errors import ConfigError, DeviceMissing


def find_device(name: str) -> torch.device:
    """The torch device of a name such as `cpu`, `cuda` or `cuda:1`.

    Raises:
        ConfigError: it is no name of a device.
        DeviceMissing: there is no such device here.
    """
    try:
        device = torch.device(name)
    except RuntimeError as error:
        rule = "must be a torch device, such as cpu, cuda or cuda:1"
        raise ConfigError(f"Invalid machine.device = {name!r}: {rule}.") from error
    try:
        torch.Generator(torch.empty(0, device=device).device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise DeviceMissing(
            f"The device {name} cannot be used: {_reason(device)}. Choose cpu, which is always there; `evade doctor` "
            f"shows this machine's device."
        ) from error
    return device


def _reason(device: torch.device) -> str:
    if device.type != "cuda":
        return f"torch {torch.__version__} cannot compute on it here"
    if not torch.cuda.is_available():
        return f"torch {torch.__version__} finds no CUDA device"
    return f"there are {torch.cuda.device_count()} CUDA devices, counted from 0"
