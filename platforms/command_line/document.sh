# Writes the manual page of a program and its completions for bash, zsh and fish.
#   sh document.sh DIRECTORY NAME MANUAL COMPLETION PROGRAM [ARGUMENT...]
# MANUAL and COMPLETION are the words with which the program prints them.
set -eu
directory=$1 name=$2 manual=$3 completion=$4
shift 4
mkdir -p "$directory"
# The words are separated by spaces.
# shellcheck disable=SC2086
"$@" $manual >"$directory/$name.1"
for shell in bash zsh fish; do
  # shellcheck disable=SC2086
  "$@" $completion "$shell" >"$directory/$name.$shell"
done
