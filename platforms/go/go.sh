#!/bin/sh
# Runs Go 1.23 or later: go.sh GO DIRECTORY ARGUMENT... where GO may be older. Go 1.21 and later fetch the toolchain
# themselves; for older ones it is fetched as a module into DIRECTORY. If that fails, the test is skipped.
set -eu
go=$1 directory=$2
shift 2
number=$("$go" env GOVERSION | sed 's/^go//')
if [ "$(printf '%s\n1.21\n' "$number" | sort -V | head -n 1)" = 1.21 ]; then exec "$go" "$@"; fi

module=golang.org/toolchain@v0.0.1-go1.23.4.$("$go" env GOOS)-$("$go" env GOARCH)
root=$directory/pkg/mod/$module
if [ ! -f "$root/ready" ]; then
  mkdir -p "$directory"
  if ! (cd "$directory" && GOPATH=$directory GOFLAGS=-modcacherw "$go" mod download "$module"); then
    echo "skipped: Go is $number, and could not fetch 1.23"
    exit 77
  fi
  chmod +x "$root"/bin/* "$root"/pkg/tool/*/*
  [ ! -f "$root/src/_go.mod" ] || mv "$root/src/_go.mod" "$root/src/go.mod" # no module may contain another
  touch "$root/ready"
fi
unset GOROOT
GOTOOLCHAIN=local exec "$root/bin/go" "$@"
