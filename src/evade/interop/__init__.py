"""Load networks from tensor2tensor checkpoints of SimPLe; sizes are inferred from the arrays.

Give the variables of a checkpoint as a mapping from TensorFlow name to array, for instance read with
`tf.train.load_checkpoint`. Optimiser slots, counters and the variables that T2T SimPLe creates and never uses are
ignored.
"""

from evade.interop.policy import load_tensor2tensor_policy
from evade.interop.world_model import load_tensor2tensor_world_model

__all__ = ["load_tensor2tensor_policy", "load_tensor2tensor_world_model"]
