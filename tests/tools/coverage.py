"""Runs the tests of a build with counters, and prints the shares of lines and branches that they reach, as a table in
Markdown.

    sh platforms/run.sh test coverage
    python3 -B tests/tools/coverage.py build/coverage --report

The counters are gcov's, in the libraries; the tests themselves have none. A branch is one outcome of a condition, and
each operand of && and || is a condition. Neither outcome of a call that may throw counts. A line that is compiled
several times, for example in a template, is reached if one of its copies is.

Writes the shares per file and every line that was not reached completely into coverage.txt in the build directory.
Fails if a test fails. --report runs no tests and uses the counters of the last run.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
DIRECTORIES = ("runtime", "capi", "kernels", "converters")


def run_tests(build):
    for old in build.rglob("*.gcda"):
        old.unlink()
    return subprocess.run(["ctest", "--preset", "coverage", "-j", str(os.cpu_count())], cwd=ROOT).returncode


def read_counters(notes):
    """Returns gcov's description of the files that one object was compiled from."""
    done = subprocess.run(["gcov", "--json-format", "--stdout", "--branch-probabilities", notes], capture_output=True,
                          check=True, cwd=notes.parent)
    return json.loads(done.stdout)


def outcomes_of(branches):
    """Returns the counts of the outcomes of conditions. A call that may throw has two outcomes next to each other: the
    exception, and the next statement."""
    counts, i = [], 0
    while i < len(branches):
        pair = branches[i:i + 2]
        if len(pair) == 2 and sorted(branch["throw"] for branch in pair) == [False, True] and (
                any(branch["fallthrough"] for branch in pair if not branch["throw"])):
            i += 2
            continue
        if not branches[i]["throw"]:
            counts.append(branches[i]["count"])
        i += 1
    return counts


def collect(build):
    """Returns, for each source file, the counts of its lines and of its branches, by line."""
    files = collections.defaultdict(lambda: (collections.Counter(), collections.defaultdict(list)))
    objects = [notes for directory in DIRECTORIES for notes in (build / directory).rglob("*.gcno")]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for description in pool.map(read_counters, objects):
            base = pathlib.Path(description["current_working_directory"])
            for file in description["files"]:
                path = (base / file["file"]).resolve()
                if not path.is_relative_to(ROOT) or path.is_relative_to(build):
                    continue
                counts, outcomes = files[path.relative_to(ROOT)]
                for line in file["lines"]:
                    number = line["line_number"]
                    counts[number] += line["count"]
                    found, known = outcomes_of(line["branches"]), outcomes[number]
                    if len(known) == len(found):
                        outcomes[number] = [a + b for a, b in zip(known, found)]
                    elif len(known) < len(found):
                        outcomes[number] = found
    return files


class Share:
    """A number of lines or branches, and how many of them were reached."""

    def __init__(self, counts):
        counts = list(counts)
        self.total = len(counts)
        self.percent = 100 * sum(count > 0 for count in counts) / max(self.total, 1)


def shares(entries):
    """Returns the shares of the lines and of the branches of some files."""
    return (Share(count for counts, _ in entries for count in counts.values()),
            Share(count for _, outcomes in entries for line in outcomes.values() for count in line))


def row(name, entries):
    lines, branches = shares(entries)
    return f"| {name} | {lines.total:,} | {lines.percent:.2f}% | {branches.total:,} | {branches.percent:.2f}% |"


HEAD = "| | Lines | Reached | Branches | Reached |\n|---|---:|---:|---:|---:|"


def write_report(files, path):
    report = [HEAD] + [row(str(name), [entry]) for name, entry in sorted(files.items())]
    report.append("")
    for name, (counts, outcomes) in sorted(files.items()):
        text = (ROOT / name).read_text().splitlines()
        for number, count in sorted(counts.items()):
            if count == 0 or 0 in outcomes[number]:
                what = "line" if count == 0 else f"{outcomes[number].count(0)} of {len(outcomes[number])} branches"
                report.append(f"{name}:{number}: {what}: {text[number - 1].strip()}")
    path.write_text("\n".join(report) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--report", action="store_true", help="run no tests")
    args = parser.parse_args()
    build = args.build.resolve()
    status = 0 if args.report else run_tests(build)
    files = collect(build)
    write_report(files, build / "coverage.txt")
    print(HEAD)
    rooms = collections.defaultdict(list)
    for path, entry in files.items():
        for depth in range(1, min(3, len(path.parts))):
            rooms["/".join(path.parts[:depth])].append(entry)
    for name, entries in sorted(rooms.items()):
        print(row(f"`{name}`", entries))
    print(f"{build / 'coverage.txt'} lists what was not reached")
    return status


if __name__ == "__main__":
    sys.exit(main())
