#!/bin/sh
# Compiles a project in Kotlin with its test, and runs it: test.sh PROJECT CLASS MVN OUTPUT_DIRECTORY JAR JAVA
# [OPTION...]. Without the compiler, which Maven fetches, the test is skipped.
set -eu
project=$1 class=$2 maven=$3 output=$4 jar=$5
shift 5
mkdir -p "$output"
log=$output/maven.log
if ! "$maven" -B -q -f "$project/pom.xml" "-Doutput.directory=$output/classes" compile dependency:build-classpath \
    "-Dmdep.outputFile=$output/classpath" >"$log" 2>&1; then
  cat "$log"
  if grep -qE 'Could not (transfer|resolve|find)|Unknown host|offline mode' "$log"; then
    echo "skipped: Maven could not fetch the Kotlin compiler"
    exit 77
  fi
  exit 1
fi
exec "$@" -cp "$jar:$output/classes/classes:$(cat "$output/classpath")" "io.github.sotto.$class" "$SOTTO_DEMO_MODEL"
