"""Runs fuzz targets for many inputs and prints what each of them took, as a table in Markdown.

    python3 -B tests/tools/run_fuzz_targets.py build/release --executions 100000 [TARGET...]

The inputs are mutations of the committed corpora with words of the dictionaries, the same ones in every run; see tests/fuzz/regression_main.cpp. Each
target runs the given number of executions. Fails if a target fails, and prints its output.
"""
import argparse
import pathlib
import re
import resource
import subprocess
import sys

FUZZ = pathlib.Path(__file__).resolve().parents[1] / "fuzz"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--executions", type=int, default=100000)
    parser.add_argument("target", nargs="*", help="by default all")
    args = parser.parse_intermixed_args()
    targets = args.target or re.findall(r"sotto_fuzz\((\w+) LIBS", (FUZZ / "CMakeLists.txt").read_text())
    total, failures, before = 0, 0, 0.0
    print("| Target | Executions | CPU s | Result |\n|---|---:|---:|---|")
    for target in targets:
        corpus = FUZZ / "corpus" / target
        count = len(list(corpus.iterdir()))
        mutations = max(args.executions // count - 1, 0)
        dictionary = FUZZ / f"dictionaries/{target}.dict"
        done = subprocess.run([args.build.resolve() / f"bin/fuzz_{target}", corpus, str(mutations),
                               *([dictionary] if dictionary.exists() else [])],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = usage.ru_utime + usage.ru_stime
        result = "passed" if done.returncode == 0 else f"failed with status {done.returncode}"
        print(f"| {target} | {count * (mutations + 1):,} | {seconds - before:.0f} | {result} |", flush=True)
        before = seconds
        total += count * (mutations + 1)
        if done.returncode != 0:
            failures += 1
            print(done.stdout, file=sys.stderr)
    print(f"| all | {total:,} | {before:.0f} | {failures} failed |")
    return min(failures, 1)


if __name__ == "__main__":
    sys.exit(main())
