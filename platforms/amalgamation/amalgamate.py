"""Writes the library as two files: sotto.h with all public headers, and sotto.cpp with all sources.

The lists of sources, their definitions and their instruction sets come from CMake (compile_commands.json). The lists
and the #include lines determine the order of the files. README.md in this directory describes the result.
"""
import argparse
import json
import pathlib
import re
import shlex
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGETS = ("sotto_kernels", "sotto_runtime", "sotto_capi")
OPTIONS = ("SOTTO_BUILD_TOOLS=OFF", "SOTTO_BUILD_TESTS=OFF", "SOTTO_XNNPACK=OFF", "CMAKE_EXPORT_COMPILE_COMMANDS=ON")
PROCESSORS = ("x86_64", "aarch64")  # whose instruction sets the result contains
# Definitions that depend on the target, and the preprocessor condition under which each is 1.
TARGET_DEFINITIONS = {
    # GCC does not align the stack for vectors of 32 bytes on Windows (GCC bug 54412).
    "SOTTO_X86_64": "defined(__x86_64__) && (defined(__clang__) || !defined(_WIN32))",
    # Clang before version 17 declares the intrinsics of an instruction set only if the whole file is compiled for it.
    "SOTTO_ARM64": "defined(__aarch64__) && (!defined(__clang__) || __clang_major__ >= 17) && "
                   "(defined(__linux__) || defined(__APPLE__) || defined(_WIN32))",
    "SOTTO_WASM32": "0",
    "SOTTO_THREADS": "defined(__unix__) || defined(__APPLE__) || defined(_WIN32)",
}
DIRECTIVE = re.compile(r"\s*#\s*(\w+)\s*(.*)")
INCLUDE_GUARD = re.compile(r"(?:(?!#).*\n)*#ifndef (\w+)\n#\s*define \1\b")


class Source:
    """A source file with its definitions and flags, taken from its compile command."""

    def __init__(self, command):
        arguments = shlex.split(command["command"])
        self.path = pathlib.Path(command["file"])
        self.target = next((t for t in TARGETS if f"{t}.dir/" in command["command"].split(" -o ")[1]), None)
        defined = [a[2:].partition("=") for a in arguments if a.startswith("-DSOTTO_")]
        self.definitions = {name: value for name, _, value in defined}
        self.isa = self.definitions.pop("SOTTO_ISA", None)
        self.flags = [a[2:] for a in arguments if a.startswith("-m")]


def read_sources(build):
    """Returns two lists of sources: those for every CPU, and those for one instruction set."""
    plain, special = {}, []
    for processor in PROCESSORS:
        sources = [Source(c) for c in json.loads((build / processor / "compile_commands.json").read_text())]
        sources = [s for s in sources if s.target and s.path.is_relative_to(ROOT) and s.path.suffix == ".cpp"]
        sources.sort(key=lambda s: TARGETS.index(s.target))  # stable: within a target, the order of CMake
        plain.update({s.path: s for s in sources if not s.isa})
        special += [s for s in sources if s.isa]
    return list(plain.values()), special


class Text:
    """The text of source files. Every header replaces its first #include."""

    def __init__(self, directories, flatbuffers, included=(), system=()):
        self.directories = directories
        self.flatbuffers = flatbuffers  # FlatBuffers' include directory
        self.included = set(included)  # headers that are not included again
        self.known = set(system)  # system headers that are not included again
        self.system = []  # system headers that have to be included before the text
        self.lines = []

    def find(self, quoted, directory):
        """Returns the path of a header of the tree or of FlatBuffers, or None for a system header."""
        if not quoted.startswith('"'):
            return None
        name = quoted.split('"')[1]
        places = [directory, *self.directories, *([self.flatbuffers] if name.startswith("flatbuffers/") else [])]
        return next((place / name for place in places if (place / name).is_file()), None)

    def add(self, path):
        text = path.read_text()
        depth = -1 if INCLUDE_GUARD.match(text) else 0  # of conditions
        self.lines.append(f"// ---- {self.name(path)}")
        macros = []
        for line in text.splitlines():
            match = DIRECTIVE.match(line)
            directive, rest = match.groups() if match else ("", "")
            if directive in ("if", "ifdef", "ifndef"):
                depth += 1
            elif directive == "endif":
                depth -= 1
            elif directive == "define":
                macros.append(re.match(r"\w+", rest)[0])
            if directive == "include":
                self.include(rest, path, line, depth > 0)
            elif not (directive == "pragma" and rest == "once"):
                self.lines.append(line)
        if path.suffix == ".cpp":
            self.lines += [f"#undef {name}" for name in dict.fromkeys(macros)]

    def include(self, quoted, path, line, is_conditional):
        header = self.find(quoted, path.parent)
        if header:
            if header not in self.included:
                if not is_conditional:
                    self.included.add(header)
                self.add(header)
        elif is_conditional:
            self.lines += ["#pragma GCC visibility push(default)", line, "#pragma GCC visibility pop"]
        elif quoted not in self.known:
            self.known.add(quoted)
            self.system.append(quoted)

    def name(self, path):
        for place in (*self.directories, self.flatbuffers):
            if path.is_relative_to(place):
                return path.relative_to(place).as_posix()
        raise ValueError(path)


def configuration(sources):
    """Returns the definitions of the sources as macros that a user can override."""
    lines = []
    values = {}
    for source in sources:
        for name, value in source.definitions.items():
            if values.setdefault(name, value) != value and name not in TARGET_DEFINITIONS:
                raise SystemExit(f"{source.path} defines {name} as {value}, another source as {values[name]}")
    for name, value in sorted(values.items()):
        lines.append(f"#ifndef {name}")
        if name in TARGET_DEFINITIONS:
            lines += [f"#  if {TARGET_DEFINITIONS[name]}", f"#    define {name} 1",
                      "#  else", f"#    define {name} 0", "#  endif"]
        else:
            lines.append(f"#  define {name} {value}")
        lines.append("#endif")
    return lines


def condition_of(sources):
    """Returns the macro of the processor that sources are for."""
    return next(name for name in TARGET_DEFINITIONS if sources[0].definitions[name] == "1")


def region(condition, isa, sources, text):
    """Returns the text of the sources for an instruction set, inside pragmas that enable its instructions."""
    flags = ",".join(dict.fromkeys(f for s in sources for f in s.flags))
    # Clang does not accept the others in pragmas.
    common = ",".join(f for f in flags.split(",") if not f.startswith("prefer-"))
    before = [
        "#if defined(__clang__)",
        f'#pragma clang attribute push(__attribute__((target("{common}"))), apply_to = function)',
        "#else",
        "#pragma GCC push_options",
        f'#pragma GCC target("{flags}")',
        "#endif",
    ]
    after = [
        "#if defined(__clang__)",
        "#pragma clang attribute pop",
        "#else",
        "#pragma GCC pop_options",
        "#endif",
    ]
    return [
        f"#if {condition}",
        *(before if flags else []),
        f"#define SOTTO_ISA {isa}",
        *text.lines,
        "#undef SOTTO_ISA",
        *(after if flags else []),
        "#endif",
    ]


HEADER_HEAD = """\
/* Sotto {version}, all public headers in one file, made from the source tree.
 * SPDX-License-Identifier: Apache-2.0
 */
"""

HEAD = """\
// Sotto {version}, all sources in one file, made from the source tree. Compile it as C++20 with GCC or Clang. It needs
// no other file than sotto.h, and no flags.
// SPDX-License-Identifier: Apache-2.0
// The headers of FlatBuffers in this file, Copyright Google Inc., have the same licence and keep their notices.

// Results must not depend on whether the compiler fuses multiplications and additions.
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#else
#pragma GCC optimize("fp-contract=off")
#pragma GCC diagnostic ignored "-Wpsabi"  // conversions of lambdas to functions, which nothing calls, lack the target
#endif
#if !defined(NDEBUG) && !defined(SOTTO_DEBUG)
#define NDEBUG
#endif

// Several copies can be in one program if each has its own SOTTO_NAMESPACE and SOTTO_API is static.
#ifndef SOTTO_NAMESPACE
#define SOTTO_NAMESPACE sotto
#endif
"""

NAMESPACES = """\
#define SOTTO_JOIN_NAMES(a, b) a##_##b
#define SOTTO_INNER_NAMESPACE(outer, inner) SOTTO_JOIN_NAMES(outer, inner)
#define sotto SOTTO_NAMESPACE
#define flatbuffers SOTTO_INNER_NAMESPACE(SOTTO_NAMESPACE, flatbuffers)
#pragma GCC visibility push(hidden)
"""


def amalgamate(build):
    plain, special = read_sources(build)  # plain sources come first, because the others include their headers
    headers = build / PROCESSORS[0]
    flatbuffers = headers / "host-headers"  # where CMake links them in configurations for other machines
    public = ROOT / "capi/include"

    header = Text([public], flatbuffers)
    for path in [public / "sotto.h", *sorted(public.glob("*.h"))]:
        if path not in header.included:
            header.included.add(path)
            header.add(path)

    directories = [ROOT, public, headers / "generated"]
    text = Text(directories, flatbuffers, header.included, header.known)
    for source in plain:
        text.add(source.path)
    regions = []
    includes = []
    # Regions for one processor share the headers that do not depend on the instruction set.
    included, known = {}, {}
    for isa in dict.fromkeys(s.isa for s in special):
        sources = [s for s in special if s.isa == isa]
        condition = condition_of(sources)
        part = Text(directories, flatbuffers, included.get(condition, text.included), known.get(condition, text.known))
        for source in sources:
            part.add(source.path)
        regions += region(condition, isa, sources, part)
        known[condition] = part.known
        includes += [f"#if {condition}", *(f"#include {name}" for name in part.system), "#endif"]
        shared = {path for path in part.included if "SOTTO_ISA" not in path.read_text()}
        included[condition] = text.included | shared
    version = (ROOT / "capi/VERSION").read_text().strip()
    lines = [HEAD.format(version=version), *configuration(plain + special), '#include "sotto.h"',
             *(f"#include {name}" for name in sorted(text.system)), *includes,
             NAMESPACES, *text.lines, *regions, "#pragma GCC visibility pop"]
    header_lines = [HEADER_HEAD.format(version=version), *(f"#include {name}" for name in header.system), *header.lines]
    return "\n".join(header_lines) + "\n", "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/amalgamation", help="directory for CMake")
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "build/amalgamation")
    args = parser.parse_args()
    build = args.build.resolve()
    configure = ["cmake", "-S", ROOT, "-G", "Ninja", *(f"-D{o}" for o in OPTIONS)]
    for processor in PROCESSORS:
        # The machine's own compiler suits every processor, because it compiles nothing of the library. With a system's
        # name, CMake configures for another machine, also if it is the same one.
        target = ["-DCMAKE_SYSTEM_NAME=Linux", f"-DCMAKE_SYSTEM_PROCESSOR={processor}"]
        subprocess.run([*configure, "-B", build / processor, *target], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", build / PROCESSORS[0], "--target", "sotto_model_format_header",
                    "sotto_grammar_format_header"], check=True, stdout=subprocess.DEVNULL)
    args.output.mkdir(parents=True, exist_ok=True)
    for name, text in zip(("sotto.h", "sotto.cpp"), amalgamate(build)):
        (args.output / name).write_text(text)


if __name__ == "__main__":
    main()
