"""Reads and checks the tables of capi/params and represents them as Python objects.

The files capi/params/*.toml, one per header, describe every public enum, struct and field of the C interface. The
emitters (the modules emit_*.py of this package) receive one `Tables` object and return the text of the generated files.
"""
from __future__ import annotations

import dataclasses
import pathlib
import re
import tomllib

# Number types with their size and alignment in bytes. None stands for the size of a pointer.
NUMBERS = {"float": 4, "double": 8, "int32_t": 4, "uint32_t": 4, "uint64_t": 8, "uint8_t": 1, "char": 1, "size_t": None,
           "sotto_token": 4}
FLOATS = {"float", "double"}
# A space that does not break lines; it becomes a plain space when the text is written. It keeps "1." from the start
# of a line, where Markdown would take it for a list item.
HARD_SPACE = "\u00a0"
LARGEST = {"UINT32_MAX": 2**32 - 1, "UINT64_MAX": 2**64 - 1}
# The use of a struct. params: the caller fills it in after _params_init. input: the caller fills it in. output: the
# library fills in a struct whose struct_size the caller has set. result: the library returns a pointer to it. value:
# other structs contain it.
STRUCT_KINDS = {"params", "input", "output", "result", "value"}
WITH_STRUCT_SIZE = {"params", "input", "output"}
FIELD_COLUMNS = {"type", "default", "range", "special", "off", "choices", "doc", "section", "count", "limit",
                 "user_data", "large", "needs", "excludes", "cli"}
# Columns of fields with the type "recommended". transformers and gguf name the parameter in checkpoint files.
RECOMMENDED_COLUMNS = {"type", "doc", "transformers", "gguf"}


class TableError(Exception):
    """A table is not valid."""


def one_line(text: str) -> str:
    return " ".join(text.split())


def snake_to_camel(name: str) -> str:
    """Converts top_p_min to TopPMin."""
    return "".join(part[:1].upper() + part[1:] for part in name.lower().split("_"))


def snake_to_lower_camel(name: str) -> str:
    """Converts top_p_min to topPMin."""
    camel = snake_to_camel(name)
    return camel[:1].lower() + camel[1:]


@dataclasses.dataclass(frozen=True)
class Range:
    """An interval. Each end is a number, None (no limit), or the name of another parameter or quantity."""
    low: int | float | str | None
    high: int | float | str | None
    low_open: bool
    high_open: bool

    @staticmethod
    def parse(text: str) -> Range:
        match = re.fullmatch(r"([\[(])(.+), (.+)([\])])", text)
        if match is None:
            raise TableError(f"range {text!r} is not an interval such as [0, 1) or [1, inf)")
        is_open_above = match.group(4) == ")" and match.group(3) != "inf"
        return Range(*(parse_end(end) for end in match.group(2, 3)), match.group(1) == "(", is_open_above)

    @property
    def is_constant(self) -> bool:
        return not isinstance(self.low, str) and not isinstance(self.high, str)

    def __contains__(self, value) -> bool:
        """Returns whether a value is in the range. Ends that are not constant are not checked."""
        if isinstance(self.low, (int, float)) and (value < self.low or (self.low_open and value == self.low)):
            return False
        return not (isinstance(self.high, (int, float))
                    and (value > self.high or (self.high_open and value == self.high)))

    def describe(self) -> str:
        """Returns the range as messages and documents write it: "greater than 0 and at most 1"."""
        if self.high is None:
            return f"greater than {self.low}" if self.low_open else f"at least {self.low}"
        if not self.low_open and not self.high_open:
            return f"from {self.low} to {self.high}"
        low = f"greater than {self.low}" if self.low_open else f"at least {self.low}"
        return f"{low} and {'less than' if self.high_open else 'at most'} {self.high}"


def parse_end(text: str) -> int | float | str | None:
    if text == "inf":
        return None
    for convert in (int, float):
        try:
            return convert(text)
        except ValueError:
            pass
    return text


@dataclasses.dataclass(frozen=True)
class Special:
    """A value with a special meaning, inside or outside the range."""
    text: str  # the value as written in C: "-1", "UINT32_MAX"
    value: int
    meaning: str


@dataclasses.dataclass
class EnumValue:
    enum: Enum
    name: str  # without the prefix: TOP_P
    value: int
    doc: str
    text: str  # name in messages: from the table, or by default "top p"
    columns: dict  # columns of particular enums, such as the stages of an order

    @property
    def c_name(self) -> str:
        return self.enum.prefix + self.name

    @property
    def snake(self) -> str:
        return self.name.lower()

    @property
    def camel(self) -> str:
        return snake_to_camel(self.name)


@dataclasses.dataclass
class Enum:
    name: str  # sotto_stage
    header: str  # sotto_sampler.h
    prefix: str  # SOTTO_STAGE_
    flags: bool  # the values are bits of a uint32_t
    doc: str
    values: list[EnumValue]
    columns: dict

    @property
    def camel(self) -> str:
        """The name without the C prefix: Stage."""
        return snake_to_camel(self.name.removeprefix("sotto_"))

    @property
    def runtime(self) -> str:
        """The name in the runtime: StageKind."""
        return self.columns.get("runtime", self.camel)

    def find(self, name: str) -> EnumValue:
        found = next((value for value in self.values if value.name == name), None)
        if found is None:
            raise TableError(f"{self.name} has no value {name}")
        return found


@dataclasses.dataclass
class Field:
    """A field of a struct, including those that the tables omit: struct_size, counts of arrays, user data of callbacks.

    kind  struct_size reserved number bool token enum flags array count struct pointer callback user_data function chars
    """
    struct: Struct
    name: str
    kind: str
    type: str  # C type of a number, name of an enum, struct or callback, or type of the elements of an array
    c_type: str  # type as in a declaration; the type of a function contains (*) instead of the name
    doc: str = ""
    enum: Enum | None = None  # for the kinds enum and flags
    default: object = None  # a number, an EnumValue, or for texts and lists of texts a str or list[str]
    range: Range | None = None
    special: list[Special] = dataclasses.field(default_factory=list)
    off: int | float | None = None  # the value that disables the parameter
    large: int | None = None  # of a capacity: a value that suffices even for hard inputs
    choices: list = dataclasses.field(default_factory=list)  # if not empty, the only values: EnumValues or numbers
    section: str = ""  # heading for this field and those after it
    count: str = ""  # for an array, the field with the number of elements
    limit: int | None = None  # for an array, the maximum number of elements
    counts: list[str] = dataclasses.field(default_factory=list)  # for a count, its arrays
    user_data: str = ""  # for a callback, the field whose value it receives
    needs: list[str] = dataclasses.field(default_factory=list)  # one of these must be on
    excludes: list[str] = dataclasses.field(default_factory=list)
    cli: dict = dataclasses.field(default_factory=dict)  # columns of the command line
    recommends: str = ""  # the sampler's parameter that this value of a model file is recommended for
    keys: dict = dataclasses.field(default_factory=dict)  # its name in the files of a checkpoint format

    @property
    def camel(self) -> str:
        return snake_to_camel(self.name)

    @property
    def lower_camel(self) -> str:
        return snake_to_lower_camel(self.name)

    @property
    def is_float(self) -> bool:
        return self.type in FLOATS

    @property
    def is_public(self) -> bool:
        """True if language bindings have this field."""
        return self.kind not in {"struct_size", "reserved", "count", "user_data"}

    @property
    def default_value(self) -> int | float | None:
        """The default as a number, or None if it is not a number."""
        if isinstance(self.default, EnumValue):
            return self.default.value
        return self.default if isinstance(self.default, (int, float)) else None

    @property
    def c_default(self) -> str:
        """The default as a C initializer."""
        if isinstance(self.default, EnumValue):
            return self.default.c_name
        if self.kind in {"array", "pointer", "callback", "user_data", "function"}:
            return "NULL"
        value = self.default if self.default is not None else 0
        for special in self.special:
            if special.value == value:
                return special.text
        if self.type == "float":
            return f"{float(value)}f"
        return str(float(value)) if self.type == "double" else str(value)

    @property
    def c_declaration(self) -> str:
        if "(*)" in self.c_type:
            return self.c_type.replace("(*)", f"(*{self.name})", 1)
        array = re.fullmatch(r"(\w+)(\[\d+\])", self.c_type)
        if array:
            return f"{array.group(1)} {self.name}{array.group(2)}"
        return f"{self.c_type} {self.name}"

    def describe_values(self) -> str:
        """Default, range and special values as sentences: "Default: 40. Range: at least 1. 0 disables it." """
        sentences = []
        specials = {special.value: special for special in self.special}
        default = self.default
        if self.struct.kind == "params" and self.kind in {"number", "token", "bool", "enum", "flags"}:
            if isinstance(default, EnumValue):
                sentences.append(f"Default: {default.name}.")
            elif self.default_value in specials:
                special = specials.pop(self.default_value)
                sentences.append(f"Default: {special.text} ({special.meaning}).")
            elif default is not None:
                is_off = self.kind != "bool" and default == self.off
                sentences.append(f"Default: {number_text(default)}{' (off)' if is_off else ''}.")
        elif isinstance(default, str):
            sentences.append(f'Default: "{default}".')
        elif isinstance(default, list):
            sentences.append(f"Default: {' '.join(c_string(text) for text in default)}.")
        if self.range is not None and self.kind != "bool":
            sentences.append(f"Range: {self.range.describe().removeprefix('from ')}.")
        if self.limit is not None:
            sentences.append(f"At most {self.limit} elements.")
        if self.choices and self.kind == "number":
            sentences.append(f"Values: {' or '.join(str(choice) for choice in self.choices)}.")
        for special in specials.values():
            sentences.append(f"{special.text} means {special.meaning}.")
        if self.off is not None and self.kind == "number" and self.off != default and self.off not in specials:
            sentences.append(f"{number_text(self.off)} disables it.")
        return " ".join(re.sub(r" (?=\S+$)", HARD_SPACE, sentence) for sentence in sentences)


def number_text(value: int | float) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def c_string(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


@dataclasses.dataclass
class Struct:
    name: str  # sotto_sampler_params
    header: str
    kind: str
    doc: str
    fields: list[Field]
    columns: dict

    @property
    def camel(self) -> str:
        """The name without the C prefix: SamplerParams."""
        return snake_to_camel(self.name.removeprefix("sotto_"))

    @property
    def has_struct_size(self) -> bool:
        return self.kind in WITH_STRUCT_SIZE

    @property
    def public_fields(self) -> list[Field]:
        return [field for field in self.fields if field.is_public]

    def find(self, name: str) -> Field:
        found = next((field for field in self.fields if field.name == name), None)
        if found is None:
            raise TableError(f"{self.name} has no field {name}")
        return found


@dataclasses.dataclass
class Tables:
    root: pathlib.Path  # of the source tree
    enums: list[Enum]
    structs: list[Struct]
    methods: dict[str, dict]  # C function: its row, which methods.py reads

    @property
    def version(self) -> str:
        return (self.root / "capi/VERSION").read_text(encoding="utf-8").strip()

    def enum(self, name: str) -> Enum:
        return next(enum for enum in self.enums if enum.name == name)

    def struct(self, name: str) -> Struct:
        return next(struct for struct in self.structs if struct.name == name)

    def runtime_name(self, c_type: str) -> str:
        """The runtime's name of a type of elements: of a struct that both interfaces share, or of a number."""
        struct = next((struct for struct in self.structs if struct.name == c_type), None)
        return struct.columns["runtime"] if struct else "int32_t" if c_type == "sotto_token" else c_type

    @property
    def recommended(self) -> list[Field]:
        """The fields of sotto_model_info with the values that a model file recommends for the sampler."""
        return [field for field in self.struct("sotto_model_info").fields if field.recommends]

    def size_and_alignment(self, field: Field, pointer: int) -> tuple[int, int]:
        """Returns size and alignment of a field, for a given size of pointers."""
        if field.kind == "struct":
            return self.layout(self.struct(field.type), pointer)[1:]
        if field.kind == "chars":
            return int(re.search(r"\d+", field.c_type).group()), 1
        if field.c_type in NUMBERS:
            size = NUMBERS[field.c_type] or pointer
        else:
            size = 4 if field.kind == "enum" else pointer
        return size, size

    def layout(self, struct: Struct, pointer: int) -> tuple[list[tuple[Field, int, int]], int, int]:
        """Returns the fields with their offsets and sizes, then the size and the alignment of the struct.

        64-bit integers are aligned to 8 bytes.
        """
        rows, offset, alignment = [], 0, 1
        for field in struct.fields:
            size, field_alignment = self.size_and_alignment(field, pointer)
            offset = -(-offset // field_alignment) * field_alignment
            rows.append((field, offset, size))
            offset += size
            alignment = max(alignment, field_alignment)
        return rows, -(-offset // alignment) * alignment, alignment


class Loader:
    def __init__(self, root: pathlib.Path):
        self.root = root
        self.tables = Tables(root, [], [], {})
        self.enums: dict[str, Enum] = {}
        self.struct_names: set[str] = set()
        self.sampler_rows: dict[str, dict] = {}

    def load(self) -> Tables:
        contents = {path.stem: tomllib.loads(path.read_text(encoding="utf-8"))
                    for path in sorted((self.root / "capi/params").glob("*.toml"))}
        for stem, content in contents.items():
            for name, table in content.get("enum", {}).items():
                self.tables.enums.append(self.read_enum(name, f"sotto_{stem}.h", table))
            self.struct_names.update(content.get("struct", {}))
        self.enums = {enum.name: enum for enum in self.tables.enums}
        self.sampler_rows = contents["sampler"]["struct"]["sotto_sampler_params"]["fields"]
        for stem, content in contents.items():
            for name, table in content.get("struct", {}).items():
                self.tables.structs.append(self.read_struct(name, f"sotto_{stem}.h", table))
            self.tables.methods.update(content.get("method", {}))
        for struct in self.tables.structs:
            check_struct(struct)
        check_stages(self.tables)
        return self.tables

    def read_enum(self, name: str, header: str, table: dict) -> Enum:
        table = dict(table)
        values = table.pop("values")
        enum = Enum(name, header, table.pop("prefix"), table.pop("flags", False), one_line(table.pop("doc")), [], table)
        for value_name, columns in values.items():
            columns = dict(columns)
            enum.values.append(EnumValue(enum, value_name, columns.pop("value"), one_line(columns.pop("doc")),
                                         columns.pop("text", value_name.lower().replace("_", " ")), columns))
        if len({value.value for value in enum.values}) != len(enum.values):
            raise TableError(f"{name}: two values are equal")
        if enum.flags and any(value.value & (value.value - 1) for value in enum.values):
            raise TableError(f"{name}: a flag is not one bit")
        return enum

    def read_struct(self, name: str, header: str, table: dict) -> Struct:
        table = dict(table)
        rows = table.pop("fields")
        struct = Struct(name, header, table.pop("kind"), one_line(table.pop("doc")), [], table)
        if struct.kind not in STRUCT_KINDS:
            raise TableError(f"{name}: kind {struct.kind!r} is none of {sorted(STRUCT_KINDS)}")
        if struct.has_struct_size:
            struct.fields.append(Field(struct, "struct_size", "struct_size", "uint32_t", "uint32_t"))
        last_array = {row["count"]: field for field, row in rows.items() if "count" in row}
        for field_name, row in rows.items():
            try:
                field = self.read_field(struct, field_name, row)
            except TableError as error:
                raise TableError(f"{name}.{field_name}: {error}") from None
            struct.fields.append(field)
            if field.count and field.count not in rows and last_array[field.count] == field_name:
                arrays = [other for other, row in rows.items() if row.get("count") == field.count]
                struct.fields.append(Field(struct, field.count, "count", "size_t", "size_t", counts=arrays, default=0))
            if field.user_data:
                struct.fields.append(Field(struct, field.user_data, "user_data", "void*", "void*"))
        return struct

    def read_recommended(self, struct: Struct, name: str, row: dict) -> Field:
        """Reads a field default_*, which has the type of the sampler's parameter."""
        parameter = name.removeprefix("default_")
        if unknown := row.keys() - RECOMMENDED_COLUMNS:
            raise TableError(f"unknown columns {sorted(unknown)}")
        if not name.startswith("default_") or parameter not in self.sampler_rows:
            raise TableError("its name is not default_ and a parameter of the sampler")
        c_type = self.sampler_rows[parameter]["type"]
        if c_type not in {"float", "uint32_t"}:
            raise TableError(f"a model file cannot recommend a {c_type}")
        return Field(struct, name, "number", c_type, c_type,
                     one_line(row.get("doc", f"Value of {parameter} that model_defaults selects.")),
                     recommends=parameter, keys={key: row[key] for key in ("transformers", "gguf") if key in row})

    def read_field(self, struct: Struct, name: str, row: dict) -> Field:
        if row["type"] == "recommended":
            return self.read_recommended(struct, name, row)
        if unknown := row.keys() - FIELD_COLUMNS:
            raise TableError(f"unknown columns {sorted(unknown)}")
        kind, type_name, c_type = self.classify(row["type"])
        if kind == "reserved":
            return Field(struct, name, kind, c_type, c_type)
        field = Field(struct, name, kind, type_name, c_type, one_line(row["doc"]))
        field.limit, field.large = row.get("limit"), row.get("large")
        field.enum = self.enums.get(type_name)
        field.section = row.get("section", "")
        field.count, field.user_data = row.get("count", ""), row.get("user_data", "")
        field.needs, field.excludes = row.get("needs", []), row.get("excludes", [])
        field.cli = row.get("cli", {})
        field.special = [Special(text, LARGEST[text] if text in LARGEST else int(text), meaning)
                         for text, meaning in row.get("special", {}).items()]
        if "range" in row:
            field.range = Range.parse(row["range"])
        convert = self.value_converter(field)
        if "default" in row:
            field.default = convert(row["default"])
        if "off" in row:
            off = convert(row["off"])
            field.off = off.value if isinstance(off, EnumValue) else off
        field.choices = [convert(choice) for choice in row.get("choices", [])]
        return field

    def value_converter(self, field: Field):
        def convert(value):
            if field.kind in {"enum", "flags"} and isinstance(value, str):
                return self.enums[field.type].find(value)
            if isinstance(value, str) and value in LARGEST:
                return LARGEST[value]
            return value
        return convert

    def classify(self, text: str) -> tuple[str, str, str]:
        """Returns the kind, the type and the C type that a column `type` stands for."""
        if text == "reserved":
            return "reserved", "uint32_t", "uint32_t"
        if text == "bool":
            return "bool", "uint32_t", "uint32_t"
        if text == "sotto_token":
            return "token", text, text
        if text in NUMBERS:
            return "number", text, text
        if text in self.enums:
            flags = self.enums[text].flags
            return ("flags", text, "uint32_t") if flags else ("enum", text, text)
        if text in self.struct_names:
            return "struct", text, text
        if text.endswith("_fn"):
            return "callback", text, text
        if "(*)" in text:
            return "function", text, text
        if match := re.fullmatch(r"char\[(\d+)\]", text):
            return "chars", "char", text
        if match := re.fullmatch(r"(\w+)\[\]", text):
            return "array", match.group(1), f"const {match.group(1)}*"
        if match := re.fullmatch(r"(?:const )?(\w+)\*", text):
            return "pointer", match.group(1), text
        raise TableError(f"unknown type {text!r}")


def check_struct(struct: Struct) -> None:
    names = [field.name for field in struct.fields]
    if len(set(names)) != len(names):
        raise TableError(f"{struct.name}: two fields have the same name")
    for field in struct.fields:
        where = f"{struct.name}.{field.name}"
        if field.kind == "array" and not field.count:
            raise TableError(f"{where}: an array needs a count")
        if field.kind not in {"struct_size", "reserved", "count", "user_data"} and not field.doc:
            raise TableError(f"{where}: doc is missing")
        for other in field.needs + field.excludes:
            struct.find(other)
        special = {entry.value for entry in field.special}
        numeric = field.kind in {"number", "token"}
        if struct.kind == "params" and numeric and field.default is None:
            raise TableError(f"{where}: default is missing")
        for value in (field.default_value, field.off):
            if value is not None and field.range is not None and value not in special and value not in field.range:
                raise TableError(f"{where}: {value} is outside the range")


def hard_bans(tables: Tables) -> list[EnumValue]:
    """Returns the values of sotto_stage that narrow the mask before the chain."""
    return [value for value in tables.enum("sotto_stage").values if value.columns.get("is_ban")]


def chain_stages(tables: Tables) -> list[EnumValue]:
    """Returns the values of sotto_stage that are stages of the chain: all others."""
    return [value for value in tables.enum("sotto_stage").values if not value.columns.get("is_ban")]


def check_stages(tables: Tables) -> None:
    """Checks that stages are numbered from 1, that every order contains every stage once, and that stages refer to
    parameters of the sampler."""
    sampler = tables.struct("sotto_sampler_params")
    stages = tables.enum("sotto_stage")
    for number, stage in enumerate(stages.values, 1):
        if stage.value != number:
            raise TableError(f"stage {stage.name} has the number {stage.value}, not {number}")
        for term in " and ".join(stage.columns["on"]).split(" and "):
            field = sampler.find(term.split()[0])
            if " " not in term and field.kind in {"number", "token"} and field.off is None:
                raise TableError(f"stage {stage.name}: {term} has no value that is off")
    for order in tables.enum("sotto_order").values:
        if sorted(order.columns["stages"]) != sorted(stage.name for stage in chain_stages(tables)):
            raise TableError(f"order {order.name} does not hold every stage exactly once")


def preset_values(preset: EnumValue, tables: Tables) -> list[tuple[Field, object]]:
    """Returns the parameters of the sampler that a preset sets, with their values: numbers or EnumValues."""
    sampler, values = tables.struct("sotto_sampler_params"), []
    for name, value in preset.columns["sets"].items():
        field = sampler.find(name)
        if field.kind == "enum":
            value = field.enum.find(value)
        elif field.kind != "number" or isinstance(value, str) or field.range is not None and value not in field.range:
            raise TableError(f"preset {preset.name}: {name} cannot be {value}")
        values.append((field, value))
    return values


def load(root: pathlib.Path) -> Tables:
    return Loader(root).load()
