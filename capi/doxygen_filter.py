"""Marks the comments of a public header for Doxygen: `doxygen_filter.py HEADER` prints the header.

The headers have plain comments, which are easier to read. The filter turns a comment in front of a declaration into a
documentation comment, and adds the comments of members that mean the same in every struct and are therefore not
explained in the headers.
"""
import re
import sys

MEMBERS = [
    (r"uint32_t struct_size;", "Bytes of the struct, as the caller knows it."),
    (r"uint\d+_t reserved\w*(\[\d+\])?;", "Must be 0."),
    (r"size_t \w*count;", "Number of elements of the array before it."),
    (r"size_t \w*size;", "Bytes of the block before it."),
    (r"void\* \w*user_data;", "Passed to the callback before it."),
    (r"SOTTO_API void \w+_params_init\(.*", "Fills in struct_size and the defaults."),
]


def main():
    lines = open(sys.argv[1], encoding="utf-8").read().split("\n")
    print(re.sub(r"^/\*", "/** @file\n *", lines[0]))
    for before, line in zip(lines, lines[1:]):
        is_documented = before.rstrip().endswith("*/") and not before.lstrip().startswith("/* ----")
        for pattern, sentence in MEMBERS:
            if not is_documented and re.fullmatch(r"\s*" + pattern, line):
                print(f"/** {sentence} */")
        if line.startswith(" * "):
            line = line.replace("#", "\\#")  # not a reference
        print(re.sub(r"^(\s*)/\* (?!----)", r"\1/** ", line))


if __name__ == "__main__":
    main()
