#!/usr/bin/env bash
# Fails if an object that was compiled for one instruction set defines a weak symbol.
#
# usage: tools/check_isa_symbols.sh OBJECT...     NM chooses another nm, for cross builds
#
# Templates and inline functions become weak symbols, and the linker keeps one copy of each for the
# whole program: the copy with AVX-512 in it could be the one that every machine runs.
set -euo pipefail

if [ $# -eq 0 ]; then
  echo "usage: tools/check_isa_symbols.sh OBJECT..." >&2
  exit 64
fi

status=0
for object in "$@"; do
  # V, W: weak with a definition; u: unique global, the same danger for variables. DW.ref.* point
  # at the runtime's exception handler and hold no code.
  names=$("${NM:-nm}" --demangle --defined-only "$object" |
    sed -nE 's/^[0-9a-fA-F]* +[VWu] (.*)$/\1/p' | { grep -v '^DW\.ref\.' || true; })
  if [ -n "$names" ]; then
    while IFS= read -r name; do
      printf '%s: weak symbol: %s\n' "$object" "$name" >&2
    done <<<"$names"
    status=1
  fi
done
exit $status
