#!/usr/bin/env bash
# Tests check_isa_symbols.sh: an object without weak symbols passes; weak symbols are named.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

cat >"$folder/strong.cpp" <<'CODE'
namespace { template <class T> T twice(T a) { return a + a; } }
static inline int thrice(int a) { return 3 * a; }
int strong(int a) { return twice(a) + thrice(a); }
CODE
cat >"$folder/weak.cpp" <<'CODE'
template <class T> T twice(T a) { return a + a; }
template float twice(float);
inline int counter = 1;
int* place() { return &counter; }
CODE
for name in strong weak; do
  "${CXX:-c++}" -std=c++20 -O0 -c "$folder/$name.cpp" -o "$folder/$name.o"
done

"$here/check_isa_symbols.sh" "$folder/strong.o"
if report=$("$here/check_isa_symbols.sh" "$folder/strong.o" "$folder/weak.o" 2>&1); then
  echo "check_isa_symbols_test: weak.o was accepted" >&2
  exit 1
fi
for expected in 'weak.o: weak symbol: float twice<float>(float)' 'weak.o: weak symbol: counter'; do
  if [[ $report != *"$expected"* ]]; then
    printf 'check_isa_symbols_test: no "%s" in:\n%s\n' "$expected" "$report" >&2
    exit 1
  fi
done
if "$here/check_isa_symbols.sh" "$folder/absent.o" 2>/dev/null; then
  echo "check_isa_symbols_test: a missing object was accepted" >&2
  exit 1
fi
echo "check_isa_symbols_test: passed"
