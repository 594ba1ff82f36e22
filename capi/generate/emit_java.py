"""Emits the generated files of the Java binding: classes for enums, parameters and information, and the tables that the
JNI library uses to copy their fields to and from the C structs."""
import html

from bindings import MARK, counts_its_own, documentation, info_structs, params_structs, public_enums, visible, wrap
from methods import OBJECTS, indented, read_methods, with_methods
from tables import Tables, snake_to_camel

# Java's words for NULL, 1 and 0 in documentation.
WORDS_OF_C = ("null", "true", "false")
SOURCES = "platforms/java/src/main/java/io/github/sotto"
CLASSES = "platforms/java/generated/java/io/github/sotto"
JNI = "platforms/java/jni/generated"
# C number type: Java type and its JNI signature.
NUMBERS = {"int32_t": ("int", "I"), "uint32_t": ("int", "I"), "uint64_t": ("long", "J"), "float": ("float", "F"),
           "double": ("double", "D"), "sotto_token": ("int", "I")}
ELEMENTS = {"sotto_text": "String", "sotto_token": "int", "uint32_t": "int", "sotto_token_list": "int[]"}
CALLBACKS = {"sotto_log_fn": "Log", "sotto_logits_fn": "Logits",
             "sotto_logits_processor_fn": "Processor", "sotto_similarity_fn": "Similarity",
             "sotto_step_fn": "Step", "sotto_draft_fn": "Draft"}


def class_name(c_name):
    return snake_to_camel(c_name.removeprefix("sotto_"))


def java_type(field):
    if field.kind == "bool":
        return "boolean"
    if field.kind in ("number", "token"):
        return NUMBERS[field.type][0]
    if field.kind == "flags":
        return "int"
    if field.kind == "struct":
        return "String"
    if field.kind == "array":
        return ELEMENTS.get(field.type, class_name(field.type)) + "[]"
    if field.kind == "callback":
        return f"Callbacks.{CALLBACKS[field.type]}"
    return class_name(field.type)


def signature(java):
    """Returns the JNI signature of a field."""
    if java.endswith("[]"):
        return "[" + signature(java[:-2])
    plain = {"boolean": "Z", "int": "I", "long": "J", "float": "F", "double": "D", "String": "Ljava/lang/String;"}
    return plain.get(java, f"Lio/github/sotto/{java};")


def doc(text, indent=""):
    if not text:
        return []
    text = html.escape(text, quote=False)
    one = f"{indent}/** {text} */"
    return [one] if len(one) <= 120 else [f"{indent}/**", *wrap(text, f"{indent} * "), f"{indent} */"]


def source(lines):
    return "\n".join([f"// {MARK}", "package io.github.sotto;", "", *lines]) + "\n"


def enum_text(enum):
    lines = [*doc(enum.doc), f"public enum {enum.camel} implements Constant {{"]
    for value in enum.values:
        end = ";" if value is enum.values[-1] else ","
        lines += [*doc(value.doc, "    "), f"    {value.name}({value.value}){end}"]
    return source([*lines, "", "    private final int value;", "", f"    {enum.camel}(int value) {{",
                   "        this.value = value;", "    }", "", "    @Override", "    public int value() {",
                   "        return value;", "    }", "", f"    static {enum.camel} of(int value) {{",
                   "        return Constant.find(values(), value);", "    }", "}"])


def flags_text(enum):
    lines = [*doc(enum.doc), f"public final class {enum.camel} {{"]
    for value in enum.values:
        lines += [*doc(value.doc, "    "), f"    public static final int {value.name} = {value.value};"]
    return source([*lines, "", f"    private {enum.camel}() {{}}", "}"])


def class_text(struct, is_params):
    lines = [*doc(struct.doc), f"public final class {struct.camel} {{"]
    for field in visible(struct):
        lines += [*doc(documentation(field, *WORDS_OF_C), "    "),
                  f"    public {java_type(field)} {field.lower_camel};"]
    if is_params:
        lines += ["", "    /** Sets all fields to the defaults of the library. */", f"    public {struct.camel}() {{",
                  f"        Native.defaults{struct.camel}(this);", "    }"]
        if struct.name == "sotto_sampler_params":
            lines += ["",
                      "    /** Sets the parameters for a purpose, and all others to the defaults of the library. */",
                      "    public SamplerParams(Preset preset) {",
                      "        Native.presetSamplerParams(this, preset.value());", "    }"]
        lines += ["}"]
    else:
        lines += ["", f"    {struct.camel}() {{}}", "", "    @Override", "    public String toString() {",
                  f'        return "{struct.camel}{{"',
                  *(f'                + "{", " if i else ""}{field.lower_camel}=" + {field.lower_camel}'
                    for i, field in enumerate(visible(struct))),
                  '                + "}";', "    }", "}"]
    return source(lines)


def is_copied(field):
    """Returns whether the JNI library copies the field with its table. Callbacks and objects are set by other
    functions."""
    if field.kind == "array":
        return counts_its_own(field)
    return field.kind != "callback" and (field.kind != "pointer" or field.type == "sotto_watermark_params")


def row(struct, field):
    java = f'"{field.lower_camel}", "{signature(java_type(field))}"'
    if field.kind == "array":
        return f"    LIST({struct.name}, {field.name}, {field.count}, {java}),"
    return f"    FIELD({struct.name}, {field.name}, {java}),"


TABLES_HEAD = f"""\
// {MARK}
#include "platforms/java/jni/generated/tables.h"

#include <cstddef>

#include "platforms/java/jni/native.h"

namespace sotto_jni {{
namespace {{

#define FIELD(type, field, java, signature) {{ java, signature, offsetof(type, field), 0 }}
#define LIST(type, field, count, java, signature) {{ java, signature, offsetof(type, field), offsetof(type, count) }}

"""
PRESET = """
// Native.presetSamplerParams(object, preset) sets the fields to the values of a preset.
NATIVE(void, presetSamplerParams)(JNIEnv* env, jclass, jobject to, jint preset) {
  sotto_sampler_params params;
  sotto_sampler_params_init_preset(&params, sizeof params, preset);
  sotto_jni::write_fields(env, &params, sotto_jni::kSamplerParamsFields, to);
}
"""
PARAMS = """\
// Native.defaultsXxx(object) sets the fields of parameters to the defaults of the library.
#define PARAMS(java, type, init) \\
  NATIVE(void, defaults##java)(JNIEnv* env, jclass, jobject to) { \\
    type params; \\
    init(&params, sizeof params); \\
    sotto_jni::write_fields(env, &params, sotto_jni::k##java##Fields, to); \\
  } \\
  bool sotto_jni::read_params(JNIEnv* env, jobject from, Arena* arena, type* params) { \\
    init(params, sizeof *params); \\
    return read_fields(env, from, k##java##Fields, arena, params); \\
  }

"""


def tables_text(tables):
    structs = [*params_structs(tables), *info_structs(tables)]
    text = TABLES_HEAD
    for struct in structs:
        rows = [row(struct, field) for field in visible(struct) if is_copied(field)]
        text += "\n".join([f"constexpr Field k{struct.camel}[] = {{", *rows, "};", "", ""])
    text += "}  // namespace\n\n"
    for struct in structs:
        text += f"const Fields k{struct.camel}Fields = {{k{struct.camel}, sizeof k{struct.camel} / sizeof(Field)}};\n"
    text += "\n}  // namespace sotto_jni\n\n" + PARAMS
    for struct in params_structs(tables):
        text += f"PARAMS({struct.camel}, {struct.name}, {struct.name}_init)\n"
    return text + PRESET


def header_text(tables):
    guard = "SOTTO_PLATFORMS_JAVA_JNI_GENERATED_TABLES_H"
    structs = [*params_structs(tables), *info_structs(tables)]
    return (f"// {MARK}\n#ifndef {guard}\n#define {guard}\n\n#include \"platforms/java/jni/fields.h\"\n\n"
            "namespace sotto_jni {\n\n// The fields of the structs of sotto.h in the Java classes of the same names.\n"
            + "".join(f"extern const Fields k{struct.camel}Fields;\n" for struct in structs)
            + "\n// Fills parameters from the fields of an object. Returns false with a pending exception.\n"
            + "".join(f"bool read_params(JNIEnv* env, jobject from, Arena* arena, {struct.name}* params);\n"
                      for struct in params_structs(tables))
            + f"\n}}  // namespace sotto_jni\n\n#endif  // {guard}\n")


ARRAYS = {"bytes": "byte[]", "floats": "float[]", "embedding": "float[]"}
# Added to the documentation of methods that return these, or have a limit on the number of tokens.
NOTES = {
    "status": "Returns OK or STOP_CANCELLED.",
    "stop": "Calls onPiece, which may be null, with each piece until it returns true. Returns the reason why the text "
            "ended.",
    "limit": "There is no limit if maxTokens is NO_LIMIT.",
}
JNI_TYPES = {"int": "jint", "long": "jlong", "float": "jfloat", "double": "jdouble", "byte[]": "jbyteArray",
             "float[]": "jfloatArray", "int[]": "jintArray", "boolean": "jboolean"}


def java_number(c_type):
    return "long" if c_type == "size_t" else NUMBERS[c_type][0]


def returned_type(method):
    """Returns the type of what the native method returns."""
    if method.result:
        return java_number(method.result)
    return "int" if method.returns else ARRAYS.get(method.array, "void")


def native_type(argument):
    known = {"text": "byte[]", "bytes": "byte[]", "enum": "int", "params": argument.camel_type, "tokens": "int[]",
             "pieces": "boolean"}
    return known.get(argument.kind) or java_number(argument.type)


def method_lines(method):
    def type_of(argument):
        known = {"text": "String", "bytes": "byte[]", "enum": argument.camel_type, "params": argument.camel_type,
                 "tokens": "int[]", "pieces": "Callbacks.Pieces"}
        return known.get(argument.kind) or java_number(argument.type)

    def passed_as(argument):
        name = argument.lower_camel
        changed = {"text": f"Native.toUtf8({name})", "enum": f"{name}.value()", "pieces": f"{name} != null"}
        return changed.get(argument.kind, name)

    parameters = ", ".join(f"{type_of(a)} {a.lower_camel}" for a in method.arguments)
    passed = [method.object, *map(passed_as, method.arguments), *(["info"] if method.info else [])]
    passed += ["embeddingSize"] if method.array == "embedding" else []
    call = f"Native.{method.native}({', '.join(passed)})"
    returned = method.info.camel if method.info else "Status" if method.returns else returned_type(method)
    if method.pieces:
        owner = "session." if method.object == "chat" else ""
        call = f"{owner}callbacks.during({method.pieces.lower_camel},\n            () -> {call})"
    elif method.returns:
        call = f"Status.of({call})"
    call = f"{method.object} -> {call}"
    lines = [*(line[4:] for line in doc(method.documentation(NOTES), "    ")),
             f"public {returned} {method.lower_camel('java')}({parameters}) {{"]
    act, run = ("act({})", "session.resource.run(held -> resource.run({}))") if method.object == "chat" else \
        ("resource.act({})", "resource.run({})")
    lines += [f"    Session.checkLimit({method.limit.lower_camel});"] if method.limit else []
    if method.info:
        lines += [f"    {returned} info = new {returned}();", f"    {act.format(call)};", "    return info;"]
    else:
        line = f"    {act.format(call)};" if returned == "void" else f"    return {run.format(call)};"
        lines += line.split("\n")
    return [*lines, "}"]


def native_lines(method):
    parameters = [f"long {method.object}", *(f"{native_type(a)} {a.lower_camel}" for a in method.arguments),
                  *([f"{method.info.camel} info"] if method.info else []),
                  *(["int size"] if method.array == "embedding" else [])]
    return [f"static native {returned_type(method)} {method.native}({', '.join(parameters)});"]


def jni_lines(method):
    def passed_as(argument):
        if argument in method.buffers:
            return f"{argument.name}_data, {argument.name}_size"
        if argument.kind == "tokens":
            return f"{argument.name}_tokens, {argument.name}_count"
        if argument.kind == "pieces":
            return f"calls ? on_piece : nullptr, as<{method.object.title()}>({method.object})->callbacks"
        if argument.kind == "params":
            return "&params"
        is_cast = argument.type in ("uint32_t", "uint64_t", "size_t")
        return f"static_cast<{argument.type}>({argument.name})" if is_cast else argument.name

    def declared(argument):
        if argument.kind == "params":
            return "jobject from"
        return f"{JNI_TYPES[native_type(argument)]} {'calls' if argument.kind == 'pieces' else argument.name}"

    uses_env = method.has_status or method.buffers
    parameters = ["JNIEnv* env" if uses_env else "JNIEnv*", "jclass", f"jlong {method.object}",
                  *map(declared, method.arguments),
                  *(["jobject to"] if method.info else []),
                  *(["jint size"] if method.array == "embedding" else [])]
    passed = [f"{method.object}_of({method.object})", *method.passed(passed_as)]
    passed += ["&info"] if method.info else ["&result"] if method.result else []
    passed += ["&error"] if method.has_error else []
    call = f"{method.function}({', '.join(passed)})"
    returned = returned_type(method)
    lines = [f"NATIVE({JNI_TYPES.get(returned, returned)}, {method.native})({', '.join(parameters)}) {{"]
    failed = f"return{' nullptr' if method.array else ' 0' if method.result or method.returns else ''};"
    if method.buffers or method.tokens or method.params or method.array in ("bytes", "embedding"):
        lines.append("  Arena arena;")
    for a in method.buffers:
        lines += [f"  const char* {a.name}_data;", f"  size_t {a.name}_size;",
                  f"  if (!read_bytes(env, {a.name}, &arena, &{a.name}_data, &{a.name}_size)) {failed}"]
    for a in method.tokens:
        lines += [f"  const sotto_token* {a.name}_tokens;", f"  size_t {a.name}_count;",
                  f"  if (!read_tokens(env, {a.name}, &arena, &{a.name}_tokens, &{a.name}_count)) {failed}"]
    if method.params:
        lines += [f"  {method.params.type} params;", f"  if (!read_params(env, from, &arena, &params)) {failed}"]
    lines += ["  sotto_error error = new_error();"] if method.has_error else []
    lines += [f"  {method.info.name} info = {{}};", "  info.struct_size = sizeof info;"] if method.info else []
    lines += [f"  {method.result} result = 0;"] if method.result else []
    if not method.has_status:
        return [*lines, f"  {call};", "}", ""]
    if method.array == "floats":
        return [*lines, "  const float* values;", "  size_t count;",
                f"  const sotto_status status = {method.function}({', '.join([*passed, '&values', '&count'])});",
                "  return check_whole_call(env, session, status) ? new_floats(env, values, count) : nullptr;", "}", ""]
    if method.array == "embedding":
        call = f"{method.function}({', '.join([*passed, 'embedding'])})"
        return [*lines, "  const auto count = static_cast<size_t>(size);",
                "  auto* embedding = arena.array<float>(env, count);", f"  if (embedding == nullptr) {failed}",
                f"  const sotto_status status = {call};",
                "  return check_whole_call(env, session, status) ? new_floats(env, embedding, count) : nullptr;",
                "}", ""]
    if method.array:
        lines += ["  size_t size = 0;", f"  (void){method.function}({', '.join([*passed, 'nullptr', '0', '&size'])});",
                  "  char* data = arena.array<char>(env, size);", f"  if (data == nullptr) {failed}"]
        call = f"{method.function}({', '.join([*passed, 'data', 'size', '&size'])})"
        lines.append(f"  const sotto_status status = {call};")
        call = "status"
    if method.returns:
        lines.append(f"  const sotto_status status = {call};")
        call = "status"
    check = f"check_call(env, session, {call})" if method.is_described else \
        f"check(env, {call}{', &error' if method.has_error else ''})"
    if method.info:
        lines += [f"  if ({check}) {{", f"    write_fields(env, &info, k{method.info.camel}Fields, to);", "  }"]
    elif method.array:
        lines.append(f"  return {check} ? new_bytes(env, data, size) : nullptr;")
    else:
        lines.append(f"  {check};")
    lines += [f"  return static_cast<{JNI_TYPES[returned]}>(result);"] if method.result else []
    lines += ["  return status;"] if method.returns else []
    return [*lines, "}", ""]


JNI_HEAD = f"""\
// {MARK}
#include "platforms/java/jni/arrays.h"
#include "platforms/java/jni/generated/tables.h"
#include "platforms/java/jni/library.h"
#include "platforms/java/jni/native.h"

using namespace sotto_jni;

"""


def emit(tables: Tables) -> dict[str, str]:
    """Returns the text of each generated file, by path."""
    files = {f"{CLASSES}/{enum.camel}.java": (flags_text if enum.flags else enum_text)(enum)
             for enum in public_enums(tables)}
    files.update({f"{CLASSES}/{struct.camel}.java": class_text(struct, True) for struct in params_structs(tables)})
    files.update({f"{CLASSES}/{struct.camel}.java": class_text(struct, False) for struct in info_structs(tables)})
    files[f"{JNI}/tables.cpp"] = tables_text(tables)
    files[f"{JNI}/tables.h"] = header_text(tables)
    natives = [line for method in read_methods(tables) for line in indented(jni_lines(method), "")]
    files[f"{JNI}/methods.cpp"] = JNI_HEAD + "\n".join(natives)
    files.update(with_methods(tables, method_lines, SOURCES, {name: f"{name.title()}.java" for name in OBJECTS}))
    files.update(with_methods(tables, native_lines, SOURCES, dict.fromkeys(OBJECTS, "Native.java"), is_spaced=False))
    return files
