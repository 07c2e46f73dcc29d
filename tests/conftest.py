import torch

# Two test processes share two cores; a spinning pool of threads in each would only slow both down.
torch.set_num_threads(1)
