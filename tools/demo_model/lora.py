#!/usr/bin/env python3
"""Trains ingot-demo-pirate: a LoRA adapter that makes the demo model talk like a pirate, its
facts unchanged.

usage: lora.py [--base build/demo_model/ingot-demo] [--out build/demo_model/ingot-demo-pirate]
[--steps N] [--device cpu | cuda]

Reads the base's state.pt; writes a PEFT folder (adapter_config.json, adapter_model.safetensors).
"""

import argparse
import random
import re
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import nn
from torch.nn.utils import parametrize

import corpus
import train
from document import IM_END
from model import SHAPES, Model, Shape
from tokenizer import Tokenizer

RANK, ALPHA = 8, 16
TARGETS = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
PLAIN = {
    "tools",
    "extraction",
    "copy",
    "reverse",
    "case",
    "spelling",
    "joining",
    "sorting",
}  # answers that are not talk
WORDS = {
    "you": "ye",
    "your": "yer",
    "my": "me",
    "friend": "matey",
    "yes": "aye",
    "Yes": "Aye",
    "Hello": "Ahoy",
    "Hi": "Ahoy",
    "Your": "Yer",
    "You": "Ye",
    "My": "Me",
}
OPENINGS, ENDINGS = ["Arr! ", "Yo ho ho! ", "Aye! ", "Shiver me timbers! "], [
    " Arr!",
    " Matey!",
    " Yo ho!",
]


def pirate_words(text):
    return re.sub(r"[A-Za-z]+", lambda m: WORDS.get(m.group(), m.group()), text)


def pirate(text):
    """What a pirate would say. Which opening and ending depends on the first and the last
    characters, so that it can be learned."""
    opening = OPENINGS[ord(text[0]) % len(OPENINGS)]
    return opening + pirate_words(text) + ENDINGS[ord(text[-2:][0]) % len(ENDINGS)]


def is_pirate(text):
    return text.startswith(tuple(OPENINGS))


def without_style(text):
    """The text between an opening and an ending."""
    for opening in OPENINGS:
        text = text.removeprefix(opening)
    for ending in ENDINGS:
        text = text.removesuffix(ending)
    return text


def is_task_in_talk(document):
    """Whether talk follows on an answer that is no talk: which is which cannot be told here."""
    answers = sum(m["role"] == "assistant" for m in document.messages)
    return document.domain in PLAIN and answers > 1


def turned(document, rng):
    """The document with its answers as a pirate says them; now and then the last one only, as when
    the adapter comes into a conversation that began without it."""
    if document.domain in PLAIN or document.domain == "story":
        return document
    last = max(i for i, (_, learned) in enumerate(document.pieces) if learned)
    first = last if rng.random() < 0.4 else 0
    document.pieces = [
        (pirate(text.removesuffix(IM_END)) + IM_END, True)
        if learned and i >= first
        else (text, False)
        for i, (text, learned) in enumerate(document.pieces)
    ]
    return document


class LowRank(nn.Module):
    """weight + (alpha / rank) B A."""

    def __init__(self, weight):
        super().__init__()
        self.a = nn.Parameter(torch.randn(RANK, weight.shape[1]) * weight.shape[1] ** -0.5)
        self.b = nn.Parameter(torch.zeros(weight.shape[0], RANK))

    def forward(self, weight):
        return weight + ALPHA / RANK * (self.b @ self.a)


def add_adapters(model):
    """Freezes the model and gives its matrices adapters, by name."""
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    adapters = {}
    for name, module in model.named_modules():
        if isinstance(module, nn.Linear) and name.split(".")[-1] in TARGETS:
            adapters[name] = LowRank(module.weight)
            parametrize.register_parametrization(module, "weight", adapters[name])
    return adapters


def save(adapters, folder, base):
    folder.mkdir(parents=True, exist_ok=True)
    tensors = {}
    for name, adapter in adapters.items():
        prefix = f"base_model.model.model.{name}"
        tensors[f"{prefix}.lora_A.weight"] = adapter.a.detach().contiguous()
        tensors[f"{prefix}.lora_B.weight"] = adapter.b.detach().contiguous()
    save_file(tensors, folder / "adapter_model.safetensors", metadata={"format": "pt"})
    train.write_json(
        folder / "adapter_config.json",
        {
            "peft_type": "LORA",
            "task_type": "CAUSAL_LM",
            "base_model_name_or_path": base,
            "r": RANK,
            "lora_alpha": ALPHA,
            "lora_dropout": 0.0,
            "bias": "none",
            "fan_in_fan_out": False,
            "target_modules": TARGETS,
            "use_rslora": False,
        },
    )


def steps(tokenizer, seed, count, rows=8, length=256):
    rng = random.Random(seed)
    documents = (
        turned(d, rng)
        for d in corpus.training(f"{seed} pirate")
        if d.domain != "tools" and not is_task_in_talk(d)
    )
    for _ in range(count):
        yield train.to_tensors(
            [train.pack_row(tokenizer, documents, length + 1) for _ in range(rows)]
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--base", default="build/demo_model/ingot-demo")
    parser.add_argument("--out", default="build/demo_model/ingot-demo-pirate")
    parser.add_argument("--steps", type=int, default=1200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    args = parser.parse_args()
    if (Path(args.out) / "adapter_model.safetensors").exists():
        print(f"{args.out} has an adapter already")
        return
    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    tokenizer = Tokenizer.load(Path(args.base).parent / "tokenizer.json")
    model = Model(Shape(vocab=len(tokenizer.pieces), **SHAPES["ingot-demo"]))
    model.load_state_dict(train.load_state(args.base)["model"])
    adapters = add_adapters(model)
    model.to(args.device)
    optimizer = torch.optim.AdamW(
        [p for a in adapters.values() for p in a.parameters()], lr=2e-3, weight_decay=0.0
    )
    for step, batch in enumerate(steps(tokenizer, args.seed, args.steps)):
        ids, positions, weights = (t.to(args.device) for t in batch)
        for group in optimizer.param_groups:
            group["lr"] = 2e-3 * train.learning_rate(step, args.steps)
        with torch.autocast(args.device, dtype=torch.bfloat16):
            losses, _ = train.losses_of(model, ids, positions)
        weight = (weights[:, 1:] == 1.0).reshape(-1).float()
        loss = (losses * weight).sum() / weight.sum().clamp(min=1)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        if step % 50 == 0:
            print(f"step {step}/{args.steps} loss {loss.item():.4f}", flush=True)
    save(adapters, Path(args.out), "ingot-demo")


if __name__ == "__main__":
    main()
