"""Emits the command line's tables of parameters (platforms/cli/generated/parameters.inc), and those of the sampler's
lists of tokens (token_lists.inc) and stages (stages.inc).

Fields with a column `cli` become options. Its keys:
  option   spellings between commas; the first is the main one, others are names that other programs use
  group    heading of the help text
  help     one line for the help text; `doc`, the definition of the parameter, is longer
  needs    options, one of which must also be given; by default the options of the parameters in `needs`
  json     names in JSON between commas, by default the name of the field; the first is the one that is written
  metavar  placeholder of the value; by default X, N, TOKEN or NAME by type
  shown    text that the help shows as the default instead of the value
A parameter whose option is declared in code has only the key `set_by`: the option that error messages name. A list of
tokens of the sampler has the keys `json`, `option`, `group` and `help`, or only `json` if its option is declared in
code. Values of an enum with `cli = true` have the names in their column `cli`, by default the name in lower case. Each
value of an enum with `options = true` has an option of its own, the table `option` with the keys `names`, `help`,
`json`, which describes the value in JSON, and `metavar` unless the option is a flag.
"""
from emit_runtime import maxima
from tables import (Enum, EnumValue, Field, Struct, TableError, Tables, c_string, chain_stages, hard_bans, number_text,
                    one_line)

KEYS = {"option", "group", "help", "needs", "json", "metavar", "shown"}
METAVARS = {"kNumber": "X", "kCount": "N", "kWindow": "N", "kKey": "N", "kOn": "", "kOff": "", "kToken": "TOKEN",
            "kName": "NAME"}
# The structs whose limits options of other types need.
WITH_LIMITS = ["sotto_matcher_params", "sotto_session_params", "sotto_search_params"]


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


def value_options_text(enum: Enum) -> str:
    rows = ""
    for value in enum.values:
        if "option" not in value.columns:
            raise TableError(f"{enum.name}.{value.name}: option is missing")
        option = value.columns["option"]
        metavar = c_string(option["metavar"]) if "metavar" in option else "nullptr"
        rows += (f"    {{{c_string(option['names'])}, {value.c_name}, {metavar},\n"
                 f"     {c_string(one_line(option['help']))},\n     {c_string(option['json'])}}},\n")
    return f"inline constexpr ValueOption k{enum.camel}Options[] = {{\n{rows}}};\n"


def base_name(struct: Struct) -> str:
    return struct.camel.removesuffix("Params")


def options_of(struct: Struct) -> list[Field]:
    fields = [field for field in struct.fields
              if field.cli and field.kind != "array" and field.cli.keys() != {"set_by"}]
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
    return f"inline constexpr Parameter k{base_name(struct)}Parameters[] = {{\n{rows}}};\n"


def limits_text(struct: Struct) -> str:
    return f"// Values of {struct.name}.\nstruct {base_name(struct)}Limits {{\n{maxima(struct)}}};\n"


def recommended_text(tables: Tables) -> str:
    visits = "".join(f'  visit("{field.recommends}", &sotto_sampler_params::{field.recommends}, '
                     f'&sotto_model_info::{field.name});\n'
                     for field in tables.recommended)
    return f"""\
// Calls visit(name, member of sotto_sampler_params, member of sotto_model_info) for each parameter that a model file
// can recommend.
template <typename Visit>
void visit_recommended(const Visit& visit) {{
{visits}}}
"""


def default_stages_text(tables: Tables) -> str:
    """Returns a function for the stages that the sampler's defaults turn on."""
    sampler = tables.struct("sotto_sampler_params")
    visits = ""
    for stage in tables.enum("sotto_stage").values:
        field = sampler.find(stage.columns["on"][0].split()[0])
        if field.off is not None and field.default_value != field.off:
            visits += (f"  visit({c_string(field.name)}, &{sampler.name}::{field.name}, {number_text(field.off)}, "
                       f"{stage.c_name});\n")
    return f"""\
// Calls visit(name, member of sotto_sampler_params, its value that is off, stage) for each stage that is on by default.
template <typename Visit>
void visit_default_stages(const Visit& visit) {{
{visits}}}
"""


def turn_off_text(stage: EnumValue, sampler: Struct) -> str:
    """Returns an expression that sets a stage's parameters to off and is true if the stage was on."""
    terms = []
    for entry in stage.columns["on"]:
        name, *conditions = entry.split(" and ")
        field = sampler.find(name)
        empty, was_on = {"array": ("{}", "!{}.empty()"), "pointer": ("std::nullopt", "{}.has_value()")}.get(
            field.kind, (number_text(field.off or 0), "{} != " + number_text(field.off or 0)))
        if field.kind == "callback":
            empty, was_on = "nullptr", "{} != nullptr"
        conditions = [f"params.{text}" + ("f" if "<" in text else f" != {number_text(sampler.find(text).off)}")
                      for text in conditions]
        terms.append(" && ".join([*conditions, was_on.replace("{}", f"std::exchange(params.{name}, {empty})", 1)]))
    if len(terms) == 1:
        return terms[0]
    return f"any({', '.join(terms)})"


def token_lists_text(sampler: Struct) -> str:
    rows = ""
    for field in sampler.fields:
        if field.c_type != "const sotto_token*" or not field.cli:
            continue
        if field.cli.keys() not in ({"json"}, {"json", "option", "group", "help"}):
            raise TableError(f"{sampler.name}.{field.name}: the columns are cli.{sorted(field.cli)}")
        rows += f"    {{{c_string(field.cli['json'])}, &SamplerParams::{field.name}"
        if "option" in field.cli:
            rows += (f", {c_string(field.cli['option'])},\n     {c_string(field.cli['group'])}, "
                     f"{c_string(field.cli['help'])}, {c_string(needs_of(sampler, field))}")
        rows += "},\n"
    return f"""// Generated by capi/generate from capi/params. Included by platforms/cli/options/token_lists.h.

inline constexpr TokenListParam kTokenLists[] = {{
{rows}}};
"""


def likely_truncations_text(tables: Tables) -> str:
    sampler, rows = tables.struct("sotto_sampler_params"), ""
    for stage in tables.enum("sotto_stage").values:
        field = sampler.find(stage.columns["on"][0].split()[0])
        if "effect" not in stage.columns and field.cli.get("group") == "Truncation":
            rows += f"    {c_string(main_option(field))},\n"
    return f"""// The options of the truncations that keep the most likely token.
inline constexpr const char* kLikelyTruncations[] = {{
{rows}}};
"""


def stages_text(tables: Tables) -> str:
    sampler = tables.struct("sotto_sampler_params")
    stages, orders = tables.enum("sotto_stage"), tables.enum("sotto_order")
    bans = ", ".join(ban.c_name for ban in hard_bans(tables))
    cases = "".join(f"    case {stage.c_name}:\n      return {turn_off_text(stage, sampler)};\n"
                    for stage in stages.values)
    rows = "".join("    {" + ",\n     ".join(stages.find(name).c_name for name in order.columns["stages"]) + "},\n"
                   for order in orders.values)
    return f"""// Generated by capi/generate from capi/params. Included by platforms/cli/options/chain.cpp.

// The bans, which apply before the first stage.
constexpr sotto_stage kHardBans[] = {{{bans}}};

// The stages of each sotto_order.
constexpr sotto_stage kStageOrders[{len(orders.values)}][{len(chain_stages(tables))}] = {{
{rows}}};

// Returns whether one of the values is true.
template <typename... Bool>
bool any(Bool... values) {{
  return (values || ...);
}}

// Turns a stage off and returns whether it was on.
bool turn_off_stage(sotto_stage stage, SamplerParams& params) {{
  switch (stage) {{
{cases}    default:
      return false;
  }}
}}
"""


def set_by_text(structs: list[Struct]) -> str:
    rows = "".join(f"    {{{c_string(field.name)}, {c_string(field.cli['set_by'])}}},\n"
                   for struct in structs for field in struct.fields if "set_by" in field.cli)
    return f"""// Parameters whose options are declared in code.
struct SetBy {{
  const char* parameter;
  const char* option;
}};
inline constexpr SetBy kSetBy[] = {{
{rows}}};
"""


def emit(tables: Tables) -> dict[str, str]:
    structs = [struct for struct in tables.structs if options_of(struct)]
    text = "// Generated by capi/generate from capi/params. Included by platforms/cli/options/parameters.h.\n"
    for enum in tables.enums:
        if "cli" in enum.columns:
            text += "\n" + enum_text(enum)
        if "options" in enum.columns:
            text += "\n" + value_options_text(enum)
    for struct in structs:
        text += "\n" + struct_text(struct, tables)
    for name in WITH_LIMITS:
        text += "\n" + limits_text(tables.struct(name))
    names = "".join(f"    k{base_name(struct)}Parameters,\n" for struct in structs)
    text += f"\n// The tables of all structs.\ninline constexpr Parameters kAllParameters[] = {{\n{names}}};\n"
    text += "\n" + set_by_text(tables.structs)
    text += "\n" + recommended_text(tables) + "\n" + default_stages_text(tables)
    text += "\n" + likely_truncations_text(tables)
    folder, sampler = "platforms/cli/generated", tables.struct("sotto_sampler_params")
    return {f"{folder}/parameters.inc": text, f"{folder}/stages.inc": stages_text(tables),
            f"{folder}/token_lists.inc": token_lists_text(sampler)}
