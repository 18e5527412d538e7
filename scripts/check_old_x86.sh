#!/usr/bin/env bash
# Runs ingot-digest as on x86-64 processors without AVX-512, under QEMU's user mode: the program
# must start there, and give the digests of this machine's scalar kernels.
#
# usage: scripts/check_old_x86.sh
#
# Needs the release build for x86-64 (scripts/test.sh makes it); installs QEMU.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

if [ "$(uname -m)" != x86_64 ]; then
  say "left out: this machine is no x86-64"
  exit 0
fi
install_missing qemu-user
digest=build/release/tests/cross/ingot-digest
model=$(mktemp --suffix=.gguf)
trap 'rm -f "$model"' EXIT

# compare CPU TABLE WHAT: compares a table on an emulated processor with this machine's scalar one.
compare() {
  local want got
  want=$("$digest" "$model" scalar bf16)
  # QEMU warns of features that it leaves out.
  got=$(qemu-x86_64 -cpu "$1" "$digest" "$model" "$2" bf16 2>/dev/null) || got="none: it has failed"
  if [ "$got" != "$want" ]; then
    say "error: $3, $2 on $1: digest $got, not $want" >&2
    exit 1
  fi
  compared=$((compared + 1))
}

compared=0
for format in BF16 Q8_0 Q4_K; do
  build/release/ingot synth tiny "$model" --type "$format" >/dev/null
  compare Nehalem scalar "$format"
  compare Haswell avx2-novnni "$format"
done
say "$compared runs on older processors gave the digests of this machine"
