#!/bin/sh
# One command from a fresh checkout to a result, on a machine that may have nothing installed yet.
# See `sh platforms/run.sh help`.
set -eu

root=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
demo_model=$root/platforms/models/demo.sotto
default_prompt="Once upon a time"

usage() {
  cat <<TEXT
usage: sh platforms/run.sh COMMAND

  demo [PROMPT [OPTION...]]   continue PROMPT ("$default_prompt") with the demo model; the options
                              are those of \`sotto generate\`
  test [PRESET]               build everything and run the tests; PRESET is release (the default),
                              debug, asan or tsan
  help                        this text

Each command first installs the Debian packages that are missing, then builds into build/PRESET.
SOTTO_CMAKE_OPTIONS  more options for the configuration, separated by spaces
SOTTO_DEPENDENCY_SOURCES  directory with the archives of platforms/dependencies.txt
TEXT
}

say() { printf '== %s\n' "$*" >&2; }
fail() { printf 'run.sh: %s\n' "$*" >&2; exit 1; }
has() { command -v "$1" >/dev/null 2>&1; }

packages="g++ cmake ninja-build python3 pkgconf libflatbuffers-dev flatbuffers-compiler
libcli11-dev nlohmann-json3-dev libgtest-dev"

# The packages that dpkg does not report as installed, on one line.
missing_packages() {
  downloader=curl
  if has wget; then downloader=; fi
  for package in $packages $downloader ca-certificates; do
    case $(dpkg-query -W -f '${Status}\n' "$package" 2>/dev/null) in
      *' installed'*) ;;
      *) printf '%s ' "$package" ;;
    esac
  done
}

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"
  else sudo -n env DEBIAN_FRONTEND=noninteractive NEEDRESTART_MODE=a "$@"; fi
}

install_packages() {
  if ! has dpkg-query || ! has apt-get; then
    for tool in c++ cmake ninja flatc python3; do
      has "$tool" || fail "$tool is missing. Needed: a C++20 compiler, CMake 3.25, Ninja, Python 3, pkg-config, \
and the development files of FlatBuffers (with flatc), CLI11, nlohmann-json and GoogleTest"
    done
    return 0
  fi
  missing=$(missing_packages)
  [ -n "$missing" ] || return 0
  if [ "$(id -u)" != 0 ] && ! { has sudo && sudo -n true 2>/dev/null; }; then
    fail "packages are missing and this user may not install them. As root: apt-get install $missing"
  fi
  mkdir -p "$root/build"
  log=$root/build/apt.log
  say "Installing $missing"
  export DEBIAN_FRONTEND=noninteractive NEEDRESTART_MODE=a
  # shellcheck disable=SC2086  # one word a package
  if ! { as_root apt-get update && as_root apt-get install -y --no-install-recommends $missing; } \
      >"$log" 2>&1 </dev/null; then
    cat "$log" >&2
    fail "apt-get failed; the packages needed are: $missing"
  fi
}

# build PRESET [TARGET]
build() {
  install_packages
  cd "$root"
  if [ ! -f "build/$1/build.ninja" ] || [ -n "${SOTTO_CMAKE_OPTIONS:-}" ]; then
    say "Configuring build/$1"
    # shellcheck disable=SC2086  # one word an option
    cmake --preset "$1" ${SOTTO_CMAKE_OPTIONS:-} >&2
  fi
  say "Building build/$1"
  cmake --build --preset "$1" ${2:+--target "$2"} >&2
}

command=${1:-}
[ $# -eq 0 ] || shift
case $command in
  demo)
    prompt=${1-$default_prompt}
    [ $# -eq 0 ] || shift
    build release sotto_cli
    [ -f "$demo_model" ] || fail "$demo_model is missing"
    [ $# -gt 0 ] || set -- -n 200
    exec "$root/build/release/bin/sotto" generate -m "$demo_model" -p "$prompt" "$@"
    ;;
  test)
    preset=${1-release}
    case $preset in release|debug|asan|tsan) ;; *) usage >&2; exit 2 ;; esac
    [ $# -le 1 ] || { usage >&2; exit 2; }
    build "$preset"
    exec ctest --preset "$preset" -j "$(getconf _NPROCESSORS_ONLN)"
    ;;
  help|-h|--help) usage ;;
  *) usage >&2; exit 2 ;;
esac
