#!/usr/bin/env bash
# Installs missing packages, builds, and runs the checks that every change must pass; prints each
# stage's result and seconds. Needs only Bash and apt (root or sudo, Debian 12); running it again is
# safe. CONTRIBUTING.md has a table of the stages.
#
# usage: scripts/test.sh [--full]
#
# --full runs the slow checks too: long random runs of the release build's tests, the official
# clients of the server's API from PyPI, all tests under the address and thread sanitizers, a minute
# of fuzzing for each target, clang-tidy over the whole tree, a Clang build, a debug build (without
# its tests), a build for Arm that runs under an emulator.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

full=no
case "$*" in
  "") ;;
  --full) full=yes ;;
  *)
    say "usage: scripts/test.sh [--full]" >&2
    exit 64
    ;;
esac
times=()
failed=()
logs=build/logs

# stage NAME COMMAND...: runs the command and stores its output. After a failure, the next stage
# still runs.
stage() {
  local name=$1 start=$SECONDS status
  shift
  say "== $name"
  mkdir -p "$logs"
  set +e
  (
    set -euo pipefail
    "$@"
  ) 2>&1 | tee "$logs/$name.log"
  status=${PIPESTATUS[0]}
  set -e
  local seconds=$((SECONDS - start))
  if [ $status -eq 0 ]; then
    times+=("$(printf '%6d s  %s' $seconds "$name")")
    say "-- $name: passed in $seconds s"
  else
    times+=("$(printf '%6d s  %s  FAILED' $seconds "$name")")
    failed+=("$name")
    say "-- $name: FAILED (exit $status) after $seconds s"
  fi
}

# cxx_files: lists the project's C++ files, each ended by a NUL.
cxx_files() {
  local folders=() folder
  for folder in src include examples tests bench tools; do
    if [ -d "$folder" ]; then folders+=("$folder"); fi
  done
  find "${folders[@]}" -type f \
    \( -name '*.h' -o -name '*.c' -o -name '*.cpp' -o -name '*.inl' \) -print0
}

check_tools() {
  local test
  for test in tools/*_test.py; do
    run python3 "$test"
  done
  for test in tools/*_test.sh; do
    run bash "$test"
  done
  run python3 tools/chat_path.py
  run python3 bench/plot_results.py --check
}

check_format() { cxx_files | xargs -0 -r -n 32 -P "$jobs" clang-format --dry-run -Werror; }

# build PRESET [OPTION...]: configures and builds a preset.
build() {
  local preset=$1
  shift
  run cmake --preset "$preset" --log-level=WARNING "$@"
  run cmake --build --preset "$preset" --parallel "$jobs" -- --quiet
}

# run_tests PRESET [OPTION...]: runs a build's tests; CTest's options can select some of them.
run_tests() {
  local preset=$1
  shift
  local results=$root/build/$preset/tests.xml status=0
  rm -f "$results"
  # Tests of the program wait for their child processes, so one more test can run at once.
  run ctest --preset "$preset" --parallel $((jobs + 1)) --no-tests=error \
    --output-junit "$results" "$@" || status=$?
  if [ $status -ne 0 ] && [ -f "$results" ]; then run python3 tools/failed_tests.py "$results"; fi
  return $status
}

build_and_test() {
  build "$@"
  run_tests "$1"
}

# Builds and tests with the full counts of random tests; under sanitizers they would take hours.
build_and_test_long() {
  export INGOT_FULL=1
  build_and_test "$@"
}

# Makes the environments for clients_test.py and quick_starts_test.py in tests/server; without them
# the tests are skipped. Some libraries need an older openai than the others.
make_clients_venvs() {
  local name venv
  install_missing python3-venv
  for name in clients older-clients; do
    venv=build/$name-venv
    if [ ! -x "$venv/bin/pip" ]; then run python3 -m venv "$venv"; fi
    run "$venv/bin/pip" install --quiet --disable-pip-version-check -r "tests/server/$name.txt"
  done
}

# Checks that objects for one instruction set have no code that the linker may use on all machines.
check_isa_objects() {
  local objects=() object
  while IFS= read -r -d '' object; do
    objects+=("$object")
  done < <(find build/release -path '*/isa/*.o' -print0)
  if [ ${#objects[@]} -eq 0 ]; then
    say "no objects for special instruction sets in this build"
    return 0
  fi
  run tools/check_isa_symbols.sh "${objects[@]}"
}

# bench PROGRAM [FILTER]: runs the benchmarks with matching names; fails if there are none, which
# the program itself does not report.
bench() {
  local program=build/release/bench/$1 filter=--benchmark_filter=${2:-.}
  if [ -z "$("$program" "$filter" --benchmark_list_tests)" ]; then
    say "error: $1 has no benchmark that matches ${2:-.}" >&2
    return 1
  fi
  run "$program" "$filter" --benchmark_min_time=0.001
}

# Checks that benchmarks run. Their figures would need a quiet machine and more time.
check_benches() {
  bench linear_bench '^linear.*/(F32|Q4_K)/rows:1$'
  bench linear_bench '^limit.*/Q4_K/rows:1/'
  bench pool_bench
  bench sampler_bench top_p_logprobs
  bench engine_bench engine_step/16
}

# Runs the address sanitizer over code that reads foreign bytes, and over the scalar kernels, which
# instantiate the templates of all tables.
asan_gate() {
  local tests=(load_test constraint_test text_test hub_test server_test op_test)
  run cmake --preset asan --log-level=WARNING -DINGOT_KERNEL_TABLES=scalar
  run cmake --build --preset asan --parallel "$jobs" --target "${tests[@]}" fuzzers -- --quiet
  local names=${tests[*]}
  run_tests asan --tests-regex "^(${names// /|})(_[0-9]+)?\$"
  fuzz 0
}

# check_tidy [OPTION...]: runs tidy.py, whose joined units miss only unused using declarations.
check_tidy() {
  if [ ! -f build/release/compile_commands.json ]; then
    say "error: the release build was not configured" >&2
    return 1
  fi
  run python3 tools/tidy.py build/release --jobs "$jobs" "$@"
}

# fuzz_one SECONDS PROGRAM: replays a target's corpus, then fuzzes it unless SECONDS is 0. Prints at
# the end: the whole output after a failure, otherwise the number of inputs.
fuzz_one() {
  local seconds=$1 target=$2 name corpus work report status=0 fuzz=run
  name=$(basename "$target")
  corpus=tests/fuzz/corpus/$name
  work=build/fuzz-work/$name
  if [ -z "$(ls "$corpus" 2>/dev/null)" ]; then
    say "error: no corpus in $corpus" >&2
    return 1
  fi
  mkdir -p "$work"
  local options=(-timeout=2 -rss_limit_mb=512 -malloc_limit_mb=256 -print_final_stats=1
    -verbosity=0 "-artifact_prefix=$work-")
  if [ -f "tests/fuzz/$name.dict" ]; then options+=("-dict=tests/fuzz/$name.dict"); fi
  if [ "$seconds" -eq 0 ]; then fuzz=true; fi
  report=$(
    run "$target" "${options[@]}" -runs=0 "$corpus" 2>&1 &&
      $fuzz "$target" "${options[@]}" "-max_total_time=$seconds" "$work" "$corpus" 2>&1
  ) || status=1
  if [ $status -eq 0 ]; then
    report="$name: $(awk '/^stat::number_of_executed_units/ { n += $2 } END { print n }' \
      <<<"$report") inputs"
  fi
  printf '%s\n' "$report"
  return $status
}

# fuzz SECONDS: replays the corpora, then fuzzes each target for SECONDS. The targets are part of
# the asan build.
fuzz() {
  local seconds=$1 target targets=()
  run cmake --build --preset asan --parallel "$jobs" --target fuzzers -- --quiet
  while IFS= read -r -d '' target; do
    targets+=("$target")
  done < <(find build/asan -type f -name 'fuzz_*' -perm -u+x ! -name '*.*' -print0 | sort -z)
  if [ ${#targets[@]} -eq 0 ]; then
    say "error: the asan build made no fuzz_* program" >&2
    return 1
  fi
  # ASan may hold back little freed memory, because it counts towards the memory limit.
  export ASAN_OPTIONS=quarantine_size_mb=32:detect_leaks=1
  ulimit -s 256
  export -f fuzz_one run say
  printf '%s\0' "${targets[@]}" |
    xargs -0 -n 1 -P "$jobs" bash -c 'fuzz_one "$1" "$2"' fuzz "$seconds"
}

if [ -d "$shared" ]; then
  say "shared data: $shared"
else
  say "shared data: none at $shared, the tests that need it are skipped"
fi

stage "packages" install_missing "${build_packages[@]}" "${check_packages[@]}"
stage "style" run python3 tools/check_style.py
stage "tools" check_tools
stage "format" check_format
if [ $full = yes ]; then
  stage "clients" make_clients_venvs
  stage "release (long runs)" build_and_test_long release -DINGOT_BENCH=ON
else
  stage "release" build_and_test release -DINGOT_BENCH=ON
fi
stage "bench runs" check_benches
stage "isa objects" check_isa_objects
if [ $full = yes ]; then
  stage "clang-tidy (one by one)" check_tidy --batch 1
  stage "asan" build_and_test asan -DINGOT_KERNEL_TABLES=all
  stage "fuzz (a minute each)" fuzz 60
  stage "clang" build_and_test clang
  stage "tsan" build_and_test tsan
  stage "debug (build only)" build debug
  stage "arm" scripts/check_arm.sh
  stage "older x86-64" scripts/check_old_x86.sh
else
  stage "clang-tidy (changed files)" check_tidy --changed
  stage "asan (foreign bytes, scalar kernels)" asan_gate
fi

say "== summary: $SECONDS s on $jobs cores"
printf '%s\n' "${times[@]}"
if [ ${#failed[@]} -ne 0 ]; then
  for name in "${failed[@]}"; do
    say "== the end of what failed: $name"
    tail -n 120 "$logs/$name.log"
  done
  say "test: FAILED: $(printf '[%s] ' "${failed[@]}")"
  exit 1
fi
say "test: all passed"
