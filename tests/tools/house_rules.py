"""Rules over the source tree: the place of files, the direction of includes, the C++ subset of the core, and prose.

Each rule is a function from a Tree to messages; house_check.py runs them, house_check_test.py shows that each fires.
"""
import dataclasses
import fnmatch
import pathlib
import re

TOP_LEVEL = {"runtime", "capi", "kernels", "converters", "platforms", "tests", "CMakeLists.txt", "README.md",
             "LICENSE", "CMakePresets.json"}
SOURCE_SUFFIXES = {".c", ".h", ".cc", ".cpp", ".hpp", ".py", ".sh", ".cmake", ".rs", ".go", ".swift", ".kt", ".java"}
CORE = ("runtime/", "kernels/", "capi/")

# The kernels and the layouts of packed weights.
KERNELS = ["kernels/*.h", "kernels/linear/*.h"]
# The longest matching prefix of a file's path gives the prefixes it may include between quotes.
INCLUDES = {
    "runtime/": ["runtime/", *KERNELS],
    "runtime/base/": ["runtime/base/", "runtime/generated/status.h", "kernels/sizes.h"],
    # Parameter structs, made from the C structs: the public headers have no dependencies.
    "runtime/generated/": ["runtime/base/", "runtime/generated/", "capi/include/sotto.h"],
    "runtime/chat/": ["runtime/base/", "runtime/generated/", "runtime/text/", "runtime/session/", "runtime/chat/"],
    "runtime/model/": ["runtime/base/", "runtime/generated/", "runtime/model/", *KERNELS],
    "runtime/text/": ["runtime/base/", "runtime/generated/", "runtime/text/", "runtime/model/"],
    "runtime/grammar/": ["runtime/base/", "runtime/generated/", "runtime/grammar/", "runtime/model/"],
    "runtime/sampling/": ["runtime/base/", "runtime/generated/", "runtime/sampling/", "runtime/model/model.h",
                          "runtime/model/sampling_defaults.h", "runtime/text/token_history.h", *KERNELS],
    "runtime/transformer/": ["runtime/base/", "runtime/generated/", "runtime/transformer/", "runtime/model/", *KERNELS],
    "runtime/search/": ["runtime/base/", "runtime/generated/", "runtime/model/tokenizer_view.h", "runtime/sampling/", "runtime/text/",
                        "runtime/transformer/", "runtime/search/"],
    "runtime/session/": ["runtime/base/", "runtime/generated/", "runtime/session/", "runtime/search/", "runtime/sampling/",
                         "runtime/transformer/", "runtime/text/", "runtime/model/", *KERNELS],
    "kernels/": ["kernels/"],
    # kernels.h names the instruction sets that the ABI reports.
    "capi/": ["capi/", "runtime/", "kernels/kernels.h", "sotto*.h"],
    "capi/examples/": ["sotto*.h"],
    "converters/": ["platforms/command_line/", "converters/", "runtime/", "kernels/kernels.h", "kernels/sizes.h",
                    "kernels/linear/linear.h", "kernels/linear/int4.h"],
    "platforms/": ["platforms/", "capi/include/", "sotto*.h"],
    # A Go module is built in the directory that it was fetched to. This directory has nothing but the module.
    "platforms/go/": ["bridge.h", "_cgo_export.h"],
}

# Headers of libraries, and of the public ABI, by where they may appear.
CONFINED = [
    (re.compile(r"flatbuffers/|.*_generated\.h"), "FlatBuffers",
     ("runtime/model/", "runtime/grammar/", "converters/", "tests/")),
    (re.compile(r"openssl/"), "libcrypto", ("platforms/signature/",)),
    (re.compile(r"(.*/)?sotto(_\w+)?\.h"), "the public header", ("capi/", "runtime/generated/", "platforms/", "converters/", "tests/")),
]

# <functional> for comparison objects; std::function is forbidden below.
CORE_HEADERS = {"algorithm", "array", "atomic", "bit", "cassert", "cfloat", "cmath", "concepts", "cstddef", "cstdint", "cstring",
                "functional", "limits", "new", "span", "string_view", "type_traits", "utility", "stddef.h", "stdint.h", "time.h"}
# Additionally for kernels: intrinsics and detection of the CPU.
KERNEL_HEADERS = {"immintrin.h", "arm_neon.h", "wasm_simd128.h", "cpuid.h", "sys/auxv.h", "sys/sysctl.h",
                  "pthread.h", "signal.h", "unistd.h", "windows.h"}
FORBIDDEN_IN_CORE = [
    (re.compile(r"\bnew\s+[A-Za-z_:]"), "new that allocates"),
    (re.compile(r"(?<!= )(?<!=)(?<!operator )\bdelete\b"), "delete"),
    (re.compile(r"\b(malloc|calloc|realloc|free|aligned_alloc|posix_memalign|strdup)\s*\("), "heap functions"),
    (re.compile(r"\b(throw|try|catch)\b"), "exceptions"),
    (re.compile(r"\b(dynamic_cast|typeid)\b"), "run-time type information"),
    (re.compile(r"\bvirtual\b"), "virtual functions"),
    (re.compile(r"\bstd::(vector|string|wstring|map|set|unordered_\w+|list|deque|function|unique_ptr|shared_ptr|"
                r"optional|any|cout|cerr|[io]?[f]?stream|mutex|thread|stable_sort|inplace_merge)\b"),
     "a part of the standard library that may allocate or throw"),
    (re.compile(r"\b(f|sn?|vsn?)?printf\s*\("), "printf"),
    (re.compile(r"\.(substr|starts_with|ends_with)\("), "a function of std::string_view that may refer to exceptions"),
]

MACHINE_PATH = re.compile(r"(^|[^A-Za-z0-9_.~-])/(work|root|home|Users|tmp)/")
LEFT_OPEN = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
ADDRESS = re.compile(r"https?://([A-Za-z0-9.-]+)")
ADDRESS_ALLOWED = re.compile(r"(github\.com|huggingface\.co|arxiv\.org|(www\.)?(unicode|w3|apache|json-schema)\.org|"
                             r"maven\.apache\.org|schemas\.(android|microsoft)\.com|www\.debian\.org|"  # names of formats
                             r"localhost|127\.0\.0\.1|([\w-]+\.)*example\.(com|org))$")


@dataclasses.dataclass
class Tree:
    """Tracked files by path relative to the root; text is None for binary files."""
    files: dict

    @staticmethod
    def read(root, paths):
        files = {}
        for path in paths:
            data = (pathlib.Path(root) / path).read_bytes()
            files[path] = None if b"\0" in data[:8192] else data.decode("utf-8", "replace")
        return Tree(files)

    def texts(self, prefixes=("",), suffixes=None):
        for path, text in sorted(self.files.items()):
            fits = suffixes is None or pathlib.PurePosixPath(path).suffix in suffixes
            if text is not None and fits and path.startswith(tuple(prefixes)):
                yield path, text


def lines_matching(tree, pattern, what, skip=()):
    for path, text in tree.texts():
        if path in skip:
            continue
        for number, line in enumerate(text.splitlines(), 1):
            if pattern.search(line):
                yield f"{path}:{number}: {what}: {line.strip()[:80]}"


def strip_comments_and_strings(text):
    """Replaces comments and literals by blanks and keeps the lines."""
    pattern = r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'"

    def blank(match):
        # An apostrophe between digits is a separator.
        return re.sub(r"[^\n]", " ", match.group(0))

    return re.sub(pattern, blank, re.sub(r"(?<=[0-9a-fA-F])'(?=[0-9a-fA-F])", "", text), flags=re.S)


def includes(text):
    for match in re.finditer(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', text, flags=re.M):
        yield text.count("\n", 0, match.start()) + 1, match.group(1) == '"', match.group(2)


def matches_prefix(path, allowed):
    if "*" in allowed:
        return pathlib.PurePosixPath(path).match(allowed) and path.count("/") == allowed.count("/")
    return path.startswith(allowed) if allowed.endswith("/") else path == allowed


def top_level(tree):
    """The top level contains only the agreed directories, LICENSE, CMakePresets.json and dotfiles."""
    for name in sorted({path.split("/")[0] for path in tree.files}):
        if name not in TOP_LEVEL and not name.startswith("."):
            yield f"{name}: not on the list of the top level"


def include_directions(tree):
    """Includes go only to the directories that INCLUDES allows."""
    for path, text in tree.texts(suffixes={".c", ".h", ".cpp"}):
        directory = max((p for p in INCLUDES if path.startswith(p)), key=len, default=None)
        if directory is None:
            continue
        folder = f"{path.rsplit('/', 1)[0]}/"
        for number, quoted, name in includes(text):
            if not quoted:
                continue
            if not any(matches_prefix(name, allowed) for allowed in INCLUDES[directory]):
                yield f"{path}:{number}: {directory} may not include {name}"
            elif "/" in name and name not in tree.files and not name.endswith("_generated.h") \
                    and folder + name not in tree.files:
                yield f"{path}:{number}: {name} is not a file of the project"


def confined_headers(tree):
    """Headers of a library, and the public header, are included only in the directories that CONFINED allows."""
    for path, text in tree.texts(suffixes={".c", ".h", ".cpp"}):
        for number, _, name in includes(text):
            for pattern, what, directories in CONFINED:
                if pattern.match(name) and not path.startswith(directories):
                    yield f"{path}:{number}: {name}: {what} belongs to {', '.join(directories)}"


def core_subset(tree):
    """The core has no allocation, exceptions, RTTI or hidden state."""
    for path, text in tree.texts(CORE, {".h", ".cpp"}):
        if path.startswith("capi/examples/"):
            continue
        for number, quoted, name in includes(text):
            allowed = CORE_HEADERS | (KERNEL_HEADERS if path.startswith("kernels/") else set())
            is_library = re.match(r"flatbuffers/", name)  # confined_headers says where
            if not quoted and name not in allowed and not is_library:
                yield f"{path}:{number}: <{name}> is not in the core's subset"
        for number, line in enumerate(strip_comments_and_strings(text).splitlines(), 1):
            for pattern, what in FORBIDDEN_IN_CORE:
                if pattern.search(line) and not line.lstrip().startswith("#"):
                    yield f"{path}:{number}: {what}"
            if re.search(r"\bthread_local\b", line):
                yield f"{path}:{number}: thread_local"


def machine_paths(tree):
    """The tree names no directory of the machine that it was written on."""
    return lines_matching(tree, MACHINE_PATH, "a path of one machine")


def left_open(tree):
    """The tree contains no notes about unfinished work."""
    return lines_matching(tree, LEFT_OPEN, "left open", skip=("tests/tools/house_rules.py",))


def addresses(tree):
    """Addresses are those of documents and upstream sources. Mirrors and registries are configured on the machine."""
    for path, text in tree.texts():
        for match in ADDRESS.finditer(text):
            if not ADDRESS_ALLOWED.match(match.group(1)):
                yield f"{path}: address of {match.group(1)}"


# Words that have no such meaning in this field, and the word to use. Each has occurred often enough to be worth a rule.
PRIVATE_WORDS = [(re.compile(rf"(?<![\w-])(?:{word})\b", flags=re.I), instead) for word, instead in {
    "behind": "after", "beside": "next to, compared with", "anew|afresh": "again, from scratch",
    "hand(s|ed)? out": "emit, return", "tak(e|es|en|ing) back": "roll back",
    "ask(s|ed)? for (weights|lines|keys|pages)": "prefetch", "room for": "capacity for, space for",
    "(bits|bytes|ms|us|ns|tokens) a (weight|token|page|layer|letter|second|call)": "per", "and its kin": "and similar ones",
}.items()]
PROSE_SUFFIXES = SOURCE_SUFFIXES | {".md", ".txt", ".toml", ".fbs"}
QUOTED = ("tests/abi/released/", "tests/fuzz/corpus/", "tests/unit/base/xxhash64_test.cpp")


def plain_words(tree):
    """Comments, messages and documents use the words of the field, not those of PRIVATE_WORDS."""
    for path, text in tree.texts(suffixes=PROSE_SUFFIXES):
        if path.startswith(QUOTED) or "/data/" in path or path == "tests/tools/house_rules.py":
            continue
        for number, line in enumerate(text.splitlines(), 1):
            for word, instead in PRIVATE_WORDS:
                if found := word.search(line):
                    yield f"{path}:{number}: '{found[0]}': use {instead}: {line.strip()[:80]}"


# A comment that opens with one of these words is a fragment, unless it is the rest of a sentence.
FRAGMENT = re.compile(r"(What|Whether|How|Some of|Those|Only with)\b", flags=re.I)
FIRST_WORDS = re.compile(r'(\s*(//[/!]?|#|/\*\*?)|.*[;{,]\s+//|.*\bdoc = "+)\s*(?P<text>.*)')
COMMENT_LINE = re.compile(r"\s*(//|#|/?\*)")


def comments_open_plainly(tree):
    """Comments open with a noun phrase or with a verb."""
    for path, text in tree.texts(suffixes=PROSE_SUFFIXES - {".md", ".txt"}):
        if path.startswith(QUOTED) or "/data/" in path:
            continue
        previous = ""
        for number, line in enumerate(text.splitlines(), 1):
            first = FIRST_WORDS.match(line)
            continues = COMMENT_LINE.match(previous) and COMMENT_LINE.match(line) and not previous.rstrip().endswith(".")
            if first and not continues and FRAGMENT.match(first["text"]):
                yield f"{path}:{number}: open with what it is: {line.strip()[:80]}"
            previous = line


MARKDOWN_COLUMNS = 120
FENCED = re.compile(r"^```.*?^```", flags=re.M | re.S)
CODE_SPAN = re.compile(r"`([^`\n]+)`")
PATH = re.compile(r"[\w.*/-]*(/[\w.*/-]*|\.(c|h|hpp|cpp|inc|py|sh|cmake|toml|fbs|rs|go|swift))")
NAME = re.compile(r"~?[A-Za-z_]\w*(::~?\w+)*(\(\))?")
COMPOUND_NAME = re.compile(r"k[A-Z]|[A-Z][a-z]+[A-Z]|.*(_|::|\()")
# Build output, placeholders in recipes, and names that belong to other programs.
NOT_IN_TREE = re.compile(r"(\.\./)*build/.*|.*(NAME|my_language).*|arch_prctl|PascalCase|snake_case|member_|sotto_noun_verb|"
                         r"sotto\.cpp|platforms/go/v[\d.]+")


def expand_braces(path):
    match = re.search(r"\{([^{}]*)\}", path)
    return [path] if match is None else [longer for part in match.group(1).split(",") for longer in
                                         expand_braces(path[:match.start()] + part + path[match.end():])]


def path_endings(tree):
    """Returns every file and directory, with and without the directories above it and the suffix."""
    endings = set()
    for path in tree.files:
        parts = pathlib.PurePosixPath(path).parts
        for end in range(1, len(parts) + 1):
            for start in range(end):
                endings.add("/".join(parts[start:end]))
        for start in range(len(parts)):
            endings.add("/".join(parts[start:]).rsplit(".", 1)[0])
    return endings


def documents_name_what_exists(tree):
    """Paths, functions, classes and constants between backticks in Markdown are in the tree."""
    endings = path_endings(tree)
    words = set(endings)
    for path, text in tree.texts():
        if not path.endswith(".md"):
            words.update(re.findall(r"\w+", text))
    for path, text in tree.texts(suffixes={".md"}):
        prose = FENCED.sub(lambda match: "\n" * match.group(0).count("\n"), text)
        for number, line in enumerate(prose.splitlines(), 1):
            for span in CODE_SPAN.findall(line):
                missing = False
                if NOT_IN_TREE.fullmatch(span):
                    continue
                if NAME.fullmatch(span) and COMPOUND_NAME.match(span):
                    missing = any(word not in words for word in re.findall(r"\w+", span))
                for name in expand_braces(span):
                    if not PATH.fullmatch(name):
                        continue
                    name = re.sub(r"^(\.{1,2}/)+", "", name).rstrip("/")
                    missing |= name not in endings if "*" not in name else not fnmatch.filter(endings, name)
                if missing:
                    yield f"{path}:{number}: `{span}` is not in the tree"


def documents_fit_columns(tree):
    """Markdown has at most 120 columns; tables and lines with a link may have more."""
    for path, text in tree.texts(suffixes={".md"}):
        for number, line in enumerate(text.splitlines(), 1):
            if len(line) > MARKDOWN_COLUMNS and not line.startswith("|") and "](" not in line:
                yield f"{path}:{number}: {len(line)} columns"


def tests_can_fail(tree):
    """No test is disabled."""
    return lines_matching(tree, re.compile(r"\bDISABLED_[A-Z]\w*"), "disabled test", skip=("tests/tools/house_rules.py",))


def sources_are_sorted(tree):
    """The sources in the CMake lists of the core are sorted, so that additions of several people merge."""
    for path, text in tree.texts(CORE, {".txt"}):
        before = ""
        for number, line in enumerate(text.splitlines(), 1):
            match = re.fullmatch(r"\s+([\w/]+\.cpp)\)?", line)
            if match and match[1] < before:
                yield f"{path}:{number}: {match[1]} belongs before {before}"
            before = match[1] if match else ""


RULES = [top_level, include_directions, confined_headers, core_subset, machine_paths, left_open,
         addresses, plain_words, comments_open_plainly, documents_name_what_exists, documents_fit_columns, tests_can_fail,
         sources_are_sorted]
