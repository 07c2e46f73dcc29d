"""One optimiser update with gradient clipping and a check for divergence, for world models and policies."""

from collections.abc import Sequence

import torch
from torch import Tensor

from evade.errors import TrainingDiverged


def update(optimiser: torch.optim.Optimizer, loss: Tensor, max_gradient_norm: float) -> Tensor:
    """Compute gradients, clip them to a global norm, make one optimiser step.

    A loss or gradient that is not finite raises `TrainingDiverged` before any weight changes.

    Args:
        optimiser: of the parameters to update.
        loss: scalar.
        max_gradient_norm: gradients are clipped to this global norm.

    Returns:
        The gradient's norm before clipping, a scalar.
    """
    optimiser.zero_grad(set_to_none=True)
    loss.backward()  # type: ignore[no-untyped-call]
    parameters = [parameter for group in optimiser.param_groups for parameter in group["params"]]
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    norm = global_norm(gradients)
    if not torch.isfinite(norm):
        raise TrainingDiverged(
            f"Invalid loss = {loss.item()} with gradient norm {norm.item()}: must be finite. No weight has changed, "
            f"because this update was refused. Resume from the last checkpoint with a smaller learning rate."
        )
    torch._foreach_mul_(gradients, (max_gradient_norm / norm).clamp_max(1.0))
    optimiser.step()
    return norm


def global_norm(tensors: Sequence[Tensor]) -> Tensor:
    """The Euclidean norm of all entries of all tensors, a scalar.

    Computed as a norm of norms, because a single float32 sum over a kernel of two million weights is off by 3e-5, too
    much for the golden values of the full-size policy.
    """
    norms = [torch.linalg.vector_norm(each, dim=tuple(range(1, each.dim())) or None) for each in tensors]
    total: Tensor = torch.linalg.vector_norm(torch.stack([torch.linalg.vector_norm(norm) for norm in norms]))
    return total
