"""Optimizers for training: Muon for the matrices of the layers, AdamW for all other weights."""

import torch

# Coefficients of the fifth-order Newton-Schulz iteration of Muon (K. Jordan, 2024).
A, B, C = 3.4445, -4.7750, 2.0315


def orthogonalised(g):
    """Roughly the nearest orthogonal matrix to each [.., m, n]."""
    x = g.bfloat16()
    turned = x.shape[-2] > x.shape[-1]
    if turned:
        x = x.mT
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for _ in range(5):
        s = x @ x.mT
        x = A * x + (B * s + C * s @ s) @ x
    return (x.mT if turned else x).to(g.dtype)


class Muon(torch.optim.Optimizer):
    """Nesterov momentum, orthogonalised; matrices [.., m, n] each on its own."""

    def __init__(self, parameters, lr, momentum=0.95, weight_decay=0.01):
        super().__init__(
            parameters, dict(lr=lr, full_lr=lr, momentum=momentum, weight_decay=weight_decay)
        )

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                kept = self.state[p].setdefault("momentum", torch.zeros_like(p))
                kept.lerp_(p.grad, 1 - group["momentum"])
                update = orthogonalised(p.grad.lerp(kept, group["momentum"]))
                scale = max(1.0, p.shape[-2] / p.shape[-1]) ** 0.5
                p.mul_(1 - group["lr"] * group["weight_decay"]).add_(
                    update, alpha=-group["lr"] * scale
                )


def optimizers(model, matrix_lr=0.01, other_lr=2e-3):
    """The two optimisers of a model; each group keeps its full rate under `full_lr`."""
    matrices = [
        p
        for name, p in model.layers.named_parameters()
        if p.dim() >= 2 and not name.endswith("gate.weight")
    ]
    chosen = {id(p) for p in matrices}
    rest = [p for p in model.parameters() if id(p) not in chosen]
    adam = torch.optim.AdamW(rest, lr=other_lr, betas=(0.9, 0.95), weight_decay=0.0)
    for group in adam.param_groups:
        group["full_lr"] = other_lr
    return [Muon(matrices, matrix_lr), adam]
