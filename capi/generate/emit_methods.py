"""Emits the simple methods of the language bindings from the tables [method.*] and the prototypes in the C headers.

A simple method calls one function with the object and with numbers, tokens, values of enums, texts and bytes, and at the
end with a struct of parameters. It returns nothing, a number, or a struct that the library fills in. Methods with
callbacks, arrays or other objects are written by hand, because they differ in each language in what they keep alive.

The methods of an object are between two comments in the class, one of each in every language; see region(). To support
another kind of argument, add it to read_arguments() and to the function of each language.
"""
import dataclasses
import re

import emit_go
import emit_java
import emit_js
import emit_python
import emit_rust
import emit_swift
from bindings import functions, params_structs, wrap
from tables import Struct, TableError, Tables, snake_to_camel, snake_to_lower_camel

OBJECTS = ("session", "chat", "matcher")
NUMBERS = {"int32_t", "uint32_t", "uint64_t", "size_t", "float", "double", "sotto_token"}
BUFFERS = {"const char*": "text", "const void*": "bytes"}
PLAIN_FIELDS = {"struct_size", "number", "bool", "token", "enum", "flags", "array", "count", "reserved"}


@dataclasses.dataclass(frozen=True)
class Argument:
    kind: str  # number enum text bytes params
    type: str  # C type of a number, an enum or a struct of parameters
    name: str
    default: object = None  # in languages that have default arguments
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
    arguments: tuple[Argument, ...]
    info: Struct | None  # the struct that is returned
    result: str | None  # C type of the number that is returned
    names: dict  # language: name, if it is not the one in C
    labels: dict  # argument: its label in Swift

    @property
    def is_described(self) -> bool:
        """True if sotto_session_get_error describes failures."""
        return self.object == "session" and not self.has_error

    @property
    def is_property(self) -> bool:
        """True for information about the object as a whole. Reading it does not fail."""
        return self.info is not None and not self.arguments

    def name(self, language: str = "") -> str:
        plain = self.function.removeprefix(f"sotto_{self.object}_").removeprefix("get_")
        return self.names.get(language, plain)

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
        return [argument for argument in self.arguments if argument.kind in BUFFERS.values()]

    @property
    def params(self) -> Argument | None:
        """The struct of parameters, which is the last argument."""
        return self.arguments[-1] if self.arguments and self.arguments[-1].kind == "params" else None


def params_argument(struct, name):
    if not PLAIN_FIELDS.issuperset(field.kind for field in struct.fields):
        raise TableError(f"no method is generated for callbacks and pointers of {struct.name}; write the methods by hand")
    return Argument("params", struct.name, name, has_lists=any(field.kind == "array" for field in struct.fields))


def read_arguments(parameters, enums, structs, renamed, defaults):
    """Converts C parameters. A text is a pointer and a size."""
    arguments, rest = [], list(parameters)
    while rest:
        c_type, name = rest.pop(0)
        name = renamed.get(name, name)
        struct = structs.get(c_type.removeprefix("const ").removesuffix("*"))
        if c_type in BUFFERS and rest and rest[0][0] == "size_t":
            rest.pop(0)
            arguments.append(Argument(BUFFERS[c_type], c_type, name))
        elif struct is not None and not rest:
            arguments.append(params_argument(struct, name))
        elif c_type in NUMBERS or c_type in enums:
            arguments.append(Argument("enum" if c_type in enums else "number", c_type, name, defaults.get(name)))
        else:
            raise TableError(f"no method is generated for a parameter {c_type}; write the methods by hand")
    return tuple(arguments)


def read_method(tables, function, row):
    row = dict(row)
    c_type, _ = function.parameters[0]
    match = re.fullmatch(rf"(const )?sotto_({'|'.join(OBJECTS)})\*", c_type)
    if match is None or function.result not in ("sotto_status", "void"):
        raise TableError("not a function of an object that returns a status or nothing")
    parameters = list(function.parameters[1:])
    has_error = bool(parameters) and parameters[-1][0] == "sotto_error*"
    if has_error:
        parameters.pop()
    structs = {struct.name + "*": struct for struct in tables.structs if struct.kind == "output"}
    output = parameters.pop()[0] if parameters and re.fullmatch(r"\w+\*", parameters[-1][0]) else None
    info, result = structs.get(output), output and output[:-1]
    if output and info is None and result not in NUMBERS:
        raise TableError(f"no method is generated for a result {output}; write the methods by hand")
    arguments = read_arguments(parameters, {enum.name for enum in tables.enums if not enum.flags},
                               {struct.name: struct for struct in params_structs(tables)},
                               row.pop("arguments", {}), row.pop("defaults", {}))
    method = Method(function.name, match[2], " ".join(row.pop("doc").split()), match[1] is not None,
                    function.result == "sotto_status", has_error, arguments, info, None if info else result,
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
        except TableError as error:
            raise TableError(f"method.{name}: {error}") from None
    return methods


def indented(lines, indent, width=120):
    """Indents lines, and breaks those that are too long after a comma. The rest is aligned with the open parenthesis, or
    after tabs, which Go uses, indented by another one."""
    result = []
    for line in lines:
        line, opened = (indent + line).rstrip(), []
        tabs = len(line) - len(line.lstrip("\t"))
        while len(line) > width and ", " in line[:width]:
            place = line.rindex(", ", 0, width) + 1
            for column, letter in enumerate(line[:place]):
                if letter == "(":
                    opened.append(column + 1)
                elif letter == ")":
                    opened.pop()
            result.append(line[:place])
            line = ("\t" * (tabs + 1) if tabs else " " * opened[-1]) + line[place + 1:]
        result.append(line)
    return result


# ---- C++

def cpp(method):
    handle = "handle_" if method.object == "chat" else "state_->handle"
    types = {"const char*": "std::string_view", "const void*": "Bytes", "sotto_token": "Token"}

    def passed_as(argument):
        if argument.kind == "params":
            return "&c_params" if argument.has_lists else f"&{argument.name}"
        return f"{argument.name}.data(), {argument.name}.size()" if argument in method.buffers else argument.name

    if method.params:
        types[method.params.type] = f"const {method.params.camel_type}&"
    parameters = [f"{types.get(a.type, a.type)} {a.name}" + ("" if a.default is None else f" = {a.default}")
                  for a in method.with_defaults_last]
    passed = [handle, *map(passed_as, method.arguments)]
    passed += ["&info"] if method.info else ["&result"] if method.result else []
    passed += ["report.out()"] if method.has_error else []
    call = f"{method.function}({', '.join(passed)})"
    returned = method.info.camel if method.info else types.get(method.result, method.result) or "void"
    kind = returned if method.is_property or not method.has_status else f"Result<{returned}>"
    lines = [*wrap(method.doc, "// ", 118),
             f"{kind} {method.name('cpp')}({', '.join(parameters)}){' const' if method.is_const else ''} {{"]
    if not method.has_status:
        return [*lines[:-1], f"{lines[-1]} {call}; }}"]
    if method.params and method.params.has_lists:
        lines += [f"  {method.params.type} c_params = {method.params.name};", "  detail::Arrays arrays;",
                  f"  {method.params.name}.lists_to_c(c_params, arrays);"]
    if method.has_error:
        lines.append("  detail::Report report;")
    if method.info:
        lines += [f"  {returned} info{{}};", "  info.struct_size = sizeof info;"]
    elif method.result:
        lines.append(f"  {returned} result = 0;")
    how = "SOTTO_HPP_TRY_" + ("" if method.has_error else "SESSION_" if method.is_described else "PLAIN_")
    lines.append(f"  {call};" if method.is_property else f"  {how}({call});")
    lines.append("  return info;" if method.info else "  return result;" if method.result else "  SOTTO_HPP_DONE_;")
    return [*lines, "}"]


# ---- Python

def python(method):
    def passed_as(argument):
        if argument in method.buffers:
            return f"{argument.name}_data, len({argument.name}_data)"
        if argument.kind == "params":
            return "given"
        if argument.type in ("float", "double"):
            return argument.name
        return f'integer(abi.{emit_python.C_TYPES.get(argument.type, "i32")}, {argument.name}, "{argument.name}")'

    def type_of(argument):
        if argument.kind != "number":
            return {"text": "Text", "bytes": "bytes"}.get(argument.kind, argument.camel_type)
        return "float" if argument.type in ("float", "double") else "int"

    exclusive, handle = ("self.session", "self._handle") if method.object == "chat" else ("self", "handle")
    def declared(argument):
        if argument.kind == "params":
            fields = argument.camel_type.removesuffix("Params") + "Fields"
            return f"{argument.name}: {argument.camel_type} | None = None, **changes: Unpack[{fields}]"
        return f"{argument.name}: {type_of(argument)}" + ("" if argument.default is None else f" = {argument.default}")

    parameters = ["self", *map(declared, method.with_defaults_last)]
    returned = f"info.{method.info.camel}" if method.info else "None"
    if method.result:
        returned = "float" if method.result in ("float", "double") else "int"
    passed = [handle, *map(passed_as, method.arguments)]
    passed += ["found"] if method.info else ["result"] if method.result else []
    passed += ["error"] if method.has_error else []
    call = f"lib.{method.function}({', '.join(passed)})"
    lines = ["@property"] if method.is_property else []
    lines += [f"def {method.name('python')}({', '.join(parameters)}) -> {returned}:",
              *wrap(f'"""{method.doc}"""', "    ", 116)]
    lines += [f"    {a.name}_data = as_bytes({a.name})" for a in method.buffers]
    if method.params:
        kind = method.params.camel_type
        lines += ["    filler = Filler()",
                  f"    given = filler.fill(abi.{kind}, changed({kind}, {method.params.name}, changes))"]
    lines += ["    error = abi.Error()"] if method.has_error else []
    lines += [f"    found = abi.{method.info.camel}()"] if method.info else []
    lines += [f"    result = abi.{emit_python.C_TYPES[method.result]}()"] if method.result else []
    lines.append(f"    with Exclusive({exclusive}){'' if method.object == 'chat' else ' as handle'}:")
    if not method.has_status:
        lines.append(f"        {call}")
    elif method.is_described:
        lines.append(f"        check_session(handle, {call})")
    else:
        lines.append(f"        check({call}{', error' if method.has_error else ''})")
    lines += [f"    return read({returned}, found)"] if method.info else []
    lines += ["    return result.value"] if method.result else []
    return lines


# ---- Rust

def rust(method):
    def type_of(argument):
        if argument.kind != "number":
            known = {"text": "impl AsRef<[u8]>", "bytes": "&[u8]", "params": f"&crate::{argument.camel_type}"}
            return known.get(argument.kind, f"crate::{argument.camel_type}")
        return "Token" if argument.type == "sotto_token" else emit_rust.C_TYPES[argument.type]

    def passed_as(argument):
        if argument.kind == "text":
            return [f"{argument.name}.as_ptr()", f"{argument.name}.len()"]
        if argument.kind == "bytes":
            return [f"{argument.name}.as_ptr().cast()", f"{argument.name}.len()"]
        if argument.kind == "params":
            return ["&raw" if argument.has_lists else f"&{argument.name}.raw"]
        return [f"{argument.name} as i32" if argument.kind == "enum" else argument.name]

    def listed(opening, items, closing, indent):
        return [line[4:] for line in emit_rust.signature(opening, items, closing, "    " + indent)]

    def unsafe(target, items):
        """Returns a statement that calls the function, as rustfmt writes it."""
        line = f"    {target}unsafe {{ sys::{method.function}({', '.join(items)}) }};"
        if len(line) <= 96:
            return [line]
        if target.endswith("= ") and len(line) - len(target) + 4 <= 96:
            return [f"    {target.rstrip()}", line.replace(target, "    ")]
        return [f"    {target}unsafe {{", *listed(f"sys::{method.function}", items, "", "        "), "    };"]

    parameters = ["&self" if method.is_const else "&mut self", *(f"{a.name}: {type_of(a)}" for a in method.arguments)]
    passed = [part for a in method.arguments for part in passed_as(a)]
    returned = f"crate::{method.info.camel}" if method.info else "()"
    if method.result:
        returned = "Token" if method.result == "sotto_token" else emit_rust.C_TYPES[method.result]
    end = " {" if not method.has_status else f" -> {returned if method.is_property else f'Result<{returned}>'} {{"
    lines = [*wrap(method.doc, "/// ", 96), *listed(f"pub fn {method.name('rust')}", parameters, end, "")]
    lines += [f"    let {a.name} = {a.name}.as_ref();" for a in method.texts]
    if method.params and method.params.has_lists:
        lines += ["    let mut lists = Lists::default();", f"    let raw = {method.params.name}.fill(&mut lists);"]
    lines += [f"    let mut result = {'0.0' if method.result in ('float', 'double') else '0'};"] if method.result else []
    lines += ["    let mut report = Report::new();"] if method.has_error else []
    lines.append("    // SAFETY: the object is alive, and the arguments are valid during the call.")
    if method.info:
        end = f'expect("a {method.object} of the library").into()' if method.is_property else f"map({returned}::from)"
        return [*lines, *unsafe("let read = |info| ", ["self.raw()", *passed, "info"]),
                f"    read_info!({method.info.name}, read).{end}", "}"]
    passed += ["&mut result"] if method.result else []
    passed += ["report.out()"] if method.has_error else []
    if not method.has_status:
        return [*lines, f"    unsafe {{ sys::{method.function}({', '.join(['self.raw()', *passed])}) }}", "}"]
    check = "report.check" if method.has_error else "self.check" if method.is_described else "check"
    return [*lines, *unsafe("let status = ", ["self.raw()", *passed]),
            f"    {check}(status).{'map(|_| result)' if method.result else 'map(drop)'}", "}"]


# ---- Go

def go(method):
    def passed_as(argument):
        if argument.kind == "text":
            return f"{argument.lower_camel}Chars, {argument.lower_camel}Size"
        if argument.kind == "bytes":
            return f"bytesOf({argument.lower_camel}), C.size_t(len({argument.lower_camel}))"
        if argument.kind == "params":
            return "&given"
        return f"{emit_go.C_NUMBERS.get(argument.type, 'C.' + argument.type)}({argument.lower_camel})"

    def type_of(argument):
        if argument.kind != "number":
            known = {"text": "string", "bytes": "[]byte", "params": f"*{argument.camel_type}"}
            return known.get(argument.kind) or emit_go.type_name(argument.type)
        return "int" if argument.type == "size_t" else emit_go.NUMBERS[argument.type]

    receiver = method.object[0]
    parameters = ", ".join(f"{a.lower_camel} {type_of(a)}" for a in method.arguments)
    returned = emit_go.type_name(method.info.name) if method.info else ""
    if method.result:
        returned = "int" if method.result == "size_t" else emit_go.NUMBERS[method.result]
    handle = "c.handle" if method.object == "chat" else "handle"
    passed = [handle, *map(passed_as, method.arguments)]
    passed += ["&info"] if method.info else ["&result"] if method.result else []
    name = emit_go.name_of(method.name("go"))
    lines = [*emit_go.comment(f"{name} {emit_go.begin_lower(method.doc)}"),
             f"func ({receiver} *{method.object.title()}) {name}({parameters}) "
             f"{f'({returned}, error)' if returned else 'error'} {{"]
    if method.info:
        lines.append(f"\tinfo := C.{method.info.name}{{struct_size: C.sizeof_{method.info.name}}}")
    if method.result:
        lines.append(f"\tvar result {emit_go.C_NUMBERS.get(method.result, 'C.' + method.result)}")
    if method.params:
        params, kind = method.params.lower_camel, method.params.camel_type
        lines.append(f"\t{params} = orDefaults({params}, Default{kind})")
        lines += ["\tvar a arena", "\tdefer a.free()"] if method.params.has_lists else []
    status = "C.sotto_status"
    if method.object == "chat":
        begin = f"_, err := c.call(func({'details ' if method.has_error else ''}*C.sotto_error) {status} {{"
        passed += ["details"] if method.has_error else []
    elif method.object == "session" and method.has_error:
        begin = f"_, err := s.call(func(handle *C.sotto_session) ({status}, *C.sotto_error) {{"
        passed.append("&details")
    elif method.object == "session":
        begin = f"_, err := s.plain(func(handle *C.sotto_session) {status} {{"
    else:
        begin = f"err := m.call(func(handle *C.sotto_matcher) {status} {{"
    lines.append(f"\t{begin}")
    lines += [f"\t\t{a.lower_camel}Chars, {a.lower_camel}Size := charsOf({a.lower_camel})" for a in method.texts]
    if method.params:
        lines += [f"\t\tgiven := default{kind}C()",
                  f"\t\t{params}.fill(&given{', &a' if method.params.has_lists else ''})"]
    call = f"C.{method.function}({', '.join(passed)})"
    if passed[-1] == "&details":
        lines += ["\t\tdetails := newError()", f"\t\treturn {call}, &details"]
    else:
        lines += [f"\t\treturn {call}"] if method.has_status else [f"\t\t{call}", "\t\treturn C.SOTTO_OK"]
    end = f"new{returned}(&info), err" if method.info else f"{returned}(result), err" if method.result else "err"
    return [*lines, "\t})", f"\treturn {end}", "}"]


# ---- Java: the methods, the declarations of native methods, and their implementations

JNI_TYPES = {"int": "jint", "long": "jlong", "float": "jfloat", "double": "jdouble", "byte[]": "jbyteArray"}


def java_number(c_type):
    return "long" if c_type == "size_t" else emit_java.NUMBERS[c_type][0]


def native_type(argument):
    known = {"text": "byte[]", "bytes": "byte[]", "enum": "int", "params": argument.camel_type}
    return known.get(argument.kind) or java_number(argument.type)


def java(method):
    def type_of(argument):
        known = {"text": "String", "bytes": "byte[]", "enum": argument.camel_type, "params": argument.camel_type}
        return known.get(argument.kind) or java_number(argument.type)

    def passed_as(argument):
        name = argument.lower_camel
        return {"text": f"Native.toUtf8({name})", "enum": f"{name}.value()"}.get(argument.kind, name)

    parameters = ", ".join(f"{type_of(a)} {a.lower_camel}" for a in method.arguments)
    passed = [method.object, *map(passed_as, method.arguments), *(["info"] if method.info else [])]
    call = f"{method.object} -> Native.{method.native}({', '.join(passed)})"
    returned = method.info.camel if method.info else java_number(method.result) if method.result else "void"
    lines = [*(line[4:] for line in emit_java.doc(method.doc, "    ")), f"public {returned} {method.lower_camel('java')}({parameters}) {{"]
    act, run = ("act({})", "session.resource.run(held -> resource.run({}))") if method.object == "chat" else \
        ("resource.act({})", "resource.run({})")
    if method.info:
        lines += [f"    {returned} info = new {returned}();", f"    {act.format(call)};", "    return info;"]
    else:
        lines.append(f"    return {run.format(call)};" if method.result else f"    {act.format(call)};")
    return [*lines, "}"]


def java_native(method):
    parameters = [f"long {method.object}", *(f"{native_type(a)} {a.lower_camel}" for a in method.arguments),
                  *([f"{method.info.camel} info"] if method.info else [])]
    returned = java_number(method.result) if method.result else "void"
    return [f"static native {returned} {method.native}({', '.join(parameters)});"]


def jni(method):
    def passed_as(argument):
        if argument in method.buffers:
            return f"{argument.name}_data, {argument.name}_size"
        if argument.kind == "params":
            return "&params"
        is_cast = argument.type in ("uint32_t", "uint64_t", "size_t")
        return f"static_cast<{argument.type}>({argument.name})" if is_cast else argument.name

    def declared(argument):
        return "jobject from" if argument.kind == "params" else f"{JNI_TYPES[native_type(argument)]} {argument.name}"

    uses_env = method.has_status or method.buffers
    parameters = ["JNIEnv* env" if uses_env else "JNIEnv*", "jclass", f"jlong {method.object}",
                  *map(declared, method.arguments),
                  *(["jobject to"] if method.info else [])]
    passed = [f"{method.object}_of({method.object})", *map(passed_as, method.arguments)]
    passed += ["&info"] if method.info else ["&result"] if method.result else []
    passed += ["&error"] if method.has_error else []
    call = f"{method.function}({', '.join(passed)})"
    returned = java_number(method.result) if method.result else "void"
    lines = [f"NATIVE({JNI_TYPES.get(returned, returned)}, {method.native})({', '.join(parameters)}) {{"]
    failed = f"return{' 0' if method.result else ''};"
    if method.buffers or method.params:
        lines.append("  Arena arena;")
    for a in method.buffers:
        lines += [f"  const char* {a.name}_data;", f"  size_t {a.name}_size;",
                  f"  if (!read_bytes(env, {a.name}, &arena, &{a.name}_data, &{a.name}_size)) {failed}"]
    if method.params:
        lines += [f"  {method.params.type} params;", f"  {method.params.type}_init(&params, sizeof params);",
                  f"  if (!read_fields(env, from, k{method.params.camel_type}Fields, &arena, &params)) {failed}"]
    lines += ["  sotto_error error = new_error();"] if method.has_error else []
    lines += [f"  {method.info.name} info = {{}};", "  info.struct_size = sizeof info;"] if method.info else []
    lines += [f"  {method.result} result = 0;"] if method.result else []
    if not method.has_status:
        return [*lines, f"  {call};", "}", ""]
    check = f"check_call(env, session, {call})" if method.is_described else \
        f"check(env, {call}{', &error' if method.has_error else ''})"
    if method.info:
        lines += [f"  if ({check}) {{", f"    write_fields(env, &info, k{method.info.camel}Fields, to);", "  }"]
    else:
        lines.append(f"  {check};")
    lines += [f"  return static_cast<{JNI_TYPES[returned]}>(result);"] if method.result else []
    return [*lines, "}", ""]


JNI_HEAD = f"""\
// {emit_java.MARK}
#include "platforms/java/jni/generated/tables.h"
#include "platforms/java/jni/library.h"
#include "platforms/java/jni/native.h"

using namespace sotto_jni;

"""


# ---- Swift

def swift(method):
    def type_of(argument):
        if argument.kind != "number":
            return {"text": "String", "bytes": "[UInt8]"}.get(argument.kind) or emit_swift.swift_name(argument.type)
        return "Int" if argument.type == "size_t" else emit_swift.NUMBERS[argument.type]

    def declared(argument):
        label, name = method.labels.get(argument.name, "_"), argument.lower_camel
        default = "" if argument.default is None else f" = {argument.default}"
        return f"{name if label == name else f'{label} {name}'}: {type_of(argument)}{default}"

    def passed_as(argument):
        if argument.kind == "text":
            return f"{argument.lower_camel}Bytes.text, {argument.lower_camel}Bytes.size"
        if argument.kind == "bytes":
            return f"{argument.lower_camel}, {argument.lower_camel}.count"
        if argument.kind == "params":
            return "&given"
        return argument.lower_camel + (".rawValue" if argument.kind == "enum" else "")

    returned = emit_swift.swift_name(method.info.name) if method.info else ""
    if method.result:
        returned = "Int" if method.result == "size_t" else emit_swift.NUMBERS[method.result]
    run = {"session": "run", "chat": "session.run", "matcher": "resource.run"}[method.object]
    is_named = method.has_error or method.params is not None
    handle = "handle" if method.object == "chat" else method.object if is_named else "$0"
    passed = [handle, *map(passed_as, method.arguments)]
    passed += ["&info"] if method.info else ["&result"] if method.result else []
    passed += ["&details"] if method.has_error else []
    call = f"{method.function}({', '.join(passed)})"
    if method.has_status:
        described = ", details" if method.has_error else f", of: {handle}" if method.is_described else ""
        call = f"try check({call}{described})"
    lines = [*wrap(method.doc, "/// ", 118),
             f"public func {method.lower_camel('swift')}({', '.join(map(declared, method.with_defaults_last))}) throws "
             f"{f'-> {returned} ' if returned else ''}{{"]
    has_arena = method.texts or method.params and method.params.has_lists
    if has_arena:
        lines.append("  let arena = Arena()")
    lines += [f"  let {a.lower_camel}Bytes = arena.text({a.lower_camel})" for a in method.texts]
    if method.info:
        lines += [f"  var info = {method.info.name}()", f"  info.struct_size = UInt32(MemoryLayout<{method.info.name}>.stride)"]
    if method.result:
        lines.append(f"  var result: {returned} = 0")
    given = "_ in " if method.object == "chat" else f"{method.object} in " if is_named else ""
    if method.params:
        filled = f"    var given = {method.params.lower_camel}.filled({'arena' if method.params.has_lists else ''})"
    if method.has_error or method.params:
        lines += [f"  try {run} {{ {given.strip()}", *([filled] if method.params else []),
                  *(["    var details = newError()"] if method.has_error else []), f"    {call}", "  }"]
    else:
        lines.append(f"  try {run} {{ {given}{call} }}")
    if has_arena:
        lines.append("  withExtendedLifetime(arena) {}")
    lines += [f"  return {returned}(info)"] if method.info else ["  return result"] if method.result else []
    return [*lines, "}"]


# ---- JavaScript and its types

def js(method):
    def passed_as(argument):
        name = argument.lower_camel
        if argument in method.buffers:
            return f"{name}Bytes.address, {name}Bytes.size"
        if argument.kind == "params":
            return f'fill(scratch, "{argument.camel_type}", {name})'
        form = emit_js.NUMBERS.get(argument.type, "i32")
        if form in ("f32", "f64"):
            return name
        checked = f'integer({name}, "{form}", "{name}")'
        return f"BigInt({checked})" if form == "u64" else checked

    name = method.lower_camel("js")
    passed = ["this.handle", *map(passed_as, method.arguments)]
    passed += ["info"] if method.info else ["result"] if method.result else []
    passed += ["error"] if method.has_error else []
    call = f"this.instance.exports.{method.function}({', '.join(passed)})"
    defaults = {a.name: "{}" if a.kind == "params" else a.default for a in method.arguments}
    parameters = ", ".join(a.lower_camel + ("" if defaults[a.name] is None else f" = {defaults[a.name]}")
                           for a in method.with_defaults_last)
    lines = [*emit_js.commented(method.doc, ""), f"{'get ' if method.is_property else ''}{name}({parameters}) {{"]
    if method.info:
        lines += ["  this.#check();", f'  return readInfo(this.instance, "{method.info.camel}", (info) =>',
                  f"    {call});"]
    elif not method.has_status:
        lines += ["  this.#check();", f"  {call};"]
    else:
        steps = [f'const {a.lower_camel}Bytes = scratch.text({a.lower_camel}, "{a.lower_camel}");' for a in method.buffers]
        steps += ["const result = scratch.zeros(8);"] if method.result else []
        given = "(scratch, error)" if method.has_error else "(scratch)" if steps or method.params else "()"
        run = f"this.#{'attempt' if method.has_error else 'evaluate'}({given} =>"
        if not steps:
            lines += [f"  {run} {call});"] if len(run) + len(call) < 112 else [f"  {run}", f"    {call});"]
        elif not method.result:
            lines += [f"  {run} {{", *("    " + step for step in steps), f"    return {call};", "  });"]
        else:
            form = emit_js.NUMBERS[method.result]
            found = f"this.instance.views.{form}[result >>> {3 if form in ('u64', 'f64') else 2}]"
            lines += ["  let value;", f"  {run} {{", *("    " + step for step in steps), f"    const status = {call};",
                      f"    value = {f'Number({found})' if form == 'u64' else found};", "    return status;", "  });",
                      "  return value;"]
    return [*lines, "}"]


def types(method):
    def type_of(argument):
        known = {"text": "Text", "bytes": "Uint8Array", "enum": argument.camel_type, "params": argument.camel_type}
        return known.get(argument.kind, "number")

    doc = emit_js.commented(method.doc, "")
    if method.is_property:
        return [*doc, f"readonly {method.lower_camel('js')}: {method.info.camel};"]
    parameters = ", ".join(f"{a.lower_camel}{'' if a.default is None and a.kind != 'params' else '?'}: {type_of(a)}"
                           for a in method.with_defaults_last)
    returned = method.info.camel if method.info else "number" if method.result else "void"
    return [*doc, f"{method.lower_camel('js')}({parameters}): {returned};"]


# ---- The files

P = "platforms"
# Language: prefix of a comment, indentation, whether an empty line separates methods, the function that writes one, and
# for each object the file with its class.
LANGUAGES = {
    "cpp": ("//", "  ", True, cpp, {"session": "cpp/include/sotto/session.hpp", "chat": "cpp/include/sotto/chat.hpp",
                                    "matcher": "cpp/include/sotto/grammar.hpp"}),
    "python": ("#", "    ", True, python, {"session": "python/sotto/session.py", "chat": "python/sotto/chat.py",
                                           "matcher": "python/sotto/grammar.py"}),
    "rust": ("//", "    ", True, rust, {"session": "rust/sotto/src/session.rs", "chat": "rust/sotto/src/chat.rs",
                                        "matcher": "rust/sotto/src/matcher.rs"}),
    "go": ("//", "", True, go, {"session": "go/session.go", "chat": "go/chat.go", "matcher": "go/matcher.go"}),
    "java": ("//", "    ", True, java, {name: f"java/src/main/java/io/github/sotto/{name.title()}.java" for name in OBJECTS}),
    "native": ("//", "    ", False, java_native, {name: "java/src/main/java/io/github/sotto/Native.java" for name in OBJECTS}),
    "swift": ("//", "  ", True, swift, {name: f"swift/Sources/Sotto/{name.title()}.swift" for name in OBJECTS}),
    "js": ("//", "  ", True, js, {"session": "javascript/src/session.js", "chat": "javascript/src/chat.js"}),
    "types": ("//", "  ", False, types, {name: "javascript/src/index.d.ts" for name in ("session", "chat")}),
}


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


def emit(tables: Tables) -> dict[str, str]:
    """Returns the text of each generated file, by path."""
    methods, files = read_methods(tables), {}
    for comment, indent, is_spaced, write, paths in LANGUAGES.values():
        for name, path in paths.items():
            path = f"platforms/{path}"
            lines = []
            for method in methods:
                if method.object == name:
                    lines += [*([""] if is_spaced and lines else []), *indented(write(method), indent)]
            text = files.get(path) or (tables.root / path).read_text(encoding="utf-8")
            files[path] = region(text, path, comment, indent, name, lines)
    lines = [line for method in methods for line in indented(jni(method), "")]
    files["platforms/java/jni/generated/methods.cpp"] = JNI_HEAD + "\n".join(lines)
    return files
