"""Causal attention within each document of packed rows.

Documents are short beside the rows that they are packed into (half of them have under 50 tokens),
so each is computed by itself: those of about one length at once, nothing for the rest of the row.
"""

import torch

LENGTH_STEP = 64  # documents are filled up to multiples of this
FUSED_LENGTH = 256  # from here on the fused kernel's gradient is faster than plain products
SHARE_TOKENS = 2048  # tokens at once, so that intermediate results stay in the cache


def batches(positions):
    """The documents of a flat batch, those of about one length together. positions [S] count from 0
    in each document. Yields index [n, L] and own [n, L], which is false where a document has ended:
    what such an index names comes after all that its document's tokens see."""
    starts = (positions == 0).nonzero().flatten()
    ends = torch.cat((starts[1:], starts.new_tensor([len(positions)])))
    lengths = ends - starts
    filled = (lengths + LENGTH_STEP - 1) // LENGTH_STEP * LENGTH_STEP
    for length in filled.unique().tolist():
        offset = torch.arange(length, device=positions.device)[None]
        for chosen in (filled == length).nonzero().flatten().split(max(1, SHARE_TOKENS // length)):
            own = offset < lengths[chosen][:, None]
            yield starts[chosen][:, None] + offset.where(own, 0), own


def heads_first(x, index):
    """x [S, H, D] at index [n, L], as [n, H, L, D]."""
    return x[index].transpose(1, 2)


def shares_of(q, k):
    """Softmax of the scaled scores, nothing for what comes later: [n, H, L, L]."""
    length = q.shape[2]
    later = torch.ones(length, length, dtype=torch.bool, device=q.device).triu(1)
    scores = (q * q.shape[-1] ** -0.5) @ k.transpose(-1, -2)
    return scores.masked_fill_(later, float("-inf")).softmax(-1)


def mix(q, k, v):
    """The mixed values of documents of one length, all [n, H, L, D], and the logarithms of the
    softmax's sums [n, H, L] where the fused kernel is used."""
    if q.device.type == "cpu":
        return torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(q, k, v, 0.0, True)
    return shares_of(q, k) @ v, None


def mix_backward(grad, q, k, v, out, logs):
    """Gradients of q, k and v."""
    if q.device.type == "cpu" and q.shape[2] >= FUSED_LENGTH:
        return torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward(
            grad, q, k, v, out, logs, 0.0, True
        )
    shares = shares_of(q, k)
    by_share = grad @ v.transpose(-1, -2)
    by_score = torch._softmax_backward_data(by_share, shares, -1, shares.dtype)
    by_score = by_score * q.shape[-1] ** -0.5
    return by_score @ k, by_score.transpose(-1, -2) @ q, shares.transpose(-1, -2) @ grad


@torch.library.custom_op("ingot::attend", mutates_args=())
def attend(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, positions: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """q, k, v [S, H, D] of one type, positions [S]: the mixed values [S, H, D], and what its
    gradient needs [S, H]."""
    out = torch.empty_like(v, memory_format=torch.contiguous_format)
    logs = q.new_empty(q.shape[:2], dtype=torch.float32)
    for index, own in batches(positions):
        mixed, sums = mix(*(heads_first(x, index) for x in (q, k, v)))
        out[index[own]] = mixed.transpose(1, 2)[own]
        if sums is not None:
            logs[index[own]] = sums.transpose(1, 2)[own].float()
    return out, logs


@attend.register_fake
def _(q, k, v, positions):
    return (
        torch.empty_like(v, memory_format=torch.contiguous_format),
        q.new_empty(q.shape[:2], dtype=torch.float32),
    )


@torch.library.custom_op("ingot::attend_backward", mutates_args=())
def attend_backward(
    grad: torch.Tensor,
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    positions: torch.Tensor,
    out: torch.Tensor,
    logs: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    grads = tuple(torch.empty_like(x, memory_format=torch.contiguous_format) for x in (q, k, v))
    for index, own in batches(positions):
        # Tokens after a document's end have no part in the loss.
        parts = mix_backward(
            heads_first(grad, index) * own[:, None, :, None].to(grad.dtype),
            *(heads_first(x, index) for x in (q, k, v, out)),
            # Far above any score, so that no share of theirs is infinite.
            logs[index].masked_fill(~own[..., None], 1e30).transpose(1, 2).contiguous(),
        )
        for total, part in zip(grads, parts):
            total[index[own]] = part.transpose(1, 2)[own]
    return grads


@attend_backward.register_fake
def _(grad, q, k, v, positions, out, logs):
    return tuple(torch.empty_like(x, memory_format=torch.contiguous_format) for x in (q, k, v))


def _keep(ctx, inputs, output):
    ctx.save_for_backward(*inputs, *output)


def _gradient(ctx, grad, _):
    return (*attend_backward(grad, *ctx.saved_tensors), None)


attend.register_autograd(_gradient, setup_context=_keep)
