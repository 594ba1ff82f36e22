#!/bin/bash -eu
# Builds the fuzz targets of tests/fuzz with their corpora and dictionaries into $OUT, as ClusterFuzzLite and OSS-Fuzz
# expect it. They set CC, CXX, CFLAGS, CXXFLAGS, LIB_FUZZING_ENGINE, SRC, WORK and OUT.
cmake -S "$SRC/sotto" -B "$WORK/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DSOTTO_LIBFUZZER=ON
ninja -C "$WORK/build" fuzz_targets
for target in "$WORK"/build/bin/fuzz_*; do
  name=${target##*/fuzz_}
  cp "$target" "$OUT/"
  zip -jq "$OUT/fuzz_${name}_seed_corpus.zip" "$SRC/sotto/tests/fuzz/corpus/$name"/*
  dictionary=$SRC/sotto/tests/fuzz/dictionaries/$name.dict
  [ ! -e "$dictionary" ] || cp "$dictionary" "$OUT/fuzz_$name.dict"
done
