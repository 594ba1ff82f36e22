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

  demo [PROMPT [OPTION...]]   build the program sotto and continue PROMPT ("$default_prompt") with
                              the demo model; the options are those of \`sotto generate\`
  build                       build the programs and libraries, so that \`cmake --install
                              build/release\` can follow
  test [PRESET]               build everything and run the tests; PRESET is release (the default),
                              debug, asan, tsan, msan or bindings: those of the other languages, in
                              build/release, with the toolchains that Debian has for them;
                              x86-32: the libraries and fuzz targets for 32-bit x86, with the
                              sanitizers of asan;
                              coverage: which lines and branches of the libraries the tests reach;
                              rpi-aarch64 or rpi-armv7: for ARM, under emulation (-cpus added: only
                              what runs on several CPUs, in a few minutes);
                              small or rpi-aarch64-small: the library with basic sampling only;
                              bare: the same in scalar code that needs no system;
                              consumer: a project that includes the library, per build type;
                              amalgamation: the library as two files, compiled with a compiler alone;
                              amalgamation-targets: the same for many systems, with Zig's compiler;
                              packages: those of \`release\`, made twice, installed and used;
                              debian: packages for Debian, checked by lintian, installed and used;
                              style or tidy: formatting and the API reference, or clang-tidy;
                              baremetal: firmware for a Cortex-M7, run by QEMU (Debian's compiler
                              for it takes 2.5 GB);
                              linux-musl or wasm32: with Zig's compiler, for static programs and for
                              WebAssembly with the npm package; windows-x86_64: the same, run by
                              Wine; macos: for a Mac's library, and windows-arm64, which are only
                              built
  release DIRECTORY           make the packages of all channels from the last commit
  help                        this text

Each command first installs the Debian packages that are missing, then builds into build/PRESET.
SOTTO_CMAKE_OPTIONS  more options for the configuration, separated by spaces
SOTTO_DEPENDENCY_SOURCES  for ARM, a directory with the archives of platforms/dependencies.txt
TEXT
}

say() { printf '== %s\n' "$*" >&2; }
fail() { printf 'run.sh: %s\n' "$*" >&2; exit 1; }
misuse() { printf 'run.sh: %s\n' "$*, see \`sh platforms/run.sh help\`" >&2; exit 2; }
has() { command -v "$1" >/dev/null 2>&1; }

packages="g++ cmake ninja-build python3 pkgconf libflatbuffers-dev flatbuffers-compiler
nlohmann-json3-dev libedit-dev libcpp-httplib-dev libssl-dev libgtest-dev"

# On ARM also the tools that download XNNPACK.
download_packages="curl ca-certificates"
case $(uname -m) in aarch64|arm64) packages="$packages $download_packages" ;; esac

# Prints the packages that dpkg does not report as installed, on one line.
missing_packages() {
  for package in $packages; do
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
and the development files of FlatBuffers (with flatc), nlohmann-json and GoogleTest"
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
  # shellcheck disable=SC2086  # word splitting is intended: one word per package
  if ! { as_root apt-get update && as_root apt-get install -y --no-install-recommends $missing; } \
      >"$log" 2>&1 </dev/null; then
    cat "$log" >&2
    fail "apt-get failed. Without a network, install these some other way: $missing"
  fi
}

# Tools of the other languages: program, minimum version, argument that prints the version, Debian package, and its
# minimum version.
toolchains="rustc 1.63 --version rustc 1.63
cargo 1.60 --version cargo 0.60
go 1.16 version golang-go 1.16
javac 17 --version default-jdk-headless 0
python3 3.9 --version python3 3.9"

# at_least LEAST VERSION
at_least() { [ "$(printf '%s\n%s\n' "$1" "$2" | sort -V | head -n 1)" = "$1" ]; }

# new_enough PROGRAM LEAST ARGUMENT
new_enough() {
  has "$1" || return 1
  version=$("$1" "$3" 2>/dev/null | sed -n 's/^[^0-9]*\([0-9][0-9.]*\).*/\1/p' | head -n 1)
  [ -n "$version" ] && at_least "$2" "$version"
}

# Installs the Debian packages of the tools that PATH lacks or has in an older version. Tests whose tools are missing
# are skipped.
install_toolchains() {
  has apt-get || return 0
  is_updated=
  printf '%s\n' "$toolchains" | while read -r tool least argument package least_package; do
    if new_enough "$tool" "$least" "$argument"; then continue; fi
    if [ -z "$is_updated" ]; then as_root apt-get update >/dev/null 2>&1 </dev/null || true; fi
    is_updated=1
    candidate=$(LC_ALL=C apt-cache policy "$package" | sed -n 's/^ *Candidate: \([0-9]*:\)\{0,1\}//p')
    if [ -z "$candidate" ] || [ "$candidate" = '(none)' ] || ! at_least "$least_package" "$candidate"; then
      say "$tool $least is not available here; its tests will be skipped"
    elif ! (packages=$package; install_packages); then
      say "$package could not be installed: its tests will be skipped"
    fi
  done
}

# install_python_tools NAME PACKAGE...: installs packages into a new environment, build/tools/NAME.
install_python_tools() {
  tools=$root/build/tools/$1
  shift
  if [ -f "$tools/installed" ]; then return 0; fi
  say "Installing $* into $tools"
  if ! { python3 -m venv "$tools" && "$tools/bin/python3" -m pip install -q "$@"; } >&2; then
    fail "$* could not be installed. Without a network, name a directory with these wheels in PIP_FIND_LINKS, and set \
PIP_NO_INDEX=1"
  fi
  touch "$tools/installed"
}

# Installs Zig's compiler, and what runs programs for WASI.
install_zig() { install_python_tools zig ziglang==0.17.0 wasmtime==50.0.1; }

# build PRESET [TARGETS]
build() {
  install_packages
  configuration=${1%-cpus}
  directory=build/$configuration
  configure=${SOTTO_CMAKE_OPTIONS:-}
  if [ "$1" = bindings ]; then
    install_toolchains
    directory=build/release
    configure=always
  fi
  case $1 in
    linux-musl|wasm32|macos|windows-*) [ "$(uname -s)" = Darwin ] || install_zig ;;
    style|tidy) install_python_tools style clang-format==14.0.6 clang-tidy==14.0.6 ;;
  esac
  cd "$root"
  if [ "$1" = style ]; then return 0; fi
  if [ ! -f "$directory/build.ninja" ] || [ -n "$configure" ]; then
    say "Configuring $directory"
    # shellcheck disable=SC2086  # word splitting is intended: one word per option
    cmake --preset "$configuration" ${SOTTO_CMAKE_OPTIONS:-} >&2
  fi
  say "Building ${2:-everything} in $directory"
  # shellcheck disable=SC2086  # one word per target
  cmake --build --preset "$1" ${2:+--target $2} >&2
}

# release DIRECTORY: makes the packages. Zig's compiler makes libraries for other machines and for older systems.
release() {
  has npm || packages="$packages nodejs npm"
  install_packages
  install_toolchains
  install_zig
  python3 -B "$root/platforms/packages/release.py" "$1" --zig "$root/build/tools/zig/bin/python3"
}

command=${1:-}
[ $# -eq 0 ] || shift
case ${1:-} in -h|--help) command=help ;; esac
case $command in
  demo)
    prompt=${1-$default_prompt}
    [ $# -eq 0 ] || shift
    build release sotto_cli
    [ -f "$demo_model" ] || fail "$demo_model is missing"
    [ $# -gt 0 ] || set -- -n 200
    exec "$root/build/release/bin/sotto" generate -m "$demo_model" -p "$prompt" "$@"
    ;;
  build)
    [ $# -eq 0 ] || misuse "build takes no arguments"
    build release "sotto_cli sotto-convert sotto sotto_static"  # what `cmake --install` needs
    ;;
  test)
    preset=${1-release}
    case $preset in
      consumer|amalgamation|packages) ;;
      amalgamation-targets) packages="$packages python3-venv qemu-user wine64 wine" ;;
      debian) packages="$packages debhelper lintian" ;;
      release|debug) packages="$packages abigail-tools" ;;
      asan|msan) packages="$packages clang libclang-rt-dev" ;;
      x86-32) packages="$packages clang libclang-rt-dev libc6-dev-i386 lib32stdc++-12-dev" ;;
      tsan|coverage|bindings|small|bare) ;;
      rpi-aarch64|rpi-aarch64-cpus|rpi-aarch64-small) packages="$packages $download_packages g++-aarch64-linux-gnu qemu-user" ;;
      baremetal) packages="$packages gcc-arm-none-eabi libnewlib-arm-none-eabi
libstdc++-arm-none-eabi-newlib qemu-system-arm" ;;
      rpi-armv7|rpi-armv7-cpus) packages="$packages g++-arm-linux-gnueabihf qemu-user" ;;
      linux-musl) packages="$packages python3-venv" ;;
      wasm32) packages="$packages python3-venv"; has node || packages="$packages nodejs" ;;
      windows-x86_64) packages="$packages python3-venv wine64 wine" ;;
      macos|windows-arm64) packages="$packages $download_packages python3-venv" ;;
      style) packages="$packages python3-venv doxygen" ;;
      tidy) packages="$packages python3-venv" ;;
      *) misuse "there is no preset '$preset' to test" ;;
    esac
    [ $# -le 1 ] || misuse "test takes one preset"
    if [ "$preset" = consumer ]; then
      install_packages
      cd "$root"
      exec python3 -B tests/consumer/check_build_types.py . --output build/consumer --deps build/deps
    fi
    if [ "$preset" = amalgamation ]; then
      install_packages
      exec python3 -B "$root/platforms/amalgamation/check.py"
    fi
    if [ "$preset" = amalgamation-targets ]; then
      install_packages
      install_zig
      exec "$root/build/tools/zig/bin/python3" -B "$root/platforms/amalgamation/targets.py"
    fi
    if [ "$preset" = debian ]; then
      install_packages
      rm -rf "$root/build/debian"
      python3 -B "$root/platforms/debian/build.py" "$root/build/debian"
      as_root python3 -B "$root/platforms/debian/check.py" "$root/build/debian"
      exit
    fi
    if [ "$preset" = packages ]; then
      rm -rf "$root/build/packages" && mkdir -p "$root/build/packages"
      release "$root/build/packages/first"
      release "$root/build/packages/second"
      diff -r "$root/build/packages/first" "$root/build/packages/second" || fail "the same commit gave other bytes"
      exec python3 -B "$root/platforms/packages/check.py" "$root/build/packages/first"
    fi
    build "$preset"
    case $preset in
      macos) exit 0 ;;
      coverage) exec python3 -B tests/tools/coverage.py build/coverage ;;
      style)
        tools=$root/build/tools/style/bin
        exec python3 -B tests/tools/check_style.py . --format "$tools/clang-format" --doxygen doxygen --output build/reference ;;
      tidy) exec python3 -B tests/tools/check_style.py . --tidy "$root/build/tools/style/bin/clang-tidy" --build build/tidy ;;
    esac
    exec ctest --preset "$preset" -j "$(getconf _NPROCESSORS_ONLN)"
    ;;
  release)
    [ $# -eq 1 ] || misuse "release takes one directory"
    release "$1"
    ;;
  help|-h|--help) usage ;;
  '') usage >&2; exit 2 ;;
  *) misuse "there is no command '$command'" ;;
esac
