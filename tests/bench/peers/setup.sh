#!/bin/sh
# Sets up the peers of `sotto-bench --peers DIRECTORY`: llama.cpp (built from source for this CPU), CTranslate2
# and ONNX Runtime GenAI in a Python environment of their own, and one synthetic GPT-2 124M in the format of each.
# Takes about a quarter of an hour on two cores and 3 GB; what is there already is kept.
set -eu

case ${1:-} in
  -h|--help) echo "usage: sh tests/bench/peers/setup.sh [DIRECTORY]    (default: build/peers; needs build/release)"; exit 0 ;;
  -*) echo "setup.sh: $1 is not an option; try --help" >&2; exit 2 ;;
esac
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
root=$(CDPATH= cd -- "$here/../../.." && pwd)
directory=${1:-$root/build/peers}
convert=${SOTTO_CONVERT:-$root/build/release/bin/sotto-convert}

[ -x "$convert" ] || { echo "setup.sh: $convert is missing: sh platforms/run.sh test builds it" >&2; exit 1; }
mkdir -p "$directory"
[ -x "$directory/venv/bin/python3" ] || python3 -m venv "$directory/venv"
# The published package of llama.cpp runs on every CPU, so it is slower than one built for this CPU. The code for AMX
# crashes on systems that do not provide the tile registers, such as most virtual machines.
options="-DGGML_NATIVE=ON"
if grep -q amx_int8 /proc/cpuinfo; then
  options="-DGGML_NATIVE=OFF -DGGML_SSE42=ON -DGGML_AVX2=ON -DGGML_FMA=ON -DGGML_F16C=ON -DGGML_BMI2=ON -DGGML_AVX512=ON"
  options="$options -DGGML_AVX512_VBMI=ON -DGGML_AVX512_VNNI=ON -DGGML_AVX512_BF16=ON"
fi
CMAKE_ARGS="$options" "$directory/venv/bin/pip" install --quiet --no-cache-dir --no-binary llama-cpp-python \
  -r "$here/requirements.txt"
"$directory/venv/bin/python3" "$here/make_models.py" "$directory"
if [ ! -f "$directory/gpt2.sotto" ]; then
  "$convert" "$directory/checkpoint" -o "$directory/gpt2.sotto" --pack native --quiet
fi
if [ ! -f "$directory/gpt2-int4.sotto" ]; then
  "$convert" "$directory/checkpoint" -o "$directory/gpt2-int4.sotto" --weights int4 --head int4 --quiet
fi
echo "Now: $root/build/release/bin/sotto-bench --peers $directory"
