"""The demo models in PyTorch: Qwen3's shape, dense or with experts, and its names in a safetensors
folder."""

from dataclasses import asdict, dataclass

import torch
from torch import nn
from torch.nn import functional as F

from attention import attend


@dataclass(frozen=True)
class Shape:
    """Sizes of a model. `experts` 0 means a dense FFN of `ffn`, else experts of `ffn` each."""

    hidden: int
    layers: int
    heads: int
    kv_heads: int
    ffn: int
    vocab: int
    experts: int = 0
    used: int = 0
    head_size: int = 64
    context: int = 1024
    theta: float = 10_000.0
    eps: float = 1e-6


SHAPES = {
    "ingot-demo": dict(hidden=256, layers=5, heads=4, kv_heads=2, ffn=768),
    "ingot-demo-draft": dict(hidden=128, layers=3, heads=2, kv_heads=1, ffn=384),
    "ingot-demo-moe": dict(hidden=256, layers=5, heads=4, kv_heads=2, ffn=224, experts=8, used=2),
}


def rms_norm(x, weight, eps):
    return (x.float() * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + eps)).to(
        x.dtype
    ) * weight


def rotate(x, cos, sin):
    """Rotary embedding, half-split. x [S, N, D], cos and sin [S, 1, D / 2]."""
    a, b = x.chunk(2, dim=-1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1)


class Attention(nn.Module):
    def __init__(self, s):
        super().__init__()
        self.s = s
        self.q_proj = nn.Linear(s.hidden, s.heads * s.head_size, bias=False)
        self.k_proj = nn.Linear(s.hidden, s.kv_heads * s.head_size, bias=False)
        self.v_proj = nn.Linear(s.hidden, s.kv_heads * s.head_size, bias=False)
        self.o_proj = nn.Linear(s.heads * s.head_size, s.hidden, bias=False)
        self.q_norm = nn.Parameter(torch.ones(s.head_size))
        self.k_norm = nn.Parameter(torch.ones(s.head_size))

    def forward(self, x, cos, sin, positions):
        s = self.s

        def heads(y):
            return y.view(len(x), -1, s.head_size)

        q = rotate(rms_norm(heads(self.q_proj(x)), self.q_norm, s.eps), cos, sin)
        k = rotate(rms_norm(heads(self.k_proj(x)), self.k_norm, s.eps), cos, sin)
        v = heads(self.v_proj(x))
        k, v = (y.repeat_interleave(s.heads // s.kv_heads, dim=1) for y in (k, v))
        mix, _ = attend(q.to(v.dtype), k.to(v.dtype), v, positions)
        return self.o_proj(mix.reshape(len(x), -1))


class Dense(nn.Module):
    def __init__(self, s):
        super().__init__()
        self.gate_proj = nn.Linear(s.hidden, s.ffn, bias=False)
        self.up_proj = nn.Linear(s.hidden, s.ffn, bias=False)
        self.down_proj = nn.Linear(s.ffn, s.hidden, bias=False)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x)), x.new_zeros(())


class Experts(nn.Module):
    """Softmax router, the best `used` renormalised. Computes all experts: simple, and fast enough
    at this size."""

    def __init__(self, s):
        super().__init__()
        self.s = s
        self.gate = nn.Linear(s.hidden, s.experts, bias=False)
        scale = s.hidden**-0.5
        self.gate_proj = nn.Parameter(torch.randn(s.experts, s.ffn, s.hidden) * scale)
        self.up_proj = nn.Parameter(torch.randn(s.experts, s.ffn, s.hidden) * scale)
        self.down_proj = nn.Parameter(torch.randn(s.experts, s.hidden, s.ffn) * s.ffn**-0.5)

    def forward(self, x):
        s = self.s
        shares = self.gate(x).float().softmax(-1)
        top, chosen = shares.topk(s.used, dim=-1)
        weight = torch.zeros_like(shares).scatter(-1, chosen, top / top.sum(-1, keepdim=True))
        act = F.silu(x @ self.gate_proj.transpose(1, 2)) * (x @ self.up_proj.transpose(1, 2))
        out = ((act * weight.t().unsqueeze(-1).to(act.dtype)) @ self.down_proj.transpose(1, 2)).sum(
            0
        )
        # Switch Transformer's balance loss (arXiv:2101.03961): 1 when all experts are used alike.
        balance = s.experts * ((weight > 0).float().mean(0) / s.used * shares.mean(0)).sum()
        return out, balance


class Layer(nn.Module):
    def __init__(self, s):
        super().__init__()
        self.s = s
        self.input_layernorm = nn.Parameter(torch.ones(s.hidden))
        self.self_attn = Attention(s)
        self.post_attention_layernorm = nn.Parameter(torch.ones(s.hidden))
        self.mlp = Experts(s) if s.experts else Dense(s)

    def forward(self, x, cos, sin, positions):
        x = x + self.self_attn(rms_norm(x, self.input_layernorm, self.s.eps), cos, sin, positions)
        y, balance = self.mlp(rms_norm(x, self.post_attention_layernorm, self.s.eps))
        return x + y, balance


class Model(nn.Module):
    """ids and positions [B, T] to logits [B, T, V]; a row attends within its document, which begins
    where the positions do."""

    def __init__(self, shape):
        super().__init__()
        self.s = shape
        self.embed_tokens = nn.Parameter(torch.randn(shape.vocab, shape.hidden) * 0.02)
        self.layers = nn.ModuleList(Layer(shape) for _ in range(shape.layers))
        self.norm = nn.Parameter(torch.ones(shape.hidden))
        for layer in self.layers:
            for last in (
                layer.self_attn.o_proj.weight,
                getattr(layer.mlp.down_proj, "weight", layer.mlp.down_proj),
            ):
                nn.init.zeros_(last)

    def forward(self, ids, positions):
        s, shape = self.s, ids.shape
        ids, positions = ids.flatten(), positions.flatten()
        pairs = torch.arange(0, s.head_size, 2, dtype=torch.float32, device=ids.device)
        inverse = s.theta ** (-pairs / s.head_size)
        angle = positions[:, None, None].float() * inverse
        x = self.embed_tokens[ids]
        cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
        balance = x.new_zeros((), dtype=torch.float32)
        for layer in self.layers:
            x, b = layer(x, cos, sin, positions)
            balance = balance + b
        logits = rms_norm(x, self.norm, s.eps) @ self.embed_tokens.t()
        return logits.view(*shape, s.vocab), balance / s.layers


@torch.no_grad()
def start_from_dense(model, dense):
    """Starts a model with experts where a dense one of the same sizes ended (sparse upcycling,
    arXiv:2212.05055). Each expert takes some of the FFN's neurons, drawn anew for each, and the
    used ones together give what the whole gave, on average. `dense` is its state_dict.
    """
    s = model.s
    own = model.state_dict()
    shared = {name: value for name, value in dense.items() if name in own}
    model.load_state_dict(shared, strict=False)
    for number, layer in enumerate(model.layers):
        gate, up, down = (
            dense[f"layers.{number}.mlp.{kind}_proj.weight"] for kind in ("gate", "up", "down")
        )
        # The shares of the used experts add up to 1, so each counts 1 / used.
        scale = gate.shape[0] / s.ffn
        for expert in range(s.experts):
            neurons = torch.randperm(gate.shape[0])[: s.ffn]
            layer.mlp.gate_proj[expert] = gate[neurons]
            layer.mlp.up_proj[expert] = up[neurons]
            layer.mlp.down_proj[expert] = down[:, neurons] * scale


def config_json(shape, eos):
    """config.json of a Hugging Face folder."""
    s = asdict(shape)
    config = {
        "architectures": ["Qwen3MoeForCausalLM" if s["experts"] else "Qwen3ForCausalLM"],
        "model_type": "qwen3_moe" if s["experts"] else "qwen3",
        "hidden_size": s["hidden"],
        "num_hidden_layers": s["layers"],
        "num_attention_heads": s["heads"],
        "num_key_value_heads": s["kv_heads"],
        "head_dim": s["head_size"],
        "intermediate_size": s["ffn"],
        "vocab_size": s["vocab"],
        "max_position_embeddings": s["context"],
        "rope_theta": s["theta"],
        "rms_norm_eps": s["eps"],
        "hidden_act": "silu",
        "attention_bias": False,
        "tie_word_embeddings": True,
        "torch_dtype": "bfloat16",
        "eos_token_id": eos,
    }
    if s["experts"]:
        config |= {
            "num_experts": s["experts"],
            "num_experts_per_tok": s["used"],
            "moe_intermediate_size": s["ffn"],
            "norm_topk_prob": True,
            "decoder_sparse_step": 1,
            "mlp_only_layers": [],
        }
    return config


def named_tensors(model):
    """The tensors under the names of a Hugging Face folder."""
    out = {}
    for name, value in model.state_dict().items():
        if ".mlp." in name and value.dim() == 3:
            prefix, kind = name.rsplit(".", 1)
            for i, expert in enumerate(value):
                out[f"model.{prefix}.experts.{i}.{kind}.weight"] = expert
        else:
            out[f"model.{name}" if name.endswith(".weight") else f"model.{name}.weight"] = value
    return out
