"""Tests that the ctypes declarations match the header: every struct, field and constant."""
import ctypes
import dataclasses
import re
import unittest

from support import ROOT

from sotto.generated import abi, enums, info, params


def struct_named(name):
    return getattr(abi, "".join(part.capitalize() for part in name.split("_")[1:]))


class AbiTest(unittest.TestCase):
    def test_structs_have_the_layout_of_the_library(self):
        fields = {}
        layout = {8: "layout_lp64.txt", 4: "layout_ilp32.txt"}[ctypes.sizeof(ctypes.c_void_p)]
        for line in (ROOT / "tests/abi" / layout).read_text().splitlines():
            struct, field, offset, size = line.split()
            with self.subTest(struct=struct, field=field):
                if field == "-":
                    self.assertEqual(ctypes.sizeof(struct_named(struct)), int(size))
                else:
                    declared = getattr(struct_named(struct), field)
                    self.assertEqual((declared.offset, declared.size), (int(offset), int(size)))
                    fields.setdefault(struct, []).append(field)
        for struct, names in fields.items():
            self.assertEqual([name for name, _ in struct_named(struct)._fields_], names)

    def test_every_constant_is_there(self):
        headers = "".join(path.read_text() for path in sorted((ROOT / "capi/include").glob("*.h")))
        values = [int(value) for body in re.findall(r"enum \{(.*?)\};", headers, flags=re.S)
                  for value in re.findall(r"SOTTO_\w+ = (-?\d+)", body)]
        mine = [value for kind in vars(enums).values() if isinstance(kind, type) and kind.__module__ == enums.__name__
                for value in map(int, kind)]
        values.remove(1)  # SOTTO_TOKENIZE_SPECIAL is the argument `special`
        self.assertEqual(sorted(mine), sorted(values))

    def test_every_parameter_is_reachable(self):
        left_out = {"struct_size", "executor", "release"}
        for name, kind in vars(params).items():
            if not dataclasses.is_dataclass(kind):
                continue
            declared = [field for field, _ in getattr(abi, name)._fields_
                        if not re.fullmatch(r"reserved\d?|.*user_data", field)]
            counts = {field for field in declared if field.endswith("_count")
                      and any(other + "_count" == field or other.rstrip("s") + "_count" == field for other in declared)}
            mine = [field.name for field in dataclasses.fields(kind)]
            self.assertEqual(mine, [field for field in declared if field not in left_out | counts], name)
        for name, kind in vars(info).items():
            if dataclasses.is_dataclass(kind):
                declared = [field for field, _ in getattr(abi, name)._fields_]
                self.assertEqual(list(kind.__annotations__),
                                 [field for field in declared if field not in ("struct_size", "reserved")], name)


if __name__ == "__main__":
    unittest.main()
