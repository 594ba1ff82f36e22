"""Emits the generated modules of the Python binding (ctypes declarations, enums, parameters, information) and simple
methods."""
import re

from bindings import (MARK, callbacks, counts_its_own, documentation, functions, info_structs, params_structs,
                      public_enums, visible, wrap)
from methods import with_methods
from tables import EnumValue, Tables, preset_values, snake_to_camel

# Python's words for NULL, 1 and 0 in documentation.
WORDS_OF_C = ("None", "True", "False")
FOLDER = "platforms/python/sotto/generated"
PACKAGE = "platforms/python/sotto/__init__.py"
ARRAYS = {"bytes": "bytes", "floats": "memoryview", "embedding": "list[float]"}
# Added to the documentation of methods that return these, or have a limit on the number of tokens.
NOTES = {
    "floats": "The result is a read-only view of the session's memory, which is valid until its next call. "
              "numpy.asarray uses it without a copy.",
    "status": "Returns OK or STOP_CANCELLED.",
    "stop": "Calls `on_piece` with each piece until it returns a true value. Returns the reason why the text ended.",
    "limit": "There is no limit if `max_tokens` is None.",
}
KINDS = {"text": "Text", "bytes": "bytes", "tokens": "Text | Sequence[int]", "limit": "int | None",
         "pieces": "Callable[[Piece], object] | None"}
CLASSES = {"session": "session.py", "chat": "chat.py", "matcher": "grammar.py"}
C_TYPES = {"int32_t": "i32", "uint8_t": "u8", "uint32_t": "u32", "uint64_t": "u64", "float": "f32", "double": "f64",
           "size_t": "size", "sotto_token": "i32"}
ELEMENTS = {"sotto_text": "Text", "sotto_token_list": "Sequence[int]", "sotto_token_bias": "tuple[int, float]",
            "sotto_sequence_bias": "tuple[Sequence[int], float]"}
CALLBACKS = {"sotto_log_fn": "Callable[[LogLevel, str], None]",
             "sotto_logits_fn": "Callable[[memoryview], None]",
             "sotto_logits_processor_fn": "Callable[[list[int], int, memoryview], None]",
             "sotto_similarity_fn": "Callable[[list[int], list[int]], float]",
             "sotto_step_fn": "Callable[[int, int], object]",
             "sotto_draft_fn": "Callable[[list[int], memoryview | None, int], Sequence[int]]"}

ABI_HEAD = '''\
import ctypes
from ctypes import CFUNCTYPE, POINTER

i32, u8, u32, u64 = ctypes.c_int32, ctypes.c_uint8, ctypes.c_uint32, ctypes.c_uint64
f32, f64, size, pointer = ctypes.c_float, ctypes.c_double, ctypes.c_size_t, ctypes.c_void_p


class Struct(ctypes.Structure):
    """A struct that may begin with its own size. COUNTS maps each list to the field with its count."""

    COUNTS: dict = {}

    def __init__(self, *args, **values):
        super().__init__(*args, **values)
        if self._fields_[0][0] == "struct_size":
            self.struct_size = ctypes.sizeof(self)
'''


def fill(items, opening, closing, indent=8, width=120):
    """Returns a bracketed list of `items`, wrapped."""
    lines = wrap(", ".join(item.replace(" ", "\0") for item in items) + closing, " " * indent, width)
    return (opening + "\n" + "\n".join(lines)).replace("\0", " ")


def name_of(c_name):
    return snake_to_camel(c_name.removeprefix("sotto_"))


class Abi:
    """Builds the ctypes declarations. Each follows those that it refers to."""

    def __init__(self, tables):
        self.tables, self.callbacks, self.done, self.parts = tables, callbacks(tables), set(), [ABI_HEAD]
        self.enums = {enum.name for enum in tables.enums}
        self.structs = {struct.name: struct for struct in tables.structs}
        for struct in tables.structs:
            self.struct(struct)
        for name in self.callbacks:
            self.callback(name)

    def type(self, c_type):
        """Returns the ctypes name of a C type. If it is a struct or callback, that is emitted first."""
        c_type = c_type.replace("const ", "")
        if c_type in C_TYPES:
            return C_TYPES[c_type]
        if c_type in self.enums:
            return "i32"
        if c_type in self.structs:
            self.struct(self.structs[c_type])
            return name_of(c_type)
        if c_type in self.callbacks:
            self.callback(c_type)
            return name_of(c_type)
        if c_type == "void":
            return "None"
        if array := re.fullmatch(r"char\[(\d+)\]", c_type):
            return f"ctypes.c_char * {array[1]}"
        if c_type in ("void*", "char*") or "(*)" in c_type:
            return "pointer"
        target = c_type[:-1]
        if not c_type.endswith("*"):
            raise ValueError(f"no type for {c_type}")
        is_known = target in C_TYPES or target.endswith("*") or target in self.enums or target in self.structs
        return f"POINTER({self.type(target)})" if is_known else "pointer"

    def struct(self, struct):
        if struct.name in self.done:
            return
        self.done.add(struct.name)
        fields = [f'("{field.name}", {self.type(field.c_type)})' for field in struct.fields]
        text = f"class {struct.camel}(Struct):\n" + fill(fields, "    _fields_ = [", "]")
        counts = [f'"{field.name}": "{field.count}"' for field in struct.fields
                  if field.kind == "array" and counts_its_own(field)]
        if counts:
            text += "\n" + fill(counts, "    COUNTS = {", "}")
        self.parts.append(text + "\n")

    def callback(self, name):
        if name in self.done:
            return
        self.done.add(name)
        function = self.callbacks[name]
        types = [self.type(function.result), *(self.type(c_type) for c_type, _ in function.parameters)]
        self.parts.append(f"{name_of(name)} = CFUNCTYPE({', '.join(types)})\n")

    def text(self):
        lines = []
        for function in functions(self.tables):
            result = "ctypes.c_char_p" if function.result == "const char*" else self.type(function.result)
            arguments = ", ".join(self.type(c_type) for c_type, _ in function.parameters)
            lines += wrap(f'"{function.name}": ({result}, [{arguments}]),', "    ")
        listed = "\n".join(line if line.startswith('    "') else "    " + line for line in lines)
        return "\n\n".join(self.parts) + f"\n\n# name: result, arguments\nFUNCTIONS = {{\n{listed}\n}}\n"


def documented(line, doc):
    """Returns an attribute with its docstring."""
    return [line, *docstring(doc)] if doc else [line]


def docstring(doc, width=120):
    """Returns the lines of a docstring inside a class or function."""
    text = doc.replace("\\", "\\\\") + (" " if doc.endswith('"') else "")
    return wrap(f'"""{text}"""', "    ", width)


ENUMS_HEAD = '''\
import enum

{all}

class _Named(enum.IntEnum):
    """An enumeration whose values are printed by name: Status.STOP_MAX_TOKENS."""

    __str__ = enum.Enum.__str__
    __format__ = enum.Enum.__format__


class _NamedFlag(enum.IntFlag):
    """Flags that are printed by name."""

    __str__ = enum.Flag.__str__
    __format__ = enum.Flag.__format__


'''


def enums_text(tables):
    classes = []
    for enum in public_enums(tables):
        lines = [f"class {enum.camel}({'_NamedFlag' if enum.flags else '_Named'}):",
                 *docstring(enum.doc), ""]
        for value in enum.values:
            lines += documented(f"    {value.name} = {value.value}", value.doc)
        classes.append("\n".join(lines) + "\n")
    return ENUMS_HEAD.format(all=exported(names_of(public_enums(tables)))) + "\n\n".join(classes)


def names_of(items):
    return [item.camel for item in items]


def exported(names):
    return fill([f'"{name}"' for name in sorted(names)], "__all__ = [", "]", 4) + "\n"


def python_type(field):
    if field.kind == "bool":
        return "bool"
    if field.kind in ("enum", "flags"):
        return name_of(field.type)
    if field.kind in ("number", "token"):
        return "float" if field.type in ("float", "double") else "int"
    if field.kind == "struct":
        return "Text"
    if field.kind == "array":
        if field.type in ELEMENTS:
            return f"Sequence[{ELEMENTS[field.type]}]"
        return f"Sequence[{'int' if field.type in C_TYPES else name_of(field.type)}]"
    if field.kind == "callback":
        return CALLBACKS[field.type]
    return name_of(field.type)


def preset_method(tables):
    def value_text(value):
        return f"{value.enum.camel}.{value.name}" if isinstance(value, EnumValue) else repr(value)

    rows = []
    for preset in tables.enum("sotto_preset").values:
        values = ", ".join(f"{field.name}={value_text(value)}" for field, value in preset_values(preset, tables))
        rows.append(f"            Preset.{preset.name}: cls({values}),")
    return ["", "    @classmethod", "    def preset(cls, preset: Preset | str) -> SamplerParams:",
            '        """Returns the parameters for a purpose."""',
            "        presets = {", *rows, "        }",
            "        return presets[Preset[preset.upper()] if isinstance(preset, str) else Preset(preset)]"]


def dataclasses_text(tables, structs, optional):
    classes = []
    for struct in structs:
        lines = ["@dataclass(frozen=True)", f"class {struct.camel}:", *docstring(struct.doc), ""]
        for field in visible(struct):
            suffix = " | None = None" if optional else ""
            lines += documented(f"    {field.name}: {python_type(field)}{suffix}", documentation(field, *WORDS_OF_C))
        if struct.name == "sotto_sampler_params":
            lines += preset_method(tables)
        classes.append("\n".join(lines) + "\n")
    return "\n\n".join(classes)


def fields_name(struct):
    return struct.camel.removesuffix("Params") + "Fields"


def typed_dicts_text(structs):
    """Returns a TypedDict for each struct, the type of the keyword arguments that change its fields."""
    classes = []
    for struct in structs:
        lines = [f"class {fields_name(struct)}(TypedDict, total=False):",
                 f'    """Keyword arguments that change {struct.camel}."""', ""]
        lines += [f"    {field.name}: {python_type(field)} | None" for field in visible(struct)]
        classes.append("\n".join(lines) + "\n")
    return "\n\n".join(classes)


def package_text(tables):
    """Returns the package's __init__.py with the current version and __all__, which type checkers understand only as a
    literal."""
    text = (tables.root / PACKAGE).read_text("utf-8")
    own = re.findall(r"^from \._?(?!generated)\w+ import (.+)$", text, flags=re.M)
    names = [name for line in own for name in line.split(", ")]
    for items in (public_enums(tables), params_structs(tables), info_structs(tables)):
        names += names_of(items)
    text = re.sub(r'__version__ = "[^"]*"', f'__version__ = "{tables.version}"', text)
    return re.sub(r"__all__ = \[.*?\]\n", lambda _: exported(names), text, flags=re.S)


def enum_imports(tables, structs, more=()):
    known = {enum.camel for enum in tables.enums}
    names = sorted({name for struct in structs for field in visible(struct)
                    for name in re.findall(r"[A-Z]\w+", python_type(field)) if name in known} | set(more))
    return fill(names, "from .enums import (", ")", 4) + "\n"


PARAMS_HEAD = '''\
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Union

{imports}
if TYPE_CHECKING:
    from ..grammar import Vocabulary
    from ..session import Session

{all}
Text = Union[str, bytes]


'''
FIELDS_HEAD = '''\
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypedDict

from ..grammar import Vocabulary
from ..session import Session
{imports}from .params import Text, WatermarkParams

{all}

'''
INFO_HEAD = '''\
from __future__ import annotations

from dataclasses import dataclass

{imports}
{all}

'''


def method_lines(method):
    def passed_as(argument):
        if argument in method.buffers:
            return f"{argument.name}_data, len({argument.name}_data)"
        if argument.kind == "tokens":
            return f"{argument.name}_tokens, {argument.name}_count"
        if argument.kind in ("params", "limit", "pieces"):
            return {"params": "given", "limit": "limit", "pieces": "callback, None"}[argument.kind]
        if argument.type in ("float", "double"):
            return argument.name
        return f'integer(abi.{C_TYPES.get(argument.type, "i32")}, {argument.name}, "{argument.name}")'

    def type_of(argument):
        if argument.kind != "number":
            return KINDS.get(argument.kind, argument.camel_type)
        return "float" if argument.type in ("float", "double") else "int"

    exclusive, handle = ("self.session", "self._handle") if method.object == "chat" else ("self", "handle")
    def declared(argument):
        if argument.kind == "params":
            fields = argument.camel_type.removesuffix("Params") + "Fields"
            return f"{argument.name}: {argument.camel_type} | None = None, **changes: Unpack[{fields}]"
        default = argument.default
        if argument.is_optional:
            default = "()" if argument.kind == "tokens" else "None"
        elif default is not None and argument.kind == "enum":
            default = f"{argument.camel_type}.{default.name}"
        return f"{argument.name}: {type_of(argument)}" + ("" if default is None else f" = {default}")

    parameters = ["self", *map(declared, method.with_defaults_last)]
    returned = f"info.{method.info.camel}" if method.info else ARRAYS.get(method.array, "None")
    returned = "Status" if method.returns else returned
    if method.result:
        returned = "float" if method.result in ("float", "double") else "int"
    passed = [handle, *method.passed(passed_as)]
    passed += ["found"] if method.info else ["result"] if method.result else []
    passed += ["error"] if method.has_error else []
    call = f"lib.{method.function}({', '.join(passed)})"
    lines = ["@property"] if method.is_property else []
    lines += [f"def {method.name('python')}({', '.join(parameters)}) -> {returned}:",
              *docstring(method.documentation(NOTES), 116)]
    if method.array == "floats":
        return [*lines, f"    return self._floats(lib.{method.function}{''.join(', ' + each for each in passed[1:])})"]
    owner = "self.session" if method.object == "chat" else "self"
    lines += [f"    {a.name}_data = as_bytes({a.name})" for a in method.buffers]
    lines += [f"    limit = limit_of({method.limit.name})"] if method.limit else []
    lines += [f"    {a.name}_tokens, {a.name}_count = tokens_in({owner}._tokens({a.name}))" for a in method.tokens]
    lines += [f"    callback = {owner}._callbacks.piece({method.pieces.name})"] if method.pieces else []
    if method.params:
        kind = method.params.camel_type
        lines += ["    filler = Filler()",
                  f"    given = filler.fill(abi.{kind}, changed({kind}, {method.params.name}, changes))"]
    lines += ["    error = abi.Error()"] if method.has_error else []
    lines += [f"    found = abi.{method.info.camel}()"] if method.info else []
    lines += [f"    result = abi.{C_TYPES[method.result]}()"] if method.result else []
    lines += ["    size = ctypes.c_size_t()"] if method.array == "bytes" else []
    lines += ["    embedding = (ctypes.c_float * self._embedding_size)()"] if method.array == "embedding" else []
    lines.append(f"    with Exclusive({exclusive}){'' if method.object == 'chat' else ' as handle'}:")
    if method.array == "embedding":
        call = f"lib.{method.function}({', '.join(passed)}, embedding)"
        return [*lines, f"        check_whole(check_session(handle, {call}))", "    return list(embedding)"]
    if method.array:
        given = f"lib.{method.function}({', '.join(passed)}"
        lines += [f"        {given}, None, 0, size)", "        data = ctypes.create_string_buffer(size.value)"]
        call = f"{given}, data, size.value, size)"
    if method.pieces:
        lines += [f"        status = {call}", f"        {owner}._callbacks.raise_first()"]
        call = "status"
    if method.is_described:
        check = f"check_session(handle, {call})"
    else:
        check = f"check({call}{', error' if method.has_error else ''})"
    check = check if method.has_status else call
    lines.append(f"        return Status({check})" if method.returns else f"        {check}")
    lines += [f"    return read({returned}, found)"] if method.info else []
    lines += ["    return result.value"] if method.result else ["    return data.raw"] if method.array else []
    return lines


def emit(tables: Tables) -> dict[str, str]:
    """Returns the text of each generated file, by path."""
    def module(name, doc, text):
        return {f"{FOLDER}/{name}.py": f'# {MARK}\n"""{doc}"""\n{text}'}

    params, info = params_structs(tables), info_structs(tables)
    return {
        f"{FOLDER}/__init__.py": f'# {MARK}\n"""Modules that capi/generate writes from capi/params."""\n',
        **module("abi", "ctypes declarations of every struct, callback and function of sotto.h.",
                 Abi(tables).text()),
        **module("enums", "The enumerations of sotto.h.", enums_text(tables)),
        **module("params", "Parameters. A field that is None keeps the library's default.",
                 PARAMS_HEAD.format(imports=enum_imports(tables, params, ["Preset"]), all=exported(names_of(params)))
                 + dataclasses_text(tables, params, True)),
        **module("fields", "Parameters as keyword arguments, for type checkers: `**changes: Unpack[SamplerFields]`.",
                 FIELDS_HEAD.format(imports=enum_imports(tables, params), all=exported(map(fields_name, params)))
                 + typed_dicts_text(params)),
        PACKAGE: package_text(tables),
        **with_methods(tables, method_lines, "platforms/python/sotto", CLASSES, comment="#"),
        **module("info", "Information that the library reports about its objects.",
                 INFO_HEAD.format(imports=enum_imports(tables, info), all=exported(names_of(info)))
                 + dataclasses_text(tables, info, False)),
    }
