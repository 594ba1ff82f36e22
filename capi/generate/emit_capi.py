"""Parameter structs at the C interface: defaults, _params_init, and the conversion to the runtime's structs (capi/generated)."""
import emit_runtime as runtime
import tables as t


def constant(struct: t.Struct, what: str) -> str:
    return "k" + struct.camel.removesuffix("Params") + what


def defaults(struct: t.Struct) -> str:
    text, lines = "", []
    for field in struct.fields:
        value = "nullptr" if field.c_default == "NULL" else field.c_default
        if field.kind == "struct_size":
            value = f"sizeof({struct.name})"
        elif isinstance(field.default, list):
            value = "k" + field.camel
            items = ", ".join(f"{{{t.c_string(item)}, {len(item.encode())}}}" for item in field.default)
            text += f"inline constexpr sotto_text {value}[] = {{{items}}};\n"
        elif field.kind == "count" and isinstance(struct.find(field.counts[0]).default, list):
            value = str(len(struct.find(field.counts[0]).default))
        elif isinstance(field.default, str):
            value = f"{{{t.c_string(field.default)}, {len(field.default.encode())}}}"
        lines.append(f".{field.name} = {value}")
    body = ",\n    ".join(lines)
    return text + f"inline constexpr {struct.name} {constant(struct, 'Defaults')} = {{\n    {body},\n}};\n"


def header(tables: t.Tables) -> str:
    text = runtime.HEADER + """#pragma once

#include "capi/sotto_handles.h"
#include "runtime/generated/params.h"

namespace sotto::capi {

"""
    for struct in tables.structs:
        if struct.kind == "params":
            text += defaults(struct) + "\n"
    text += "// Read the caller's parameters, `name` in messages. Fields that it does not know, or all if it is null, have their defaults.\n"
    for name in runtime.PARAMS:
        text += f"{signature(tables.struct(name))};\n"
    return text + "\n}  // namespace sotto::capi\n"


def signature(struct: t.Struct) -> str:
    return (f"sotto_status read_params(const {struct.name}* given, const char* name, {struct.camel}* params,\n"
            "                         ErrorOut* out)")


def array(field: t.Field) -> str:
    element = runtime.element_type(field.type)
    pointer = f"c.{field.name}"
    if field.type in runtime.ENUMS:
        pointer = f"reinterpret_cast<const {element}*>({pointer})"
    return f"{{{pointer}, c.{field.count}}}" if runtime.owns_count(field) else pointer


def read_function(struct: t.Struct) -> str:
    text = signature(struct) + " {\n"
    text += "  if (given != nullptr && given->struct_size == 0) return out->bad_struct(name);\n"
    text += f"  const {struct.name} c = read(given, {constant(struct, 'Defaults')});\n"
    for field in struct.fields:
        if field.kind == "array" and runtime.owns_count(field):
            text += f"  if (c.{field.name} == nullptr && c.{field.count} != 0) return out->null_argument(\"{field.name}\");\n"
    for field in struct.fields:
        if field.kind in {"struct_size", "reserved", "count"}:
            continue
        value = f"c.{field.name}"
        if field.kind == "bool":
            value += " != 0"
        elif field.kind == "enum":
            value = f"static_cast<{runtime.ENUMS[field.type]}>({value})"
        elif field.kind == "array":
            value = array(field)
        elif field.type in runtime.HANDLES:
            value = f"unwrap({value})"
        elif field.kind == "pointer" and field.type in runtime.PARAMS:
            text += f"  if ({value} != nullptr) {{\n"
            text += f"    const sotto_status bad = read_params({value}, \"{field.name}\", &params->{field.name}, out);\n"
            text += "    if (bad != SOTTO_OK) return bad;\n  }\n"
            continue
        text += f"  params->{field.name} = {value};\n"
    return text + "  return SOTTO_OK;\n}\n"


def source(tables: t.Tables) -> str:
    text = runtime.HEADER + '#include "capi/generated/params.h"\n\nnamespace sotto::capi {\n'
    for name in runtime.PARAMS:
        text += "\n" + read_function(tables.struct(name))
    text += "\n}  // namespace sotto::capi\n"
    for struct in tables.structs:
        if struct.kind == "params":
            text += f"""
void {struct.name}_init({struct.name}* params, size_t params_size) {{
  sotto::capi::init_params(params, params_size, sotto::capi::{constant(struct, 'Defaults')});
}}
"""
    return text


def emit(tables: t.Tables) -> dict[str, str]:
    return {"capi/generated/params.h": header(tables), "capi/generated/params.cpp": source(tables)}
