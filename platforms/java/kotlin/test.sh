#!/bin/sh
# Compiles the extensions for Kotlin with their test, and runs it: test.sh MVN OUTPUT_DIRECTORY JAR JAVA [OPTION...].
# Without the compiler, which Maven fetches, the test is skipped.
set -eu
maven=$1 output=$2 jar=$3
shift 3
mkdir -p "$output"
log=$output/maven.log
if ! "$maven" -B -q -f kotlin/pom.xml "-Doutput.directory=$output/classes" compile dependency:build-classpath \
    "-Dmdep.outputFile=$output/classpath" >"$log" 2>&1; then
  cat "$log"
  if grep -qE 'Could not (transfer|resolve|find)|Unknown host|offline mode' "$log"; then
    echo "skipped: Maven could not fetch the Kotlin compiler"
    exit 77
  fi
  exit 1
fi
exec "$@" -cp "$jar:$output/classes/classes:$(cat "$output/classpath")" io.github.sotto.FlowTestKt "$SOTTO_DEMO_MODEL"
