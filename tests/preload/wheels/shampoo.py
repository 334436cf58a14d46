"""Trains a small network with Shampoo, an optimizer that multiplies gradients by inverse fourth roots of sums of their
products. The roots are found by coupled Newton iterations, as in published implementations. Knows nothing of fp32shim.

Ends with status 1 if an inverse root is not one, or if the loss does not fall.
"""

import sys

import torch

worst = 0.0


def inverse_fourth_root(matrix):
    identity = torch.eye(len(matrix))
    matrix = matrix + 1e-4 * torch.linalg.matrix_norm(matrix, 2) * identity
    scale = 5 / (2 * torch.linalg.matrix_norm(matrix))
    power, root = matrix * scale, identity * scale ** 0.25
    for _ in range(40):
        if (power - identity).abs().max() < 1e-4:
            break
        factor = 1.25 * identity - 0.25 * power
        square = factor @ factor
        power = square @ square @ power
        root = root @ factor
    check(matrix.double(), root.double())
    return root


def check(matrix, root):
    """Computes in double precision how far root^4 matrix is from the identity."""
    global worst
    residual = torch.linalg.matrix_power(root, 4) @ matrix - torch.eye(len(matrix), dtype=torch.double)
    worst = max(worst, residual.abs().max().item())


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    inputs = torch.randn(256, 32) * torch.logspace(0, -1, 32)
    targets = torch.tanh(inputs @ torch.randn(32, 32))
    model = torch.nn.Sequential(torch.nn.Linear(32, 32), torch.nn.Tanh(), torch.nn.Linear(32, 32))
    weights = [model[0].weight, model[2].weight]
    left = [1e-4 * torch.eye(len(weight)) for weight in weights]
    right = [1e-4 * torch.eye(len(weight.T)) for weight in weights]
    losses = []
    for _ in range(5):
        model.zero_grad()
        output = model(inputs)
        loss = ((output - targets) ** 2).mean()
        loss.backward()
        losses.append(loss.item())
        with torch.no_grad():
            for weight, rows, columns in zip(weights, left, right):
                rows += weight.grad @ weight.grad.T
                columns += weight.grad.T @ weight.grad
                update = inverse_fourth_root(rows) @ weight.grad
                weight -= 0.03 * (update @ inverse_fourth_root(columns))
    print(f"loss {losses[0]:.3g} to {losses[-1]:.3g}; inverse roots within {worst:.2g}")
    sys.exit(not worst < 0.02 or losses[-1] > 0.95 * losses[0])


main()
