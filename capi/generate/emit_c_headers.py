"""Updates the generated parts of the public headers, capi/include.

The rest of the headers is written by hand. This module replaces their enums and structs, the version numbers, and the
constants of sotto_memory.h that follow from the tables. It finds an enum or struct by its C declaration and replaces it
together with the comment directly above it. A table whose declaration is missing from its header, or a declaration
without a table, is an error.
"""
import re
import textwrap

from tables import Enum, Struct, TableError, Tables

WIDTH = 100
# The line that headers with enums or structs must contain.
MARK = "/* The enums and structs below are generated from capi/params/{}.toml: edit that file. */\n"
# Constants of sotto_memory.h that follow from the tables.
DERIVED = {"SOTTO_MAX_PHRASES_": lambda tables: tables.struct("sotto_search_params").find("phrases").limit,
           "SOTTO_DRAFT_PADDING_":
               lambda tables: tables.struct("sotto_session_params").find("draft_tokens").range.high + 1,
           "SOTTO_DEFAULT_LIST_BYTES_": lambda tables: tables.struct("sotto_session_params").find("list_bytes").default}
DEFINE = re.compile(r"#define (" + "|".join(DERIVED) + r") \d+")
VERSION = re.compile(r"(#define SOTTO_VERSION_(MAJOR|MINOR|PATCH)) \d+")


def comment(text: str, indent: str = "") -> str:
    lines = textwrap.wrap(text, WIDTH - len(indent) - 3, break_long_words=False, break_on_hyphens=False)
    if len(lines) == 1 and len(indent) + len(lines[0]) + 6 <= WIDTH:
        return f"{indent}/* {lines[0]} */\n"
    return f"{indent}/* " + f"\n{indent} * ".join(lines) + " */\n"


def enum_text(enum: Enum) -> str:
    text = comment(enum.doc) if enum.doc else ""
    if not enum.flags:
        text += f"typedef int32_t {enum.name};\n"
    text += "enum {\n"
    for i, value in enumerate(enum.values):
        doc = value.doc
        if "stages" in value.columns:
            doc += " " + ", ".join(value.columns["stages"]) + "."
        text += comment(doc, "  ")
        text += f"  {value.c_name} = {value.value}{',' if i + 1 < len(enum.values) else ''}\n"
    return text + "};"


def struct_text(struct: Struct) -> str:
    text = comment(struct.doc) + f"typedef struct {struct.name} {{\n"
    for field in struct.fields:
        if field.section:
            text += f"\n{comment('---- ' + field.section + ' ----', '  ')}\n"
        doc = " ".join(filter(None, [field.doc, field.describe_values()]))
        if doc:
            text += comment(doc, "  ")
        text += f"  {field.c_declaration};\n"
    return text + f"}} {struct.name};"


COMMENT = r"(?:/\*(?:(?!\*/).)*\*/\n)?"
STRUCT = re.compile(COMMENT + r"typedef struct (\w+) \{.*?\n\} \1;", re.S)
ENUM = re.compile(COMMENT + r"(?:typedef int32_t \w+;\n)?enum \{(.*?)\};", re.S)


def emit(tables: Tables) -> dict[str, str]:
    files = {}
    version = dict(zip(("MAJOR", "MINOR", "PATCH"), tables.version.split(".")))
    for path in sorted((tables.root / "capi/include").glob("*.h")):
        structs = {struct.name: struct for struct in tables.structs if struct.header == path.name}
        enums = {enum.values[0].c_name: enum for enum in tables.enums if enum.header == path.name}

        if (structs or enums) and MARK.format(path.stem.removeprefix("sotto_")) not in path.read_text(encoding="utf-8"):
            raise TableError(f"{path.name} does not say from which table its enums and structs are generated")

        def replace_struct(match):
            struct = structs.pop(match.group(1), None)
            if struct is None:
                raise TableError(f"{path.name} has a struct {match.group(1)} that no table describes")
            return struct_text(struct)

        def replace_enum(match):
            first = re.search(r"\bSOTTO_\w+", re.sub(r"/\*.*?\*/", "", match.group(1), flags=re.S)).group()
            enum = enums.pop(first, None)
            if enum is None:
                raise TableError(f"{path.name} has an enum with {first} that no table describes")
            return enum_text(enum)

        text = VERSION.sub(lambda match: f"{match.group(1)} {version[match.group(2)]}",
                           path.read_text(encoding="utf-8"))
        text = DEFINE.sub(lambda match: f"#define {match.group(1)} {DERIVED[match.group(1)](tables)}", text)
        text = STRUCT.sub(replace_struct, text)
        text = ENUM.sub(replace_enum, text)
        for name in [*structs, *enums]:
            raise TableError(f"{path.name} has no declaration of {name}")
        files[f"capi/include/{path.name}"] = text
    return files
