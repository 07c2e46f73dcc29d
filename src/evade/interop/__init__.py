"""Networks from the variables of the original program (tensor2tensor), sizes inferred from the arrays.

Give the variables of a checkpoint as a mapping from TensorFlow name to array, for instance read with
`tf.train.load_checkpoint`. Optimiser slots and counters may be among them; so may the variables the original creates
and never uses.
"""

from evade.interop.policy import load_tensor2tensor_policy
from evade.interop.world_model import load_tensor2tensor_world_model

__all__ = ["load_tensor2tensor_policy", "load_tensor2tensor_world_model"]
