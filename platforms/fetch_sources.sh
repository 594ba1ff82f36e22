#!/bin/sh
# fetch_sources.sh DEST [PACKAGE...]: downloads the archives pinned in dependencies.txt, or those of the given packages,
# to DEST and verifies their SHA-256. Looks in DEST, in $SOTTO_DEPENDENCY_SOURCES, on the package mirrors this Debian or
# Ubuntu machine is set up to use, and in third_party/ next to the checkout. Changes nothing outside DEST.
set -u

here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd) || exit 1
[ $# -ge 1 ] || { echo "usage: fetch_sources.sh DEST [PACKAGE...]" >&2; exit 2; }
dest=$1
shift
wanted=" $* "
mkdir -p -- "$dest" || exit 1

has() { command -v "$1" >/dev/null 2>&1; }

sha256() {
  if has sha256sum; then sha256sum <"$1"; else shasum -a 256 <"$1"; fi | cut -d ' ' -f 1
}

# matches FILE SHA256
matches() { [ -f "$1" ] && [ "$(sha256 "$1")" = "$2" ]; }

# download URL FILE
download() {
  if has curl; then curl -fsSL --retry 2 --connect-timeout 20 -o "$2" "$1"
  elif has wget; then wget -q -t 3 -T 60 -O "$2" "$1"
  else return 1; fi 2>/dev/null
}

mirrors() {
  if has apt-get; then
    apt-get indextargets --format '$(REPO_URI)' 2>/dev/null | sed 's|/*$||' | sort -u
  fi
}

# place PACKAGE VERSION SHA256: gets an archive from the first source that has the right bytes.
place() {
  file=$1_$2.orig.tar.xz
  part=$dest/.$file.$$
  matches "$dest/$file" "$3" && return 0
  if matches "${SOTTO_DEPENDENCY_SOURCES:-}/$file" "$3"; then
    cp -- "$SOTTO_DEPENDENCY_SOURCES/$file" "$part" && chmod u+w "$part" && mv -f -- "$part" "$dest/$file" && return 0
  fi
  for base in $mirrors; do
    for area in main universe; do
      if download "$base/pool/$area/$(printf %.1s "$1")/$1/$file" "$part" && matches "$part" "$3"; then
        echo "   $file"
        mv -f -- "$part" "$dest/$file" && return 0
      fi
    done
  done
  rm -f -- "$part"
  if matches "$here/../../shared/third_party/$file" "$3"; then
    echo "   $file (from the directory next to the checkout)"
    cp -- "$here/../../shared/third_party/$file" "$part" && chmod u+w "$part" && mv -f -- "$part" "$dest/$file" && return 0
  fi
  echo "fetch_sources.sh: no place has $file with SHA-256 $3" >&2
  return 1
}

mirrors=$(mirrors)
while read -r package version hash rest; do
  case $package in '#'*|'') continue ;; esac
  [ "$hash" != - ] || continue
  case $wanted in '  '|*" $package "*) ;; *) continue ;; esac
  place "$package" "$version" "$hash" || exit 1
done <"$here/dependencies.txt"
