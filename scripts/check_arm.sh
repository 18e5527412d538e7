#!/usr/bin/env bash
# Compiles ingot-digest for 64-bit Arm and runs it under QEMU's user mode. On tiny models of every
# format and KV type, its NEON kernels must give the digests of this machine's scalar kernels.
#
# usage: scripts/check_arm.sh
#
# Needs the release build (scripts/test.sh makes it); installs Debian's cross compiler and QEMU.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

install_missing g++-aarch64-linux-gnu qemu-user
build=build/aarch64
run cmake -S . -B "$build" -G Ninja --log-level=WARNING -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_TOOLCHAIN_FILE=cmake/aarch64/toolchain.cmake -DINGOT_DIGEST_ONLY=ON -DINGOT_WERROR=ON \
  -DINGOT_PRECOMPILED=OFF
run cmake --build "$build" --parallel "$jobs" -- --quiet
native=build/release/tests/cross/ingot-digest
arm=(qemu-aarch64 -L /usr/aarch64-linux-gnu "$build/tests/cross/ingot-digest")
model=$(mktemp --suffix=.gguf)
trap 'rm -f "$model"' EXIT

# compare KV_TYPE WHAT: compares both Arm kernel tables with this machine's scalar table.
compare() {
  local table want got
  want=$("$native" "$model" scalar "$1")
  for table in scalar neon; do
    got=$("${arm[@]}" "$model" "$table" "$1")
    if [ "$got" != "$want" ]; then
      say "error: $2, KV type $1, $table on Arm: digest $got, not $want" >&2
      exit 1
    fi
    compared=$((compared + 1))
  done
}

compared=0
for format in F32 F16 BF16 Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q2_K Q3_K Q4_K Q5_K Q6_K IQ4_NL IQ4_XS MXFP4; do
  for shape in tiny tiny-moe; do
    build/release/ingot synth "$shape" "$model" --type "$format" >/dev/null
    compare f32 "$shape in $format"
  done
done
for kv_type in f16 bf16 int8; do compare "$kv_type" "$shape in $format"; done
say "$compared runs on Arm gave the digests of this machine"
