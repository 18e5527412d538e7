#!/usr/bin/env bash
# Makes all demo models from nothing, under four hours on two cores; continues where it was stopped
# (the adapter, which takes minutes, begins anew).
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
mkdir -p "$out"
exec 9>"$out/lock"
if ! flock -n 9; then
  echo "error: another tools/demo_model/make.sh is at work in $out" >&2
  exit 1
fi
if [ ! -x "$python" ]; then
  python3 -m venv "$out/venv"
  "$out/venv/bin/pip" install --quiet torch==2.15.0 numpy==2.4.6 safetensors==0.8.0 \
    matplotlib==3.11.2 regex==2026.11.15
fi

tool() {
  local name=$1
  shift
  "$python" -B -u "tools/demo_model/$name" "$@"
}
train() { tool train.py "$@" --out "$out" --seed 1; }

draft_and_adapter() {
  train ingot-demo-draft --tokens 15e6 --threads 1
  tool lora.py --threads 1 --base "$out/ingot-demo" --out "$out/ingot-demo-pirate"
}

experts() { train ingot-demo-moe --tokens 0 4e6 4e6 --threads 1 --start "$out/start/ingot-demo"; }

if [ ! -d "$out/start" ]; then
  train ingot-demo --tokens 40e6 12e6 --threads 2
  rm -rf "$out/start.tmp"
  mkdir "$out/start.tmp"
  cp -r "$out/ingot-demo" "$out/start.tmp/"
  mv "$out/start.tmp" "$out/start"
fi
# What begins there, a core each.
experts >"$out/experts.log" 2>&1 &
others=$!
trap 'pkill -P "$others" 2>/dev/null; kill "$others" 2>/dev/null' EXIT
train ingot-demo --tokens 40e6 12e6 8e6 --threads 1
draft_and_adapter
wait "$others"
trap - EXIT

for name in ingot-demo ingot-demo-draft ingot-demo-moe; do
  rm -f "models/$name.gguf"
  "$ingot" quantize "$out/$name" "models/$name.gguf" --type Q8_0
done
cp "$out/ingot-demo/loss.png" models/ingot-demo-loss.png
mkdir -p models/ingot-demo-pirate
cp "$out"/ingot-demo-pirate/adapter_{config.json,model.safetensors} models/ingot-demo-pirate/
tool golden.py models/ingot-demo.gguf --tokenizer "$out/tokenizer.json" --out tests/built_in

# The figures of the model card.
tool measure.py draft --out "$out"
tool measure.py adapter --out "$out" --adapter models/ingot-demo-pirate
for type in Q4_0 Q4_K; do
  "$ingot" quantize "$out/ingot-demo" "$out/ingot-demo-$type.gguf" --type "$type"
  tool evaluate.py "$out/ingot-demo-$type.gguf" --full --against models/ingot-demo.gguf
done
tool evaluate.py models/ingot-demo-moe.gguf --full --against models/ingot-demo.gguf
