#!/bin/sh
# Builds CSotto.xcframework on a Mac with Xcode: the headers and the static libraries for macOS, iOS and its simulator.
# The Swift package uses it instead of an installed library.
#   sh platforms/apple/make_xcframework.sh [DIRECTORY]     the default is platforms/swift
set -eu

root=$(CDPATH= cd -- "$(dirname -- "$0")/../.." && pwd)
output=${1:-$root/platforms/swift}
framework=$output/CSotto.xcframework

for tool in xcodebuild cmake ninja flatc; do
  if ! command -v "$tool" >/dev/null 2>&1; then
    printf 'make_xcframework.sh: %s is missing\n' "$tool" >&2
    exit 1
  fi
done

headers=$root/build/xcframework/headers
rm -rf "$headers" "$framework"
mkdir -p "$headers" "$output"
cp "$root"/capi/include/*.h "$headers"
printf 'module CSotto {\n  header "sotto.h"\n  export *\n}\n' >"$headers/module.modulemap"

cd "$root"
set --
for preset in macos ios ios-simulator; do
  cmake --preset "$preset" -DSOTTO_BUILD_TOOLS=OFF
  cmake --build --preset "$preset" --target sotto_static
  set -- "$@" -library "$root/build/$preset/lib/libsotto.a" -headers "$headers"
done
xcodebuild -create-xcframework "$@" -output "$framework"
