"""Reads the simple methods of the language bindings from the tables [method.*] and the prototypes in the C headers, and
replaces their text in the classes.

A method calls one function with the object and with numbers, tokens, values of enums, texts and bytes, a limit on the
number of tokens, a function that receives pieces, and at the end a struct of parameters. It returns nothing, a status,
a number, a struct that the library fills in, bytes that it writes, or floats. Methods with other objects, or with
callbacks that stay in use, are written by hand, because they differ in each language in what they keep alive.

The methods of an object are between two comments in the class, one of each in every language; see region(). To support
another kind of argument, add it to read_arguments() and to method_lines() in the module of each language.
"""
import dataclasses
import re

from bindings import functions, params_structs
from tables import Struct, TableError, Tables, snake_to_camel, snake_to_lower_camel

OBJECTS = ("session", "chat", "matcher")
NUMBERS = {"int32_t", "uint32_t", "uint64_t", "size_t", "float", "double", "sotto_token"}
BUFFERS = {"const char*": "text", "const void*": "bytes", "const sotto_token*": "tokens"}
# The last parameters of functions that return an array. *size receives the number of bytes needed. A parameter
# `embedding` receives embedding_size floats.
ARRAYS = {"bytes": ["void*", "size_t", "size_t*"], "floats": ["const float**", "size_t*"], "embedding": ["float*"]}
# Results of methods whose status may be more than OK or a failure: OK or CANCELLED, or the reason why a text ended.
RETURNS = {None, "status", "stop"}
PLAIN_FIELDS = {"struct_size", "number", "bool", "token", "enum", "flags", "array", "count", "reserved"}


@dataclasses.dataclass(frozen=True)
class Argument:
    kind: str  # number enum text bytes tokens limit pieces params fixed
    type: str  # C type of a number, an enum or a struct of parameters
    name: str
    default: object = None  # in languages that have default arguments; of a fixed argument, its value
    is_optional: bool = False  # of tokens, a limit and a function: whether languages with default arguments have one
    has_lists: bool = False  # of a struct of parameters

    @property
    def lower_camel(self) -> str:
        return snake_to_lower_camel(self.name)

    @property
    def camel_type(self) -> str:
        return snake_to_camel(self.type.removeprefix("sotto_"))


@dataclasses.dataclass(frozen=True)
class Method:
    function: str
    object: str
    doc: str
    is_const: bool
    has_status: bool
    has_error: bool
    c_arguments: tuple[Argument, ...]
    info: Struct | None  # the struct that is returned
    result: str | None  # C type of the number that is returned
    array: str | None  # "bytes" or an "embedding" that the function writes, or "floats" that belong to the session
    returns: str | None  # "status" or "stop"
    plain_name: str
    names: dict  # language: name, if it is another one
    labels: dict  # argument: its label in Swift

    @property
    def arguments(self) -> list[Argument]:
        """The arguments in the bindings."""
        return [argument for argument in self.c_arguments if argument.kind != "fixed"]

    def passed(self, convert) -> list[str]:
        """Returns the arguments of the call, which `convert` writes."""
        return [str(argument.default) if argument.kind == "fixed" else convert(argument)
                for argument in self.c_arguments]

    @property
    def is_described(self) -> bool:
        """True if sotto_session_get_error describes failures."""
        return self.object == "session" and not self.has_error

    @property
    def is_property(self) -> bool:
        """True for information about the object as a whole. Reading it does not fail."""
        return self.info is not None and not self.arguments

    def documentation(self, notes: dict[str, str]) -> str:
        """Returns the documentation with a language's notes about arrays, results and limits."""
        keys = [self.array, self.returns, "limit" if self.limit else None]
        return " ".join([self.doc, *(notes[key] for key in keys if key in notes)])

    def name(self, language: str = "") -> str:
        return self.names.get(language, self.plain_name)

    def lower_camel(self, language: str = "") -> str:
        return snake_to_lower_camel(self.name(language))

    @property
    def native(self) -> str:
        """The name of the native method in Java: sessionRewind."""
        return snake_to_lower_camel(f"{self.object}_{self.name()}")

    @property
    def with_defaults_last(self) -> list[Argument]:
        return sorted(self.arguments, key=lambda argument: argument.default is not None)

    @property
    def texts(self) -> list[Argument]:
        return [argument for argument in self.arguments if argument.kind == "text"]

    @property
    def buffers(self) -> list[Argument]:
        return [argument for argument in self.arguments if argument.kind in ("text", "bytes")]

    @property
    def tokens(self) -> list[Argument]:
        return [argument for argument in self.arguments if argument.kind == "tokens"]

    @property
    def limit(self) -> Argument | None:
        """The limit on the number of tokens, which languages with such values may leave out."""
        return next((argument for argument in self.arguments if argument.kind == "limit"), None)

    @property
    def pieces(self) -> Argument | None:
        """The function that receives pieces during the call."""
        return next((argument for argument in self.arguments if argument.kind == "pieces"), None)

    @property
    def params(self) -> Argument | None:
        """The struct of parameters, which is the last argument."""
        return self.arguments[-1] if self.arguments and self.arguments[-1].kind == "params" else None


def params_argument(struct, name):
    if not PLAIN_FIELDS.issuperset(field.kind for field in struct.fields):
        raise TableError(f"no method is generated for callbacks and pointers of {struct.name}; write them by hand")
    return Argument("params", struct.name, name, has_lists=any(field.kind == "array" for field in struct.fields))


def read_arguments(parameters, enums, structs, renamed, defaults, fixed):
    """Converts C parameters. A text is a pointer and a size."""
    arguments, rest = [], list(parameters)
    while rest:
        c_type, name = rest.pop(0)
        name = renamed.get(name, name)
        struct = structs.get(c_type.removeprefix("const ").removesuffix("*"))
        if name in fixed:
            arguments.append(Argument("fixed", c_type, name, fixed[name]))
        elif c_type == "sotto_piece_fn":
            rest.pop(0)  # its user data
            arguments.append(Argument("pieces", c_type, name))
        elif c_type == "size_t" and name == "max_tokens":
            arguments.append(Argument("limit", c_type, name))
        elif c_type in BUFFERS and rest and rest[0][0] == "size_t":
            rest.pop(0)
            arguments.append(Argument(BUFFERS[c_type], c_type, name))
        elif struct is not None and not rest:
            arguments.append(params_argument(struct, name))
        elif c_type in NUMBERS or c_type in enums:
            default = defaults.get(name)
            if c_type in enums and default is not None:
                default = next(value for value in enums[c_type].values if value.name == default)
            arguments.append(Argument("enum" if c_type in enums else "number", c_type, name, default))
        else:
            raise TableError(f"no method is generated for a parameter {c_type}; write the methods by hand")
    if any(argument.kind == "pieces" for argument in arguments):  # they may all be left out
        arguments = [dataclasses.replace(argument, is_optional=True) for argument in arguments]
    return tuple(arguments)


def read_method(tables, function, row, name=None):
    row = {column: value for column, value in row.items() if column != "also"}
    c_type, _ = function.parameters[0]
    match = re.fullmatch(rf"(const )?sotto_({'|'.join(OBJECTS)})\*", c_type)
    if match is None or function.result not in ("sotto_status", "void"):
        raise TableError("not a function of an object that returns a status or nothing")
    parameters = list(function.parameters[1:])
    has_error = bool(parameters) and parameters[-1][0] == "sotto_error*"
    if has_error:
        parameters.pop()
    structs = {struct.name + "*": struct for struct in tables.structs if struct.kind == "output"}
    types = [c_type for c_type, _ in parameters]
    array = next((array for array, last in ARRAYS.items() if types[-len(last):] == last), None)
    if array == "embedding" and parameters[-1][1] != array:
        array = None  # a number
    if array:
        del parameters[-len(ARRAYS[array]):]
    if array in ("floats", "embedding") and match[2] != "session":
        raise TableError("only floats of a session may be returned")
    output = parameters.pop()[0] if parameters and re.fullmatch(r"(?!void)\w+\*", parameters[-1][0]) else None
    info, result = structs.get(output), output and output[:-1]
    if output and info is None and result not in NUMBERS:
        raise TableError(f"no method is generated for a result {output}; write the methods by hand")
    arguments = read_arguments(parameters, {enum.name: enum for enum in tables.enums if not enum.flags},
                               {struct.name: struct for struct in params_structs(tables)},
                               row.pop("arguments", {}), row.pop("defaults", {}), row.pop("fixed", {}))
    known = ("number", "enum", "fixed", *(["tokens"] if array == "embedding" else []))
    if array and (has_error or output or any(each.kind not in known for each in arguments)):
        raise TableError(f"no method is generated that returns {array} and has an error or texts and structs")
    returns = row.pop("returns", None)
    if returns not in RETURNS or returns and (array or output):
        raise TableError(f"returns {returns}; it must be status or stop, of a function without outputs")
    kinds = {each.kind for each in arguments}
    if (returns == "stop") != ("pieces" in kinds) or "pieces" in kinds and "limit" not in kinds:
        raise TableError("a method returns a stop if it has max_tokens and a sotto_piece_fn, and only then")
    if "tokens" in kinds and match[2] != "session" or kinds & {"limit", "pieces"} and match[2] == "matcher":
        raise TableError(f"no method of sotto_{match[2]} is generated with these arguments; write the methods by hand")
    method = Method(function.name, match[2], " ".join(row.pop("doc").split()), match[1] is not None,
                    function.result == "sotto_status" and not row.pop("cannot_fail", False), has_error, arguments,
                    info, None if info else result, array, returns,
                    name or function.name.removeprefix(f"sotto_{match[2]}_").removeprefix("get_"),
                    row.pop("names", {}), row.pop("labels", {}))
    if row:
        raise TableError(f"unknown columns {sorted(row)}")
    return method


def read_methods(tables):
    known, methods = {function.name: function for function in functions(tables)}, []
    for name, row in tables.methods.items():
        if name not in known:
            raise TableError(f"method.{name}: no header declares the function")
        try:
            methods.append(read_method(tables, known[name], row))
            methods += [read_method(tables, known[name], other, plain) for plain, other in row.get("also", {}).items()]
        except TableError as error:
            raise TableError(f"method.{name}: {error}") from None
    return methods


def indented(lines, indent, width=120):
    """Indents lines, and breaks those that are too long after a comma, outside of inner parentheses if possible. The
    rest is aligned with the open parenthesis, or after tabs, which Go uses, indented by another one."""
    result = []
    for line in lines:
        line = (indent + line).rstrip()
        tabs, base = len(line) - len(line.lstrip("\t")), 0
        while len(line) > width and ", " in line[:width]:
            opened, places = [], []
            for column, letter in enumerate(line[:width]):
                if letter in "([":
                    opened.append(column + 1)
                elif letter in ")]":
                    opened = opened[:-1]
                elif line.startswith(", ", column):
                    places.append((-len(opened), column + 1, (opened or [base])[-1]))
            _, place, base = max(places)
            result.append(line[:place])
            line = ("\t" * (tabs + 1) if tabs else " " * base) + line[place + 1:]
        result.append(line)
    return result


BEGIN = "Methods of sotto_{}, written by capi/generate from capi/params."
END = "End of the generated methods."


def region(text, path, comment, indent, name, lines):
    """Replaces the lines between the comments that begin and end the generated methods of an object."""
    begin = f"{indent}{comment} {BEGIN.format(name)}\n"
    end = f"{indent}{comment} {END}\n"
    if text.count(begin) != 1 or end not in text.split(begin)[1]:
        raise TableError(f"{path} has no comments around the generated methods of sotto_{name}")
    before, rest = text.split(begin)
    return f"{before}{begin}\n{''.join(line + chr(10) for line in lines)}\n{end}{rest.split(end, 1)[1]}"


def with_methods(tables: Tables, write, directory: str, classes: dict[str, str], comment: str = "//",
                 indent: str = "    ", is_spaced: bool = True) -> dict[str, str]:
    """Returns the text of the files of a binding with the generated methods, by path. `classes` has the file of each
    object's class in a directory, and `write` returns the lines of a method, or none."""
    files = {}
    for name, file in classes.items():
        path, lines = f"{directory}/{file}", []
        for method in read_methods(tables):
            written = write(method) if method.object == name else []
            if written:
                lines += [*([""] if is_spaced and lines else []), *indented(written, indent)]
        text = files.get(path) or (tables.root / path).read_text(encoding="utf-8")
        files[path] = region(text, path, comment, indent, name, lines)
    return files
