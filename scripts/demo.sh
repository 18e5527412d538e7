#!/usr/bin/env bash
# Installs missing packages, builds ingot, and generates text with small models, last the built-in
# one. Needs only Bash and apt (root or sudo, Debian 12); running it again is safe and quick.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

if [ $# -ne 0 ]; then
  say "usage: scripts/demo.sh" >&2
  exit 64
fi

say "== 1. packages"
install_missing "${build_packages[@]}"

say "== 2. build"
run cmake --preset release --log-level=WARNING
run cmake --build --preset release --parallel "$jobs" --target ingot

say "== 3. a small model with random weights: the machinery is real, the text is noise"
run mkdir -p build/demo
run python3 tools/make_tiny_model.py build/demo/tiny.gguf
run build/release/ingot run build/demo/tiny.gguf -p "Once upon a time" --max-tokens 32
say ""

stories=$shared/data/models/stories260K/stories260K.gguf
if [ -f "$stories" ]; then
  say "== 4. a small model that was trained on children's stories"
  run build/release/ingot run "$stories" -p "Once upon a time" --max-tokens 200 --temperature 0
  say ""
else
  say "== 4. left out: no $stories (INGOT_SHARED names the folder of the shared data)"
fi
say "== 5. the built-in model: a story, and a chat with a tool call"
run build/release/ingot run -p "Once upon a time" --max-tokens 200
say ""
run build/release/ingot run --messages examples/weather.json
say ""
run build/release/ingot run --messages examples/weather_result.json
say ""
say "demo: done"
