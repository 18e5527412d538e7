#!/usr/bin/env python3
"""Measures in PyTorch what the engine cannot measure yet: the adapter's style and facts, and how
often the draft's best token is the main model's.

usage: measure.py adapter | draft [--out build/demo_model] [--adapter models/ingot-demo-pirate]
"""

import argparse
import json
from pathlib import Path

import corpus
import torch
import train
from document import IM_END
from lora import is_pirate, pirate_words, without_style
from model import SHAPES, Model, Shape
from safetensors.torch import load_file
from tokenizer import Tokenizer

TALK = ["facts", "simple", "follow_up", "unknown", "story_chat"]


def load(folder, name, tokenizer):
    model = Model(Shape(vocab=len(tokenizer.pieces), **SHAPES[name]))
    model.load_state_dict(train.load_state(folder / name)["model"])
    return model.eval()


def add_adapter(model, folder):
    """Adds scale B A of a PEFT folder to the matrices that it names."""
    config = json.loads((folder / "adapter_config.json").read_text())
    scale = config["lora_alpha"] / config["r"]
    tensors = load_file(folder / "adapter_model.safetensors")
    matrices = dict(model.named_parameters())
    for name, a in tensors.items():
        if name.endswith(".lora_A.weight"):
            b = tensors[name.replace("lora_A", "lora_B")]
            target = name.removeprefix("base_model.model.model.").replace(".lora_A", "")
            matrices[target].data += scale * (b @ a)


def logits_of(model, ids):
    positions = torch.arange(len(ids))[None]
    return model(ids[None], positions)[0][0]


@torch.no_grad()
def reply(model, tokenizer, ids, limit=80):
    end = tokenizer.ids[IM_END]
    said = []
    while len(said) < limit:
        text = torch.cat((ids, torch.tensor(said, dtype=torch.long)))
        said.append(int(logits_of(model, text)[-1].argmax()))
        if said[-1] == end:
            break
    return tokenizer.decode(said).removesuffix(IM_END)


def measure_adapter(args, tokenizer):
    model = load(args.out, "ingot-demo", tokenizer)
    add_adapter(model, args.adapter)
    style = []
    for domain in TALK:
        for document in corpus.test_documents(args.seed, domain, 100 // len(TALK)):
            ids, answer = train.encode_answer(tokenizer, document)
            style.append(is_pirate(reply(model, tokenizer, ids[:answer])))
    facts = []
    for document in corpus.test_documents(args.seed, "facts", 100):
        ids, answer = train.encode_answer(tokenizer, document)
        wanted = pirate_words(document.messages[-1]["content"])
        facts.append(without_style(reply(model, tokenizer, ids[:answer])) == wanted)
    return {"style": sum(style) / len(style), "facts": sum(facts) / len(facts)}


@torch.no_grad()
def measure_draft(args, tokenizer):
    main, draft = (load(args.out, name, tokenizer) for name in ("ingot-demo", "ingot-demo-draft"))
    shares = {}
    for domain in corpus.SHARES:
        same = []
        for document in corpus.test_documents(args.seed, domain, 50):
            pieces = [(tokenizer.encode(text), learned) for text, learned in document.pieces]
            ids = torch.tensor([i for piece, _ in pieces for i in piece])[: main.s.context]
            learned = torch.tensor([flag for piece, flag in pieces for _ in piece])[: len(ids)]
            equal = logits_of(main, ids).argmax(-1) == logits_of(draft, ids).argmax(-1)
            same.append(equal[:-1][learned[1:]])
        shares[domain] = torch.cat(same).float().mean().item()
    return {"mean": sum(shares.values()) / len(shares), **shares}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["adapter", "draft"])
    parser.add_argument("--out", type=Path, default=Path("build/demo_model"))
    parser.add_argument("--adapter", type=Path, default=Path("models/ingot-demo-pirate"))
    parser.add_argument("--seed", type=int, default=11)
    args = parser.parse_args()
    tokenizer = Tokenizer.load(args.out / "tokenizer.json")
    measure = {"adapter": measure_adapter, "draft": measure_draft}[args.what]
    print(json.dumps(measure(args, tokenizer), indent=1))


if __name__ == "__main__":
    main()
