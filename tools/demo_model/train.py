#!/usr/bin/env python3
"""Trains a demo model; an interrupted training continues where it stopped.

usage: train.py NAME --out build/demo_model [--tokens 40e6 ...] [--seed 1] [--threads N]
[--start FOLDER] [--device cpu | cuda]

A training has up to three parts, with these numbers of tokens (0: none); corpus.py describes them.

Writes into OUT/NAME: state.pt (every few minutes; a later run continues from it), log.tsv,
loss.png, and in the end a Hugging Face folder (config.json, model.safetensors in BF16,
tokenizer.json, tokenizer_config.json).
"""

import argparse
import hashlib
import itertools
import json
import os
import time
from pathlib import Path

import torch
from safetensors.torch import save_file

import corpus
import muon
from document import END, IM_END, SPECIALS
from model import SHAPES, Model, Shape, config_json, named_tensors, start_from_dense
from template import CHAT_TEMPLATE
from tokenizer import Tokenizer, is_control

STEP_TOKENS = 8192
ROWS = [512, 256, 512, 256, 1024]  # lengths of the rows of consecutive steps
LATER_ROWS = [1024]  # in the later parts
LATER_RATE = 0.4  # the share of the full rate with which these begin
SHARD_STEPS = 50  # steps drawn from one seed, so that a run can continue after any 50 steps
PROMPT_WEIGHT = 0.1
SAVE_SECONDS = 240


def packed_steps(tokenizer, seed, shard, part):
    """The batches of a shard: ids, positions, weights [rows, length + 1] each."""
    documents = corpus.training(f"{seed} {shard}", part)
    lengths = LATER_ROWS if part else ROWS
    for step in range(SHARD_STEPS):
        length = lengths[step % len(lengths)]
        yield [pack_row(tokenizer, documents, length + 1) for _ in range(STEP_TOKENS // length)]


def encode(tokenizer, document):
    """Ids and the weight with which each is learned."""
    ids, weights = [], []
    for text, learned in document.pieces:
        piece = tokenizer.encode(text)
        ids += piece
        weights += [1.0 if learned else PROMPT_WEIGHT] * len(piece)
    return ids, weights


def pack_row(tokenizer, documents, length):
    """Documents one after the other, the last one cut: ids, positions and weights, `length`
    each."""
    row = ([], [], [])
    while len(row[0]) < length:
        ids, weights = encode(tokenizer, next(documents))
        room = length - len(row[0])
        if len(ids) > room > 64 and row[0]:
            # Fills a row's end with a short document, if one comes soon, rather than cutting one.
            for _ in range(8):
                if len(ids) <= room:
                    break
                ids, weights = encode(tokenizer, next(documents))
        ids, weights = ids[:room], weights[:room]
        weights[0] = 0.0  # nothing comes before it
        for column, values in zip(row, (ids, range(len(ids)), weights)):
            column.extend(values)
    return row


def to_tensors(rows):
    ids, positions, weights = (torch.tensor(column) for column in zip(*rows))
    return ids, positions, weights


def learning_rate(step, steps):
    """Share of the full rate: warm-up, constant, the last 40 % linearly to zero."""
    return min(1.0, (step + 1) / (0.02 * steps), (steps - step) / (0.4 * steps))


def later_rate(step, steps, is_first):
    """The rate of a later part: linearly to zero, warmed up if it is the first part."""
    begun = min(1.0, (step + 1) / (0.05 * steps)) if is_first else 1.0
    return LATER_RATE * begun * (steps - step) / steps


def build_tokenizer(seed):
    return Tokenizer.from_documents(itertools.islice(corpus.training(f"{seed} tokenizer"), 60_000))


@torch.no_grad()
def exact_match(model, tokenizer, seed, count=100):
    """Share of held-out answers, by domain, whose every token is the most likely one: what greedy
    decoding gives."""
    scores = {}
    for domain in corpus.SHARES:
        if domain in ("story", "story_chat"):
            continue
        hits = 0
        for item in corpus.test_documents(seed, domain, count):
            ids, answer = encode_answer(tokenizer, item)
            ids = ids.to(model.embed_tokens.device)
            positions = torch.arange(len(ids), device=ids.device)[None]
            logits, _ = model(ids[None], positions)
            hits += bool((logits[0, answer - 1 : -1].argmax(-1) == ids[answer:]).all())
        scores[domain] = hits / count
    return scores


def losses_of(model, ids, positions):
    """The loss of each token after a row's first, and how evenly experts were used."""
    logits, balance = model(ids[:, :-1], positions[:, :-1])
    losses = torch.nn.functional.cross_entropy(
        logits.float().flatten(0, 1), ids[:, 1:].reshape(-1), reduction="none"
    )
    return losses, balance


def encode_answer(tokenizer, document):
    """Ids up to the end of the last answer, and where that begins."""
    pieces = document.pieces[:-1]  # the line break after it
    before = [i for text, _ in pieces[:-1] for i in tokenizer.encode(text)]
    return torch.tensor(before + tokenizer.encode(pieces[-1][0])), len(before)


def export(model, tokenizer, folder):
    """Writes the model as a Hugging Face folder, in BF16."""
    shape = model.s
    tensors = {
        name: value.to(torch.bfloat16).contiguous() for name, value in named_tensors(model).items()
    }
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    eos = [tokenizer.ids[IM_END], tokenizer.ids[END]]
    write_json(folder / "config.json", config_json(shape, eos))
    write_json(folder / "tokenizer.json", tokenizer.hugging_face())
    write_json(
        folder / "tokenizer_config.json",
        {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "add_bos_token": False,
            "bos_token": None,
            "eos_token": IM_END,
            "pad_token": END,
            "model_max_length": shape.context,
            "chat_template": CHAT_TEMPLATE,
            "additional_special_tokens": [t for t in SPECIALS if is_control(t)],
        },
    )


def write_json(path, value):
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def plot(log, path):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    lines = [line.split("\t") for line in log.read_text().splitlines()]
    pyplot.figure(figsize=(7, 4))
    pyplot.plot(
        [int(f[0]) * STEP_TOKENS / 1e6 for f in lines], [float(f[1]) for f in lines], linewidth=0.8
    )
    pyplot.xlabel("million tokens")
    pyplot.ylabel("loss of the answers")
    pyplot.yscale("log")
    pyplot.savefig(path, dpi=120, bbox_inches="tight")
    pyplot.close()


def load_state(folder):
    """What a run has kept in its folder, on the CPU whichever device it trained on."""
    return torch.load(Path(folder) / "state.pt", map_location="cpu")


def whole_shards(tokens):
    """The steps of all whole shards in `tokens`."""
    return int(tokens) // STEP_TOKENS // SHARD_STEPS * SHARD_STEPS


class Run:
    """A training run and what it keeps in its folder."""

    def __init__(self, args):
        self.args = args
        self.folder = Path(args.out) / args.name
        self.folder.mkdir(parents=True, exist_ok=True)
        torch.manual_seed(args.seed)
        self.tokenizer = self._tokenizer()
        # Drawn on the CPU and moved then: the same start on every device.
        self.model = Model(Shape(vocab=len(self.tokenizer.pieces), **SHAPES[args.name]))
        self.model.to(args.device)
        self.parts = [whole_shards(tokens) for tokens in args.tokens]
        self.steps = sum(self.parts)
        self.optimizers = muon.optimizers(self.model)
        self.step = 0
        if not self._resume() and args.start:
            start_from_dense(self.model, load_state(args.start)["model"])

    def _tokenizer(self):
        path = Path(self.args.out) / "tokenizer.json"
        if not path.exists():
            write_json(path, build_tokenizer(self.args.seed).hugging_face())
        return Tokenizer.load(path)

    def _resume(self):
        """Continues from the state in the folder, if there is one."""
        path = self.folder / "state.pt"
        if not path.exists():
            return False
        state = load_state(self.folder)
        began = state.get("belongs_to", self._belongs_to())
        for what, value in self._belongs_to().items():
            if began[what] != value:
                raise SystemExit(f"{path}: its {what} is {began[what]}, not {value}: remove it")
        self.model.load_state_dict(state["model"])
        for optimizer, kept in zip(self.optimizers, state["optimizers"]):
            optimizer.load_state_dict(kept)
        self.step = state["step"]
        log = self.folder / "log.tsv"
        lines = log.read_text().splitlines(keepends=True) if log.exists() else []
        by_step = {int(line.split("\t")[0]): line for line in lines}
        log.write_text("".join(by_step[i] for i in sorted(by_step) if i < self.step))
        print(f"goes on at step {self.step} of {self.steps}", flush=True)
        return True

    def _belongs_to(self):
        pieces = "\0".join(self.tokenizer.pieces).encode()
        return {
            "seed": self.args.seed,
            "steps of the first part": self.parts[0],
            "tokenizer": hashlib.sha256(pieces).hexdigest()[:16],
        }

    def save(self):
        state = {
            "belongs_to": self._belongs_to(),
            "model": self.model.state_dict(),
            "optimizers": [o.state_dict() for o in self.optimizers],
            "step": self.step,
        }
        torch.save(state, self.folder / "state.tmp")
        os.replace(self.folder / "state.tmp", self.folder / "state.pt")

    def _part(self):
        """The number of the part that the next step belongs to, and its first step."""
        part, first = 0, 0
        while self.step >= first + self.parts[part]:
            first += self.parts[part]
            part += 1
        return part, first

    def _rate(self):
        """Share of the full rate at the next step."""
        part, first = self._part()
        step, steps = self.step - first, self.parts[part]
        return later_rate(step, steps, first == 0) if part else learning_rate(step, steps)

    def train(self):
        compiled = torch.compile(losses_of) if self.args.compile else losses_of
        log, saved, began, first = self.folder / "log.tsv", time.time(), time.time(), self.step
        while self.step < self.steps:
            part = self._part()[0]
            shard = self.step // SHARD_STEPS
            for rows in packed_steps(self.tokenizer, self.args.seed, shard, part):
                loss = self._one_step(compiled, to_tensors(rows))
                with log.open("a") as file:
                    file.write(f"{self.step}\t{loss:.5f}\n")
                self.step += 1
                if self.step % 10 == 0:
                    speed = (self.step - first) * STEP_TOKENS / (time.time() - began)
                    print(
                        f"step {self.step}/{self.steps} loss {loss:.4f} {speed:.0f} tokens/s",
                        flush=True,
                    )
            if time.time() - saved > SAVE_SECONDS or self.step >= self.steps:
                self.save()
                plot(log, self.folder / "loss.png")
                saved = time.time()
            if self.step % (SHARD_STEPS * 10) == 0:
                print(
                    json.dumps(exact_match(self.model.eval(), self.tokenizer, self.args.seed, 20)),
                    flush=True,
                )
                self.model.train()

    def _one_step(self, compiled, batch):
        ids, positions, weights = (t.to(self.args.device) for t in batch)
        share = self._rate()
        with torch.autocast(self.args.device, dtype=torch.bfloat16):
            losses, balance = compiled(self.model, ids, positions)
        # The first token of a document is not predicted from the one before it.
        weight = weights[:, 1:].reshape(-1)
        loss = (losses * weight).sum() / weight.sum()
        (loss + 0.01 * balance).backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        for optimizer in self.optimizers:
            for group in optimizer.param_groups:
                group["lr"] = group["full_lr"] * share
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        learned = weights[:, 1:].reshape(-1) == 1.0
        return losses.detach()[learned].mean().item()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", choices=sorted(SHAPES))
    parser.add_argument("--out", default="build/demo_model")
    parser.add_argument("--tokens", type=float, nargs="+", default=[40e6], help="of each part")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--start", help="a trained dense model's folder, for one with experts")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--no-compile", dest="compile", action="store_false")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    run = Run(args)
    run.train()
    export(run.model, run.tokenizer, run.folder)
    print(json.dumps(exact_match(run.model.eval(), run.tokenizer, args.seed, 200)), flush=True)


if __name__ == "__main__":
    main()
