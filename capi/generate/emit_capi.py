"""Emits capi/generated: defaults of the parameter structs, _params_init, and conversion to the runtime's structs."""
import emit_runtime as runtime
import tables as t


def defaults_name(struct: t.Struct) -> str:
    return f"k{struct.camel.removesuffix('Params')}Defaults"


def text_initializer(text: str) -> str:
    return f"{{{t.c_string(text)}, {len(text.encode())}}}"


def default_text(field: t.Field) -> str:
    if field.kind == "struct_size":
        return f"sizeof({field.struct.name})"
    if isinstance(field.default, list):
        return "k" + field.camel
    if field.kind == "count" and isinstance(texts := field.struct.find(field.counts[0]).default, list):
        return str(len(texts))
    if isinstance(field.default, str):
        return text_initializer(field.default)
    return "nullptr" if field.c_default == "NULL" else field.c_default


def defaults_text(struct: t.Struct) -> str:
    text = "".join(f"inline constexpr sotto_text k{field.camel}[] = "
                   f"{{{', '.join(map(text_initializer, field.default))}}};\n"
                   for field in struct.fields if isinstance(field.default, list))
    lines = "".join(f"    .{field.name} = {default_text(field)},\n" for field in struct.fields)
    return text + f"inline constexpr {struct.name} {defaults_name(struct)} = {{\n{lines}}};\n"


def field_ends(struct: t.Struct) -> str:
    ends = ",\n".join(f"      offsetof({struct.name}, {field.name}) + sizeof({struct.name}::{field.name})"
                      for field in struct.fields)
    return f"""template <>
struct FieldEnds<{struct.name}> {{
  static constexpr size_t kEnds[] = {{
{ends}}};
}};
"""


def field_ends_header(tables: t.Tables) -> str:
    structs = "\n".join(field_ends(struct) for struct in tables.structs if struct.has_struct_size)
    visits = "".join(f"  visit({struct.name}_init);\n" for struct in tables.structs if struct.kind == "params")
    return f"""{runtime.HEADER}#pragma once

#include <cstddef>

#include "capi/include/sotto.h"

namespace sotto::capi {{

// The offsets at which the fields of a struct that begins with struct_size end, in ascending order.
template <typename T>
struct FieldEnds;

{structs}
// Calls visit(sotto_..._params_init) for each struct of parameters.
template <typename Visit>
void for_each_init(Visit visit) {{
{visits}}}

}}  // namespace sotto::capi
"""


def signature(struct: t.Struct) -> str:
    return (f"sotto_status read_params(const {struct.name}* given, const char* name, {struct.camel}* params,\n"
            "                         ErrorOut* out)")


def header(tables: t.Tables) -> str:
    defaults = "\n".join(defaults_text(struct) for struct in tables.structs if struct.kind == "params")
    readers = "".join(f"{signature(struct)};\n" for struct in runtime.inner_structs_first(tables))
    return f"""{runtime.HEADER}#pragma once

#include "capi/sotto_handles.h"
#include "runtime/generated/params.h"

namespace sotto::capi {{

{defaults}
// Reads the caller's parameters, `name` in messages. Fields that the caller does not know, or all of them if `given` is
// null, have their defaults.
{readers}
}}  // namespace sotto::capi
"""


def converted(field: t.Field, tables: t.Tables) -> str:
    """Returns the C++ value of a field of the C struct `c`."""
    value = f"c.{field.name}"
    if field.kind == "bool":
        return value + " != 0"
    if field.kind == "enum":
        return f"static_cast<{field.enum.runtime}>({value})"
    if field.type in runtime.OBJECTS:
        return f"unwrap({value})"
    if field.kind == "array" and runtime.owns_count(field):
        element = runtime.element_type(field, tables)
        pointer = value if field.enum is None else f"reinterpret_cast<const {element}*>({value})"
        return f"{{{pointer}, c.{field.count}}}"
    return value


def read_function(struct: t.Struct, params: set[str], tables: t.Tables) -> str:
    checks, copies = "", ""
    for field in struct.fields:
        if field.kind in {"struct_size", "reserved", "count"}:
            continue
        if field.kind == "array" and runtime.owns_count(field):
            checks += (f'  if (c.{field.name} == nullptr && c.{field.count} != 0) '
                       f'return out->null_argument("{field.name}");\n')
        if field.kind == "bool":
            checks += f'  if (c.{field.name} > 1) return out->not_bool("{field.name}", c.{field.name});\n'
        if field.type in params:
            copies += f"""  if (c.{field.name} != nullptr) {{
    SOTTO_TRY_C(read_params(c.{field.name}, "{field.name}", &params->{field.name}, out));
  }}
"""
        else:
            copies += f"  params->{field.name} = {converted(field, tables)};\n"
    return f"""{signature(struct)} {{
  if (given != nullptr && given->struct_size == 0) return out->bad_struct(name);
  const {struct.name} c = read(given, {defaults_name(struct)});
{checks}{copies}  return SOTTO_OK;
}}
"""


def init_function(struct: t.Struct) -> str:
    return f"""void {struct.name}_init({struct.name}* params, size_t params_size) {{
  sotto::capi::init_params(params, params_size, sotto::capi::{defaults_name(struct)});
}}
"""


def preset_function(tables: t.Tables) -> str:
    cases = ""
    for preset in tables.enum("sotto_preset").values:
        cases += f"    case {preset.c_name}:\n"
        for field, value in t.preset_values(preset, tables):
            text = value.c_name if isinstance(value, t.EnumValue) else f"{value}f" if field.is_float else value
            cases += f"      values.{field.name} = {text};\n"
        cases += "      break;\n"
    return f"""sotto_status sotto_sampler_params_init_preset(sotto_sampler_params* params, size_t params_size,
                                              sotto_preset preset) {{
  if (params == nullptr) return SOTTO_INVALID_ARGUMENT;
  sotto_sampler_params values = sotto::capi::kSamplerDefaults;
  switch (preset) {{
{cases}    default:
      return SOTTO_INVALID_ARGUMENT;
  }}
  sotto::capi::init_params(params, params_size, values);
  return SOTTO_OK;
}}
"""


def source(tables: t.Tables) -> str:
    structs = runtime.inner_structs_first(tables)
    names = {struct.name for struct in structs}
    readers = "\n".join(read_function(struct, names, tables) for struct in structs)
    inits = "\n".join(init_function(struct) for struct in tables.structs if struct.kind == "params")
    return f"""{runtime.HEADER}#include "capi/generated/params.h"

namespace sotto::capi {{

{readers}
}}  // namespace sotto::capi

{inits}
{preset_function(tables)}"""


def emit(tables: t.Tables) -> dict[str, str]:
    return {"capi/generated/field_ends.h": field_ends_header(tables), "capi/generated/params.h": header(tables),
            "capi/generated/params.cpp": source(tables)}
