"""Tests of the package as type checkers and people see it: names, types of keyword arguments, printed values."""
import ast
import dataclasses
import importlib.util
import inspect
import pathlib
import subprocess
import sys
import tempfile
import unittest

from support import MODEL, PACKAGE

import sotto
from sotto.generated import fields, params

WRONG_PROGRAM = """\
import sotto

with sotto.Model.open("demo.sotto") as model, model.session(contxt_tokens=5) as session:
    session.set_sampler(temprature="hot")
    sotto.Grammar.json_schema({}, json_spce=1)
"""


class TypingTest(unittest.TestCase):
    def test_exported_names_are_a_literal_list(self):
        tree = ast.parse(pathlib.Path(sotto.__file__).read_text(encoding="utf-8"))
        lists = [node.value for node in tree.body if isinstance(node, ast.Assign) and node.targets[0].id == "__all__"]
        self.assertEqual(sorted(ast.literal_eval(lists[0])),
                         sorted(name for name in dir(sotto)
                                if not name.startswith("_") and not inspect.ismodule(getattr(sotto, name))))

    def test_keyword_arguments_are_typed(self):
        for kind in (getattr(params, name) for name in params.__all__):
            typed = getattr(fields, kind.__name__.removesuffix("Params") + "Fields")
            self.assertEqual(list(typed.__annotations__), [field.name for field in dataclasses.fields(kind)])
        for function in (sotto.Model.open, sotto.Model.session, sotto.Session.set_sampler, sotto.Session.search,
                         sotto.Session.set_grammar, sotto.Grammar.json_schema, sotto.Matcher, sotto.Sampler):
            self.assertRegex(inspect.signature(function).parameters["changes"].annotation, r"^Unpack\[\w+Fields\]$")

    @unittest.skipUnless(importlib.util.find_spec("mypy"), "mypy is not installed")
    def test_mypy_finds_misspelled_parameters(self):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "program.py"
            program.write_text(WRONG_PROGRAM, encoding="utf-8")
            output = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent",
                                     "--cache-dir", folder, str(program)],
                                    env={"MYPYPATH": str(PACKAGE)}, capture_output=True, text=True).stdout
        for name in ("contxt_tokens", "temprature", "json_spce"):
            self.assertIn(f'"{name}"', output)
        self.assertIn("Found 3 errors", output)

    def test_text_is_text_or_bytes(self):
        for wrong in (5, 10**9, [1, 2], None):
            self.assertRaises(TypeError, MODEL.tokenize, wrong)
        self.assertEqual(MODEL.tokenize(bytearray(b" time")), MODEL.tokenize(" time"))

    def test_values_of_enumerations_print_their_names(self):
        self.assertEqual(str(sotto.Status.STOP_MAX_TOKENS), "Status.STOP_MAX_TOKENS")
        self.assertEqual(f"{sotto.Isa.AVX2}", "Isa.AVX2")
        self.assertEqual(str(sotto.Feature.DOLA), "Feature.DOLA")
        self.assertEqual(sotto.Status.STOP_MAX_TOKENS, 2)


if __name__ == "__main__":
    unittest.main()
