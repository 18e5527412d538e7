#!/usr/bin/env bash
# Makes all demo models from nothing, under four hours on two cores; goes on where it was stopped.
#
# usage: tools/demo_model/make.sh
#
# PyTorch goes into build/demo_model/venv (several GB, from PyPI), checkpoints and Hugging Face
# folders beside it, what is shipped into models/. Needs the release build of ingot.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
out=build/demo_model
python=$out/venv/bin/python
ingot=build/release/ingot

if [ ! -x "$ingot" ]; then
  echo "error: no $ingot: run cmake --preset release && cmake --build --preset release" >&2
  exit 1
fi
if [ ! -x "$python" ]; then
  python3 -m venv "$out/venv"
  "$out/venv/bin/pip" install --quiet torch numpy safetensors matplotlib
fi

train() { "$python" -B -u tools/demo_model/train.py "$@" --out "$out" --seed 1; }

draft_and_adapter() {
  train ingot-demo-draft --tokens 15e6 --threads 1
  "$python" -B -u tools/demo_model/lora.py --threads 1 --base "$out/ingot-demo" \
    --out models/ingot-demo-pirate
}

train ingot-demo --tokens 40e6 --last 7e6 --threads 2
# What builds on it, a core each.
draft_and_adapter >"$out/draft_and_adapter.log" 2>&1 &
others=$!
train ingot-demo-moe --tokens 8e6 --threads 1 --start "$out/ingot-demo"
wait "$others"

for name in ingot-demo ingot-demo-draft ingot-demo-moe; do
  rm -f "models/$name.gguf"
  "$ingot" quantize "$out/$name" "models/$name.gguf" --type Q8_0
done
"$python" -B tools/demo_model/golden.py models/ingot-demo.gguf --tokenizer "$out/tokenizer.json" \
  --out tests/built_in
"$python" -B tools/demo_model/evaluate.py models/ingot-demo.gguf --full
