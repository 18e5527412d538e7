#!/usr/bin/env python3
"""Compares log-probabilities with a LoRA adapter that PEFT made to PEFT's own, on a GGUF model.

usage: bench/adapter_accuracy.py MODEL.gguf [--rank 16] [--ingot PATH]

Makes an adapter with random matrices for all linear layers of MODEL, which transformers
dequantises. Prints, with the adapter and without, the mean and the largest distance between
ingot's log-probabilities and those of PEFT in float32. Needs torch, transformers, peft and gguf.
"""
import argparse
import os
import subprocess
import tempfile

import numpy
import peft
import torch
import transformers

TEXTS = ["def quicksort(items):\n    if len(items) <= 1:\n        return items\n",
         "The capital of France is Paris, and the capital of Italy is Rome. The river Seine",
         "import os\n\n\ndef read(path):\n    with open(path, \"rb\") as file:\n        return"]


def log_probabilities(logits, ids):
    logits = torch.as_tensor(logits, dtype=torch.float64)
    rows = torch.log_softmax(logits, dim=-1)
    return rows[torch.arange(len(ids) - 1), torch.as_tensor(ids[1:])].numpy()


def ingot_logits(args, ids, *more):
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "logits.npy")
        subprocess.run([args.ingot, "logits", args.model, "--tokens", ",".join(map(str, ids)),
                        "--out", out, "--kv-type", "f32", "--log-level", "warning", *more],
                       check=True)
        return numpy.load(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("--rank", type=int, default=16)
    parser.add_argument("--ingot", default="build/release/ingot")
    args = parser.parse_args()
    torch.manual_seed(1)
    folder, file = os.path.split(os.path.abspath(args.model))
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, gguf_file=file)
    base = transformers.AutoModelForCausalLM.from_pretrained(folder, gguf_file=file,
                                                             dtype=torch.float32)
    texts = [tokenizer(text).input_ids for text in TEXTS]

    def of_peft(model):
        with torch.no_grad():
            return [log_probabilities(model(torch.tensor([ids])).logits[0], ids) for ids in texts]

    def show(kind, want, *more):
        got = [log_probabilities(ingot_logits(args, ids, *more), ids) for ids in texts]
        errors = numpy.abs(numpy.concatenate(got) - numpy.concatenate(want))
        print(f"{kind}: mean {errors.mean():.4f}, largest {errors.max():.4f}, "
              f"{errors.size} tokens")

    plain = of_peft(base)
    show("without an adapter", plain)
    config = peft.LoraConfig(r=args.rank, lora_alpha=2 * args.rank, target_modules="all-linear",
                             task_type="CAUSAL_LM")
    model = peft.get_peft_model(base, config)
    for name, weight in model.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(weight, std=0.01)
    with tempfile.TemporaryDirectory() as out:
        model.save_pretrained(out)
        changed = of_peft(model)
        moved = numpy.abs(numpy.concatenate(changed) - numpy.concatenate(plain))
        print(f"the adapter moves them by: mean {moved.mean():.4f}, largest {moved.max():.4f}")
        show("with the adapter", changed, "--lora", out)


if __name__ == "__main__":
    main()
