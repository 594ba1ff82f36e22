"""Helpers of the tests: the demo model and the golden figures that every binding must reproduce."""
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
PACKAGE = ROOT / "platforms/python"
sys.path.insert(0, str(PACKAGE))

MODEL_PATH = os.environ.get("SOTTO_DEMO_MODEL", str(ROOT / "platforms/models/demo.sotto"))
GOLDEN_PATH = os.environ.get("SOTTO_GOLDEN", str(ROOT / "tests/golden/data/bindings.txt"))

import sotto  # noqa: E402  (the path is set above)

MODEL = sotto.Model.open(MODEL_PATH)


def unescape(text):
    return text.replace("\\\\", "\0").replace("\\n", "\n").replace("\0", "\\")


def read_golden():
    """{case: [(key, value)]}"""
    cases, current = {}, None
    for line in pathlib.Path(GOLDEN_PATH).read_text(encoding="utf-8").split("\n"):
        key, _, value = line.partition(" ")
        if key == "case":
            current = cases.setdefault(value, [])
        elif line and key != "#":
            current.append((key, unescape(value)))
    return cases


def tokens_of(value):
    return [int(token) for token in value.split()]
