"""Emits the generated files of the Java binding: classes for enums, parameters and information, and the tables that the
JNI library uses to copy their fields to and from the C structs."""
import html

from bindings import MARK, counts_its_own, documentation, info_structs, params_structs, public_enums, visible, wrap
from tables import Tables, snake_to_camel

# Java's words for NULL, 1 and 0 in documentation.
WORDS_OF_C = ("null", "true", "false")
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
        lines += [*doc(documentation(field, *WORDS_OF_C), "    "), f"    public {java_type(field)} {field.lower_camel};"]
    if is_params:
        lines += ["", "    /** Sets all fields to the defaults of the library. */", f"    public {struct.camel}() {{",
                  f"        Native.defaults{struct.camel}(this);", "    }"]
        if struct.name == "sotto_sampler_params":
            lines += ["", "    /** Sets the parameters for a purpose, and all others to the defaults of the library. */",
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
DEFAULTS = """\
// Native.defaultsXxx(object) sets the fields of parameters to the defaults of the library.
#define DEFAULTS(java, type) \\
  NATIVE(void, defaults##java)(JNIEnv* env, jclass, jobject to) { \\
    type params; \\
    type##_init(&params, sizeof params); \\
    sotto_jni::write_fields(env, &params, sotto_jni::k##java##Fields, to); \\
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
    text += "\n}  // namespace sotto_jni\n\n" + DEFAULTS
    return text + "".join(f"DEFAULTS({struct.camel}, {struct.name})\n" for struct in params_structs(tables)) + PRESET


def header_text(tables):
    guard = "SOTTO_PLATFORMS_JAVA_JNI_GENERATED_TABLES_H"
    structs = [*params_structs(tables), *info_structs(tables)]
    return (f"// {MARK}\n#ifndef {guard}\n#define {guard}\n\n#include \"platforms/java/jni/fields.h\"\n\n"
            "namespace sotto_jni {\n\n// The fields of the structs of sotto.h in the Java classes of the same names.\n"
            + "".join(f"extern const Fields k{struct.camel}Fields;\n" for struct in structs)
            + f"\n}}  // namespace sotto_jni\n\n#endif  // {guard}\n")


def emit(tables: Tables) -> dict[str, str]:
    """Returns the text of each generated file, by path."""
    files = {f"{CLASSES}/{enum.camel}.java": (flags_text if enum.flags else enum_text)(enum)
             for enum in public_enums(tables)}
    files.update({f"{CLASSES}/{struct.camel}.java": class_text(struct, True) for struct in params_structs(tables)})
    files.update({f"{CLASSES}/{struct.camel}.java": class_text(struct, False) for struct in info_structs(tables)})
    files[f"{JNI}/tables.cpp"] = tables_text(tables)
    files[f"{JNI}/tables.h"] = header_text(tables)
    return files
