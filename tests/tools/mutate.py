"""Mutation testing: changes one operator, number, condition or statement of the core at a time, and counts the changes
that a test finds. A change that no test finds is printed. It shows a missing test, or leaves the meaning as it was.

    python3 -B tests/tools/mutate.py build/mutants --only arena --per-file 1000

The changes are made in a copy of the tracked files in the given directory. They are chosen with a fixed seed. Changes
that do not compile do not count; a test that does not end in time has found the change.
"""
import argparse
import dataclasses
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


@dataclasses.dataclass
class Subject:
    """Files, and the test programs that must find a change in them. A program is built and run only if those before it
    find nothing. With a test_source, only this test and the changed file are compiled, so that a change takes little time,
    also in a header that all files include."""
    name: str
    files: list
    programs: list
    filter: str = "*"
    test_source: str = ""


SUBJECTS = [
    Subject("arena", ["runtime/base/arena.h"], ["arena_test"], test_source="tests/unit/base/arena_test.cpp"),
    Subject("ring", ["runtime/transformer/kv_ring.cpp"], ["kv_ring_test"],
            test_source="tests/unit/transformer/kv_ring_test.cpp"),
    Subject("sequence", ["runtime/transformer/kv_sequence.cpp"],
            ["transformer_test", "golden_ring_test", "capi_session_test"]),
    Subject("sampler checks", ["runtime/base/range_check.cpp", "runtime/sampling/sampler_params.cpp"],
            ["capi_sampler_arguments_test", "sampling_test", "capi_arguments_test"]),
    Subject("model verifier", ["runtime/model/model_verifier.cpp", "runtime/model/model_view.cpp"],
            ["capi_model_file_test", "capi_vocabulary_section_test"]),
    Subject("grammar image verifier", ["runtime/grammar/compiler/grammar_image.cpp"], ["grammar_test"], "*Image*"),
    Subject("saved state verifier", ["runtime/session/saved_state.cpp", "runtime/transformer/kv_sequence_image.cpp"],
            ["session_test"], "*Saved*"),
]

SWAPS = [(" < ", " <= "), (" <= ", " < "), (" > ", " >= "), (" >= ", " > "), (" == ", " != "), (" != ", " == "),
         (" && ", " || "), (" || ", " && "), (" + ", " - "), (" - ", " + "), ("+= ", "-= "), ("std::min", "std::max"),
         ("std::max", "std::min"), ("true", "false"), ("false", "true")]
STATEMENT = re.compile(r"\s+(?!return|break|continue|const|auto|using|case|default|else|static_assert)"
                       r"(\+\+[\w.]+|[\w.\->\[\]]+(\(.*\)| [-+|&]?= .*));$")


def mutants(text):
    """Yields the pairs (line number, changed line)."""
    for number, line in enumerate(text.splitlines()):
        code = line.split("//")[0]
        if not code.strip() or code.lstrip().startswith(("#", "static_assert", "template", "using")):
            continue
        for old, new in SWAPS:
            for match in re.finditer(re.escape(old) if " " in old or ":" in old else rf"\b{old}\b", code):
                yield number, code[:match.start()] + new + code[match.end():]
        for match in re.finditer(r'(?<![\w."\'])(\d+)(?![\w."\'])', code):
            if code.count('"', 0, match.start()) % 2 == 1:  # in a string
                continue
            yield number, code[:match.start()] + str(int(match.group()) + 1) + code[match.end():]
        if match := re.search(r"\bif \((?!const)(.+)\)( \{| return| continue| break)", code):
            yield number, code[:match.start(1)] + f"false && ({match.group(1)})" + code[match.end(1):]
        if STATEMENT.match(code):
            yield number, re.match(r"\s*", code).group() + ";"


def succeeds(command, directory, timeout):
    try:
        return subprocess.run(command, cwd=directory, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              timeout=timeout).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def build(tree, subject, program):
    if subject.test_source:
        sources = [subject.test_source, *(name for name in subject.files if name.endswith(".cpp"))]
        return succeeds(["c++", "-std=c++20", "-I.", *sources, "-lgtest_main", "-lgtest", "-pthread", "-o",
                         f"build/release/bin/{program}"], tree, 300)
    return succeeds(["ninja", "-C", "build/release", "-j2", program], tree, 3000)


def survives(tree, subject):
    """Returns whether all test programs pass, or None if one cannot be built."""
    for program in subject.programs:
        if not build(tree, subject, program):
            return None
        if not succeeds([f"build/release/bin/{program}", "--gtest_brief=1", f"--gtest_filter={subject.filter}"], tree,
                        120):
            return False
    return True


def attack(tree, subject, count, seed):
    """Returns the number of mutants that compile, and the descriptions of those that no test finds."""
    if not survives(tree, subject):
        sys.exit(f"{subject.name}: the tests fail without a change")
    tried, survivors = 0, []
    for name in subject.files:
        path = tree / name
        text = path.read_text()
        candidates = sorted(set(mutants(text)))
        random.Random(f"{seed} {name}").shuffle(candidates)
        found = 0
        for number, changed in candidates:
            if found == count:
                break
            lines = text.splitlines()
            original, lines[number] = lines[number], changed
            path.write_text("\n".join(lines) + "\n")
            survived = survives(tree, subject)
            found += survived is not None
            if survived:
                survivors.append(f"{name}:{number + 1}: {original.strip()}  ->  {changed.strip()}")
        path.write_text(text)
        tried += found
    return tried, survivors


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("--per-file", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", help="the subjects whose names contain this")
    args = parser.parse_args()
    tree = args.directory.resolve() / "tree"
    for name in subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split():
        target = tree / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists() or target.read_bytes() != (ROOT / name).read_bytes():
            shutil.copy2(ROOT / name, target)
    subjects = [subject for subject in SUBJECTS if not args.only or args.only in subject.name]
    if not all(subject.test_source for subject in subjects):
        options = os.environ.get("SOTTO_CMAKE_OPTIONS", "").split()
        subprocess.run(["cmake", "--preset", "release", *options], cwd=tree, stdout=subprocess.DEVNULL, check=True)
    (tree / "build/release/bin").mkdir(parents=True, exist_ok=True)
    for subject in subjects:
        tried, survivors = attack(tree, subject, args.per_file, args.seed)
        print(f"{subject.name}: {tried - len(survivors)} of {tried} mutants found")
        print("".join(f"  {line}\n" for line in survivors), end="", flush=True)


if __name__ == "__main__":
    main()
