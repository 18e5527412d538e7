# Shell functions for all scripts: messages, installation of missing packages, stages.
# shellcheck shell=bash

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
case "${INGOT_SHARED:-}" in
  "" | /*) ;;
  *) export INGOT_SHARED=$PWD/$INGOT_SHARED ;; # tests run in folders of their own
esac
shared=${INGOT_SHARED:-$root/../shared}
cd "$root"
export LC_ALL=C.UTF-8 PYTHONDONTWRITEBYTECODE=1
jobs=$(nproc)

build_packages=(g++ cmake ninja-build ccache python3 libgtest-dev nlohmann-json3-dev libxxhash-dev
  libcli11-dev libspdlog-dev libutf8proc-dev libpcre2-dev libcurl4-openssl-dev
  libboost1.81-dev libssl-dev zlib1g-dev prometheus-cpp-dev)
check_packages=(clang clang-format clang-tidy libclang-rt-14-dev libbenchmark-dev binutils
  locales python3-jinja2 python3-regex python3-pexpect python3-jsonschema)

say() { printf '%s\n' "$*"; }

# run COMMAND...: prints the command as one would type it, then runs it.
run() {
  printf '$'
  printf ' %q' "$@"
  printf '\n'
  "$@"
}

# install_missing PACKAGE...: installs missing packages with apt; needs network and root only if a
# package is missing.
install_missing() {
  local package missing=() as_root=()
  for package in "$@"; do
    if [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" != installed ]; then
      missing+=("$package")
    fi
  done
  if [ ${#missing[@]} -eq 0 ]; then
    say "all $# packages are installed"
    return 0
  fi
  if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
      say "error: missing packages, and neither root nor sudo to install them: ${missing[*]}" >&2
      return 1
    fi
    as_root=(sudo)
  fi
  say "installing ${missing[*]}"
  local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq
    -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0)
  "${apt[@]}" update </dev/null
  "${apt[@]}" install --no-install-recommends "${missing[@]}" </dev/null >/dev/null
}

# ccache keeps its files in the home folder, or in the build folder if that is not writable.
cache=${CCACHE_DIR:-${XDG_CACHE_HOME:-${HOME:-/nonexistent}/.cache}/ccache}
if ! mkdir -p "$cache" 2>/dev/null || [ ! -w "$cache" ]; then
  export CCACHE_DIR=$root/build/ccache
fi
