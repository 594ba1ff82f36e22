"""The command line's table of parameters (platforms/cli/generated/parameters.inc) and the part of the man page that lists them.

Fields with a column `cli` become options. Its keys:
  option   spellings between commas; the first is the main one, others are names that other programs use
  group    heading of the help text
  help     one line for the help text; not the same as `doc`, which defines the parameter
  needs    options of which one must be given; by default those of the parameters in `needs`
  json     names in JSON between commas if they are not the field's; the first is the one that is written
  metavar  placeholder of the value; by default X, N, TOKEN or NAME by type
  shown    default that the help text shows if it is not the value
Values of an enum with `cli = true` have the names in their column `cli`, by default the name in lower case.
"""
import re

from tables import Enum, EnumValue, Field, Struct, TableError, Tables, c_string, snake_to_camel

KEYS = {"option", "group", "help", "needs", "json", "metavar", "shown"}
METAVARS = {"kNumber": "X", "kCount": "N", "kWindow": "N", "kKey": "N", "kOn": "", "kOff": "", "kToken": "TOKEN",
            "kName": "NAME"}
MAN_PAGE = "platforms/cli/sotto.1"
MAN_SECTION = re.compile(r"(?<=\n\.\\\" Generated from capi/params\.\n).*?(?=\.\\\" End of the generated part\.\n)", re.S)


def kind_of(field: Field) -> str:
    if field.kind == "bool":
        return "kOff" if field.default else "kOn"
    if field.kind in {"token", "enum"}:
        return {"token": "kToken", "enum": "kName"}[field.kind]
    kinds = {"float": "kNumber", "uint32_t": "kCount", "uint64_t": "kKey"}
    if field.type not in kinds:
        raise TableError(f"{field.struct.name}.{field.name}: the command line has no options of type {field.type}")
    is_window = any(special.text == "UINT32_MAX" for special in field.special)
    return "kWindow" if is_window else kinds[field.type]


def names_of(value: EnumValue) -> list[str]:
    return value.columns.get("cli", [value.name.lower()])


def enum_text(enum: Enum) -> str:
    names = [(name, value) for value in enum.values for name in names_of(value)[:1]]
    names += [(name, value) for value in enum.values for name in names_of(value)[1:]]
    rows = "".join(f"    {{{c_string(name)}, {value.c_name}}},\n" for name, value in names)
    return f"inline constexpr Name k{enum.camel}Names[] = {{\n{rows}}};\n"


def options_of(struct: Struct) -> list[Field]:
    fields = [field for field in struct.fields if field.cli]
    for field in fields:
        if unknown := field.cli.keys() - KEYS:
            raise TableError(f"{struct.name}.{field.name}: unknown columns cli.{sorted(unknown)}")
        for key in ("option", "group", "help"):
            if key not in field.cli:
                raise TableError(f"{struct.name}.{field.name}: cli.{key} is missing")
    return fields


def main_option(field: Field) -> str:
    return [name for name in field.cli["option"].split(",") if name.startswith("--")][0]


def needs_of(struct: Struct, field: Field) -> str:
    return field.cli.get("needs", ",".join(main_option(struct.find(name)) for name in field.needs))


def struct_text(struct: Struct, tables: Tables) -> str:
    rows = ""
    for field in options_of(struct):
        kind = kind_of(field)
        names = ""
        if kind == "kName":
            enum = tables.enum(field.type)
            if "cli" not in enum.columns:
                raise TableError(f"{struct.name}.{field.name}: {enum.name} needs cli = true")
            names = f",\n     k{enum.camel}Names"
        rows += (f"    {{{c_string(field.cli.get('json', field.name))}, {c_string(field.cli['option'])},\n"
                 f"     ParameterKind::{kind}, offsetof({struct.name}, {field.name}),\n"
                 f"     {c_string(field.cli.get('metavar', METAVARS[kind]))}, {c_string(field.cli['group'])},\n"
                 f"     {c_string(field.cli['help'])},\n"
                 f"     {c_string(needs_of(struct, field))}, {c_string(field.cli.get('shown', ''))}{names}}},\n")
    name = snake_to_camel(struct.name.removeprefix("sotto_").removesuffix("_params"))
    return f"inline constexpr Parameter k{name}Parameters[] = {{\n{rows}}};\n"


def man_text(structs: list[Struct], tables: Tables) -> str:
    groups = {}
    for struct in structs:
        for field in options_of(struct):
            groups.setdefault(field.cli["group"], []).append(field)
    text = ""
    for group, fields in groups.items():
        text += f".SS {group}\n"
        for field in fields:
            kind = kind_of(field)
            names = ", ".join(field.cli["option"].split(",")).replace("-", "\\-")
            metavar = field.cli.get("metavar", METAVARS[kind])
            help_text = field.cli["help"]
            if kind == "kName":
                choices = [names_of(value)[0] for value in tables.enum(field.type).values if names_of(value)]
                help_text += ": " + ", ".join(choices)
            help_text = help_text.replace("\\", "\\e").replace("-", "\\-")
            if help_text.startswith(("'", ".")):
                help_text = "\\&" + help_text
            text += f".TP\n.B {names} {metavar}".rstrip() + f"\n{help_text}.\n"
    return text


def emit(tables: Tables) -> dict[str, str]:
    structs = [struct for struct in tables.structs if options_of(struct)]
    text = "// Generated by capi/generate from capi/params. Included by platforms/cli/options/parameters.h.\n"
    for enum in tables.enums:
        if "cli" in enum.columns:
            text += "\n" + enum_text(enum)
    for struct in structs:
        text += "\n" + struct_text(struct, tables)
    page = (tables.root / MAN_PAGE).read_text(encoding="utf-8")
    if not MAN_SECTION.search(page):
        raise TableError(f"{MAN_PAGE} has no generated part")
    page = re.sub(r'"Sotto [\d.]+"', f'"Sotto {tables.version}"', page, count=1)
    return {"platforms/cli/generated/parameters.inc": text,
            MAN_PAGE: MAN_SECTION.sub(lambda match: man_text(structs, tables), page)}
