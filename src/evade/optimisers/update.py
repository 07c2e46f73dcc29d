"""One guarded optimiser update, the same for world model and policy."""

from collections.abc import Sequence

import torch
from torch import Tensor

from evade.errors import TrainingDiverged


def update(optimiser: torch.optim.Optimizer, loss: Tensor, max_gradient_norm: float) -> Tensor:
    """Compute gradients, clip them to a global norm, make one optimiser step.

    A loss or gradient that is not finite raises `TrainingDiverged` before any weight is touched.

    Args:
        optimiser: owns the parameters.
        loss: scalar.
        max_gradient_norm: longer gradients are scaled down to this.

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
            f"the loss is {loss.item()} and its gradient has norm {norm.item()}, so this update was refused and the "
            f"weights are as before: resume from the last checkpoint with a smaller learning rate."
        )
    torch._foreach_mul_(gradients, (max_gradient_norm / norm).clamp_max(1.0))
    optimiser.step()
    return norm


def global_norm(tensors: Sequence[Tensor]) -> Tensor:
    """The Euclidean norm of all entries together, a scalar.

    Taken as a norm of norms: in one go, float32 sums over a kernel of two million weights are off by 3e-5, which the
    golden numbers of the full-size policy show.
    """
    norms = [torch.linalg.vector_norm(each, dim=tuple(range(1, each.dim())) or None) for each in tensors]
    total: Tensor = torch.linalg.vector_norm(torch.stack([torch.linalg.vector_norm(norm) for norm in norms]))
    return total
