"""Emits the generated files of the Rust crates: declarations of the C interface, enums, parameters, information,
methods, and the list of fields whose layout a test compares with C."""
import re

from bindings import (MARK, callbacks, counts_its_own, documentation, functions, info_structs, params_structs,
                      public_enums, visible, wrap)
from methods import with_methods
from tables import Tables, snake_to_camel

ARRAYS = {"bytes": "Vec<u8>", "floats": "&[f32]", "embedding": "Vec<f32>"}
# Added to the documentation of methods that return these, or have a limit on the number of tokens.
NOTES = {
    "status": "A cancellation is an error with a [`stop`](crate::Error::stop).",
    "stop": "Calls `on_piece` with each piece until it breaks. Returns the reason why the text ended.",
    "limit": "There is no limit if `max_tokens` is `None`.",
}
KINDS = {"text": "impl AsRef<[u8]>", "bytes": "&[u8]", "tokens": "impl Prompt", "limit": "impl Into<Option<usize>>",
         "pieces": "impl FnMut(Piece<'_>) -> ControlFlow<()>"}
# Rust's words for NULL, 1 and 0 in documentation.
WORDS_OF_C = ("none", "true", "false")
C_TYPES = {"int32_t": "i32", "uint8_t": "u8", "uint32_t": "u32", "uint64_t": "u64", "float": "f32", "double": "f64",
           "size_t": "usize", "sotto_token": "sotto_token", "void": "c_void", "char": "u8"}
ELEMENTS = {"sotto_text": "String", "sotto_token": "Token", "sotto_stage": "Stage", "uint32_t": "u32",
            "sotto_token_list": "Vec<Token>", "sotto_token_bias": "(Token, f32)",
            "sotto_sequence_bias": "(Vec<Token>, f32)"}
# Functions that convert lists of structs to C. Lists of plain values are used in place.
CONVERSIONS = {"sotto_text": "texts", "sotto_token_list": "token_lists", "sotto_token_bias": "token_biases",
               "sotto_sequence_bias": "sequence_biases"}
# For each callback: the type that stores it, the argument of its setter, and the smart pointer that stores it.
CALLBACKS = {
    "sotto_log_fn": ("LogFunction", "impl Fn(i32, &str) + Send + Sync + 'static", "Arc"),
    "sotto_logits_fn": ("LogitsFunction", "impl Fn(&mut [f32]) + Send + Sync + 'static", "Arc"),
    "sotto_logits_processor_fn":
        ("LogitsProcessor", "impl Fn(&[Token], u32, &mut [f32]) + Send + Sync + 'static", "Arc"),
    "sotto_similarity_fn": ("Similarity<'f>", "impl FnMut(&[Token], &[Token]) -> f64 + 'f", "Box"),
    "sotto_step_fn": ("OnStep<'f>", "impl FnMut(u32, Token) -> ControlFlow<()> + 'f", "Box"),
    "sotto_draft_fn": ("DraftFunction", "impl FnMut(&[Token], &[f32], &mut [Token]) -> usize + Send + 'static", "Box"),
}
# For each object: its Rust type, the argument of its setter, and the expression that the setter stores.
OBJECTS = {"sotto_vocabulary": ("Vocabulary", "&Vocabulary", "clone()"), "sotto_session": ("Session", "Session", "")}
# The functions of sotto_executor, whose types have no names in C.
EXECUTOR = {
    "num_threads": 'Option<unsafe extern "C" fn(executor_context: *mut c_void) -> i32>',
    "schedule": """Option<
        unsafe extern "C" fn(
            executor_context: *mut c_void,
            context: *mut c_void,
            task: Option<unsafe extern "C" fn(context: *mut c_void)>,
        ),
    >""",
}
# Structs whose callbacks may borrow from the caller, and structs that are Send but not Sync.
BORROWING = {"sotto_search_params"}
SEND_ONLY = {"sotto_speculation_params"}


def doc(text, indent=""):
    return wrap(re.sub(r"[\[\]]", r"\\\g<0>", text), indent + "/// ", 100)


def rust_name(name):
    return snake_to_camel(name.removeprefix("sotto_"))


def c_type(text):
    """Converts a C type to Rust."""
    text = text.strip()
    if array := re.fullmatch(r"char\[(\d+)\]", text):
        return f"[u8; {array[1]}]"
    if text.endswith("*"):
        target = text[:-1]
        if target.endswith("* const"):
            return f"*const {c_type(target[:-6])}"
        is_const = target.startswith("const ") and not target.endswith("*")
        return f"*{'const' if is_const else 'mut'} {c_type(target[6:] if is_const else target)}"
    text = text.replace("const ", "")
    return C_TYPES.get(text, text)


def result(c_result):
    return "" if c_result == "void" else f" -> {c_type(c_result)}"


def function_type(c_result, parameters):
    listed = ", ".join(f"{name}: {c_type(t)}" for t, name in parameters)
    return f'Option<unsafe extern "C" fn({listed}){result(c_result)}>'


def signature(opening, parameters, closing, indent):
    """Returns a list of parameters, wrapped as rustfmt wraps it."""
    one = f"{indent}{opening}({', '.join(parameters)}){closing}"
    if len(one) <= 100:
        return [one]
    return [f"{indent}{opening}(", *(f"{indent}    {part}," for part in parameters), f"{indent}){closing}"]


def sys_text(tables):
    known = {"sotto_token", *callbacks(tables), *(item.name for item in [*tables.structs, *tables.enums])}
    opaque = []
    for function in functions(tables):
        for name in re.findall(r"\bsotto_\w+", " ".join([function.result, *(t for t, _ in function.parameters)])):
            if name not in known and name not in opaque:
                opaque.append(name)
    lines = ["//! The types, constants and functions of `sotto.h`.", "", "use core::ffi::c_void;", "",
             "pub type sotto_token = i32;", ""]
    lines += [f"opaque!({name});" for name in opaque] + [""]
    for enum in tables.enums:
        if not enum.flags:
            lines += [*doc(enum.doc), f"pub type {enum.name} = i32;"]
        kind = "u32" if enum.flags else "i32"
        for value in enum.values:
            lines += [*doc(value.doc), f"pub const {value.c_name}: {kind} = {value.value};"]
        lines.append("")
    for callback in callbacks(tables).values():
        parameters = [f"{name}: {c_type(t)}" for t, name in callback.parameters]
        one = f"pub type {callback.name} = {function_type(callback.result, callback.parameters)};"
        if len(one) <= 100:
            lines += [one, ""]
            continue
        one = f"    {function_type(callback.result, callback.parameters)};"
        if len(one) <= 100:
            lines += [f"pub type {callback.name} =", one, ""]
        else:
            lines += [f"pub type {callback.name} = Option<",
                      *signature('unsafe extern "C" fn', parameters, f"{result(callback.result)},", "    "), ">;", ""]
    for struct in tables.structs:
        lines += [*doc(struct.doc), "#[repr(C)]", "#[derive(Clone, Copy)]", f"pub struct {struct.name} {{"]
        for field in struct.fields:
            lines += doc(documentation(field, *WORDS_OF_C), "    ")
            lines.append(f"    pub {field.name}: {EXECUTOR.get(field.name) or c_type(field.c_type)},")
        lines += ["}", ""]
    lines.append('extern "C" {')
    for function in functions(tables):
        lines += signature(f"pub fn {function.name}", [f"{name}: {c_type(t)}" for t, name in function.parameters],
                           f"{result(function.result)};", "    ")
    return "\n".join(lines + ["}"]) + "\n"


def layout_text(tables):
    """The fields that tests/layout compares with the layout of the C header."""
    lines = ["macro_rules! each_field {", "    ($macro:ident; $lines:ident) => {", "        $macro! { $lines;"]
    for struct in tables.structs:
        lines.append(f"            {struct.name} {{")
        lines += wrap(" ".join(field.name for field in struct.fields) + " }", " " * 16, 100)
    return "\n".join([*lines, "        }", "    };", "}"]) + "\n"


def rust_type(field, is_info=False):
    if field.kind == "bool":
        return "bool"
    if is_info and field.type == "sotto_status":  # of a text, which does not fail
        return "Option<Stop>"
    if field.kind == "enum":
        return f"Option<{rust_name(field.type)}>" if is_info else rust_name(field.type)
    if field.kind == "flags":
        return "u32"
    if field.kind in ("number", "token"):
        if is_info and field.name.endswith("_token"):
            return "Option<Token>"
        if is_info and field.name.endswith("_size"):
            return "usize"
        return "Token" if field.type == "sotto_token" else C_TYPES[field.type]
    if field.kind == "struct":
        return "String"
    if field.kind == "array":
        return ELEMENTS[field.type]
    raise ValueError(field.kind)


def enums_lines(tables):
    lines = []
    for enum in public_enums(tables):
        if enum.flags or enum.name in ("sotto_status", "sotto_log_level"):
            continue
        name = rust_name(enum.name)
        lines += [*doc(enum.doc), "#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]", "#[non_exhaustive]",
                  "#[repr(i32)]",
                  "#[allow(missing_docs)]", f"pub enum {name} {{"]
        for value in enum.values:
            lines += [*doc(value.doc, "    "), f"    {value.camel} = sys::{value.c_name},"]
        lines += ["}", "", f"impl {name} {{",
                  "    /// Returns the constant with a C value, or `None` for one that a later version has added.",
                  "    pub fn from_value(value: i32) -> Option<Self> {", "        Some(match value {",
                  *(f"            sys::{value.c_name} => {name}::{value.camel}," for value in enum.values),
                  "            _ => return None,", "        })", "    }", "}", ""]
    return lines


def status_lines(tables):
    values = [value for value in tables.enum("sotto_status").values if value.value < 0]
    lines = ["/// The kind of an error.", "#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]", "#[non_exhaustive]",
             "pub enum Status {"]
    for value in values:
        lines += [*doc(value.doc, "    "), f"    {value.camel},"]
    return lines + [
        "    /// The call stopped before it had a result.", "    Stop(Stop),",
        "    /// A failure that a later version of the library has added.", "    Other(i32),", "}", "", "impl Status {",
        "    pub(crate) fn of(status: i32) -> Status {", "        match status {",
        *(f"            sys::{value.c_name} => Status::{value.camel}," for value in values),
        "            other => Stop::from_status(other).map_or(Status::Other(other), Status::Stop),", "        }",
        "    }",
        "}", ""]


def stop_lines(tables):
    values = [value for value in tables.enum("sotto_status").values if value.value > 0]
    variants = [(snake_to_camel(value.c_name[len("SOTTO_STOP_"):]), value) for value in values]
    lines = ["/// The reason why a stream ended.", "#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]",
             "#[non_exhaustive]",
             "#[allow(missing_docs)]", "pub enum Stop {"]
    for name, value in variants:
        lines += [*doc(value.doc, "    "), f"    {name},"]
    return lines + [
        "    /// A reason that a later version of the library has added.", "    Other(i32),", "}", "", "impl Stop {",
        "    /// Converts a status that is a stop. Returns `None` for success and failures.",
        "    pub(crate) fn from_status(status: i32) -> Option<Stop> {", "        Some(match status {",
        *(f"            sys::{value.c_name} => Stop::{name}," for name, value in variants),
        "            other if other > 0 => Stop::Other(other),", "            _ => return None,", "        })", "    }",
        "}", ""]


def is_object(field):
    return field.type in OBJECTS


def held(field):
    """Returns the type of the Rust field that owns the data of the C field."""
    if field.kind == "array":
        return f"Vec<{ELEMENTS[field.type]}>"
    if field.kind == "struct":
        return "String"
    if field.kind == "callback":
        return CALLBACKS[field.type][0]
    return OBJECTS[field.type][0] if is_object(field) else rust_name(field.type)


def setter(field):
    """Returns the setter of a field that is stored outside of the C struct."""
    name = field.name
    if field.kind == "callback":
        taken, kept = CALLBACKS[field.type][1], f"{CALLBACKS[field.type][2]}::new({name})"
    elif is_object(field):
        _, taken, how = OBJECTS[field.type]
        kept = f"{name}.{how}" if how else name
    elif field.kind in ("struct", "array"):
        taken, kept = f"impl Into<{held(field)}>", f"{name}.into()"
    else:
        taken, kept = held(field), name
    return [*doc(documentation(field, *WORDS_OF_C) or f"Sets `{name}`.", "    "), "    #[must_use]",
            *signature(f"pub fn {name}", ["mut self", f"{name}: {taken}"], " -> Self {", "    "),
            f"        self.{name} = Some({kept});", "        self", "    }", ""]


def lowered(field):
    """Returns the statements that set a list or text in the C struct."""
    target = f"(raw.{field.name}, raw.{field.count})"
    if field.kind == "struct":
        value = f"raw.{field.name} = sys::sotto_text {{ text: list.as_ptr(), size: list.len() }};"
    elif field.type in CONVERSIONS:
        value = f"{target} = lists.keep({CONVERSIONS[field.type]}(list));"
    elif not counts_its_own(field):
        value = f"raw.{field.name} = pointer_of(list);"
    else:
        cast = "" if field.type in C_TYPES else ".cast()"
        value = f"{target} = (pointer_of(list){cast}, list.len());"
    if len(value) > 88:
        value = value.replace(" = ", " =\n                ")
    return [f"        if let Some(list) = &self.{field.name} {{", f"            {value}", "        }"]


def params_lines(tables):
    lines = []
    for struct in params_structs(tables):
        fields, name = visible(struct), rust_name(struct.name)
        plain = [field for field in fields if field.kind in ("bool", "enum", "flags", "number", "token")]
        others = [field for field in fields if field not in plain]
        lists = [field for field in others if field.kind in ("array", "struct")]
        is_clone = not any(field.kind == "callback" and CALLBACKS[field.type][2] == "Box" for field in fields)
        life = "<'f>" if struct.name in BORROWING else ""
        lines += [*doc(struct.doc), *(["#[derive(Clone)]"] if is_clone else []), f"pub struct {name}{life} {{",
                  f"    pub(crate) raw: sys::{struct.name},",
                  *(f"    pub(crate) {field.name}: Option<{held(field)}>," for field in others), "}", ""]
        if any(field.kind in ("array", "pointer", "callback") for field in struct.fields) and not life:
            lines += ["// SAFETY: `raw` has no pointers but to constants of the library.",
                      f"unsafe impl Send for {name} {{}}"]
            lines += ["", ] if struct.name in SEND_ONLY else [f"unsafe impl Sync for {name} {{}}", ""]
        lines += [f"impl Default for {name}{life.replace(chr(39) + 'f', chr(39) + '_')} {{",
                  "    fn default() -> Self {"]
        raw = f"raw: with_defaults!({struct.name}, {struct.name}_init)"
        one = f"        {name} {{ {', '.join([raw, *(f'{field.name}: None' for field in others)])} }}"
        lines += [one] if len(one) <= 100 else [f"        {name} {{", f"            {raw},",
                                                *(f"            {field.name}: None," for field in others), "        }"]
        lines += ["    }", "}", "", f"impl{life} {name}{life} {{"]
        if struct.name == "sotto_sampler_params":
            lines += ["    /// Returns the parameters for a purpose.", "    pub fn preset(preset: Preset) -> Self {",
                      "        let mut params = Self::default();",
                      "        let size = std::mem::size_of_val(&params.raw);",
                      "        // SAFETY: `raw` is a valid struct of this size.",
                      "        unsafe {",
                      "            sys::sotto_sampler_params_init_preset(&mut params.raw, size, preset as i32);",
                      "        }", "        params", "    }", ""]
        lines += ["    setters! {"]
        for field in plain:
            lines += [*doc(documentation(field, *WORDS_OF_C) or f"Sets `{field.name}`.", "        "),
                      f"        {field.name}: {rust_type(field)},"]
        lines += ["    }", ""]
        for field in others:
            lines += setter(field)
        if lists:
            lines += ["    /// Returns the C struct with its lists, which point into `self` and `lists`.",
                      f"    pub(crate) fn fill(&self, lists: &mut Lists) -> sys::{struct.name} {{",
                      "        let mut raw = self.raw;", *(line for field in lists for line in lowered(field)),
                      "        raw", "    }", ""]
        lines[-1:] = ["}", ""]
    return lines


def info_value(field):
    value = f"info.{field.name}"
    if field.kind == "bool":
        return f"{value} != 0"
    if field.type == "sotto_status":
        return f"Stop::from_status({value})"
    if field.kind == "enum":
        return f"{rust_name(field.type)}::from_value({value})"
    kind = rust_type(field, True)
    if kind == "Option<Token>":
        return f"({value} >= 0).then_some({value})"
    return f"{value} as usize" if kind == "usize" else value


def info_lines(tables):
    lines = []
    for struct in info_structs(tables):
        if struct.name == "sotto_score":  # has a list of its own in Rust
            continue
        fields, name = visible(struct), rust_name(struct.name)
        eq = "" if any(field.type in ("float", "double") for field in fields) else ", Eq"
        lines += [*doc(struct.doc), f"#[derive(Clone, Debug, PartialEq{eq})]", "#[non_exhaustive]",
                  "#[allow(missing_docs)]",
                  f"pub struct {name} {{"]
        for field in fields:
            lines += [*doc(documentation(field, *WORDS_OF_C), "    "),
                      f"    pub {field.name}: {rust_type(field, True)},"]
        lines += ["}", "", f"impl From<sys::{struct.name}> for {name} {{",
                  f"    fn from(info: sys::{struct.name}) -> Self {{", f"        {name} {{",
                  *(f"            {field.name}: {info_value(field)}," for field in fields), "        }", "    }", "}",
                  ""]
    return lines


HEAD = """\
//! Enumerations, parameters and information of the C interface.

use crate::log::LogFunction;
use crate::memory::pointer_of;
use crate::params::{
    sequence_biases, setters, texts, token_biases, token_lists, with_defaults, Lists,
};
use crate::sampler::{LogitsFunction, LogitsProcessor};
use crate::search::{OnStep, Similarity};
use crate::speculation::DraftFunction;
use crate::sys;
use crate::{Session, Token, Vocabulary};
use std::ops::ControlFlow;
use std::sync::Arc;
"""


def method_lines(method):
    def type_of(argument):
        if argument.kind != "number":
            reference = "&" if argument.kind == "params" else ""
            return KINDS.get(argument.kind) or f"{reference}crate::{argument.camel_type}"
        return "Token" if argument.type == "sotto_token" else C_TYPES[argument.type]

    def passed_as(argument):
        if argument.kind == "text":
            return f"{argument.name}.as_ptr(), {argument.name}.len()"
        if argument.kind == "bytes":
            return f"{argument.name}.as_ptr().cast(), {argument.name}.len()"
        if argument.kind == "tokens":
            return f"pointer_of(&{argument.name}), {argument.name}.len()"
        if argument.kind == "pieces":
            return "call, data"
        if argument.kind == "params":
            return "&raw" if argument.has_lists else f"&{argument.name}.raw"
        return f"{argument.name} as i32" if argument.kind == "enum" else argument.name

    def listed(opening, items, closing, indent):
        return [line[4:] for line in signature(opening, items, closing, "    " + indent)]

    def unsafe(target, items, indent="    ", end=";"):
        """Returns a statement that calls the function, as rustfmt writes it."""
        line = f"{indent}{target}unsafe {{ sys::{method.function}({', '.join(items)}) }}{end}"
        if len(line) <= 96:
            return [line]
        if target.endswith("= ") and len(line) - len(target) + 4 <= 96:
            return [f"{indent}{target.rstrip()}", line.replace(target, "    ")]
        inner = listed(f"sys::{method.function}", items, "", indent + "    ")
        return [f"{indent}{target}unsafe {{", *inner, f"{indent}}}{end}"]

    parameters = ["&self" if method.is_const else "&mut self",
                  *(f"{'mut ' if a.kind == 'pieces' else ''}{a.name}: {type_of(a)}" for a in method.arguments)]
    passed = ", ".join(["self.raw()", *method.passed(passed_as)]).split(", ")
    returned = f"crate::{method.info.camel}" if method.info else ARRAYS.get(method.array, "()")
    if method.result:
        returned = "Token" if method.result == "sotto_token" else C_TYPES[method.result]
    if method.returns == "stop":
        returned = "crate::Stop"
    end = " {" if not method.has_status else f" -> {returned if method.is_property else f'Result<{returned}>'} {{"
    lines = [*wrap(method.documentation(NOTES), "/// ", 96),
             *listed(f"pub fn {method.name('rust')}", parameters, end, "")]
    lines += [f"    let {a.name} = {a.name}.as_ref();" for a in method.texts]
    lines += [f"    let {a.name} = {a.name}.tokens(&self.model)?;" for a in method.tokens]
    lines += [f"    let {a.name} = {a.name}.into().unwrap_or(usize::MAX);" for a in [method.limit] if a]
    if method.params and method.params.has_lists:
        lines += ["    let mut lists = Lists::default();", f"    let raw = {method.params.name}.fill(&mut lists);"]
    if method.result:
        lines.append(f"    let mut result = {'0.0' if method.result in ('float', 'double') else '0'};")
    lines += ["    let mut report = Report::new();"] if method.has_error else []
    if method.array == "floats":
        call = f"sys::{method.function}({', '.join([*passed, '&mut data', '&mut count'])})"
        return [*lines, "    let (mut data, mut count) = (std::ptr::null(), 0);",
                "    // SAFETY: the floats are the session's until its next call, which the borrow prevents.",
                "    unsafe {",
                f"        self.check_whole({call})?;", "        Ok(slice(data, count))", "    }", "}"]
    safety = "// SAFETY: the object is alive, and the arguments are valid during the call."
    check = "report.check" if method.has_error else "self.check" if method.is_described else "check"
    if method.pieces:
        passed += ["report.out()"] if method.has_error else []
        panics = "self.session.panics" if method.object == "chat" else "self.panics"
        return [*lines, f"    let status = call_with_pieces(&{panics}, &mut {method.pieces.name}, |call, data| {{",
                f"        {safety}", *unsafe("", passed, "        ", ""), "    });",
                f"    {check}(status).map(stop_of)", "}"]
    if method.array == "embedding":
        lines.append("    let mut embedding = vec![0.0; self.model.info().embedding_size];")
    lines.append(f"    {safety}")
    if method.array == "embedding":
        return [*lines, *unsafe("let status = ", [*passed, "embedding.as_mut_ptr()"]),
                "    self.check_whole(status)?;", "    Ok(embedding)", "}"]
    if method.info:
        end = f'expect("a {method.object} of the library").into()' if method.is_property else f"map({returned}::from)"
        return [*lines, *unsafe("let read = |info| ", [*passed, "info"]),
                f"    read_info!({method.info.name}, read).{end}", "}"]
    passed += ["&mut result"] if method.result else []
    passed += ["report.out()"] if method.has_error else []
    if not method.has_status:
        return [*lines, f"    unsafe {{ sys::{method.function}({', '.join(passed)}) }};", "}"]
    if method.array == "bytes":
        def call(*last):
            return f"sys::{method.function}({', '.join([*passed, *last])})"
        return [*lines, "    unsafe {", "        let mut size = 0;",
                f"        {call('std::ptr::null_mut()', '0', '&mut size')};",
                "        let mut bytes = vec![0u8; size];", "        let data = bytes.as_mut_ptr().cast();",
                f"        {check}({call('data', 'bytes.len()', '&mut size')})?;", "        Ok(bytes)", "    }", "}"]
    if method.returns == "status":
        return [*lines, *unsafe("let status = ", passed), "    self.check_whole(status)", "}"]
    return [*lines, *unsafe("let status = ", passed),
            f"    {check}(status).{'map(|_| result)' if method.result else 'map(drop)'}", "}"]


def emit(tables: Tables) -> dict[str, str]:
    """Returns the text of each generated file, by path."""
    safe = [HEAD, *enums_lines(tables), *status_lines(tables), *stop_lines(tables), *params_lines(tables),
            *info_lines(tables)[:-1]]
    return {"platforms/rust/sotto-sys/src/generated.rs": f"// {MARK}\n" + sys_text(tables),
            "platforms/rust/sotto-sys/tests/layout/generated.rs": f"// {MARK}\n" + layout_text(tables),
            "platforms/rust/sotto/src/generated.rs": f"// {MARK}\n" + "\n".join(safe) + "\n",
            **with_methods(tables, method_lines, "platforms/rust/sotto/src",
                           {"session": "session.rs", "chat": "chat.rs", "matcher": "matcher.rs"})}
