"""Products of torch on the CPU."""

import torch

torch.manual_seed(1)
torch.set_num_threads(1)
a, b = torch.randn(37, 29), torch.randn(29, 41)
print("mm", torch.mm(a, b).numpy().tobytes().hex())
print("bmm", torch.bmm(torch.randn(3, 17, 19), torch.randn(3, 19, 23)).numpy().tobytes().hex())
print("linear", torch.nn.Linear(29, 13)(a).detach().numpy().tobytes().hex())
