"""Emits the lists of the C++ binding: the vectors of each parameter struct and their conversion to the C struct."""
from bindings import MARK, counts_its_own, params_structs, visible
from tables import Field, Struct, Tables

ELEMENTS = {"sotto_text": "std::string", "sotto_token": "Token", "sotto_token_list": "std::vector<Token>",
            "sotto_token_bias": "TokenBias", "sotto_sequence_bias": "SequenceBias"}


def lists(struct: Struct) -> list[Field]:
    return [field for field in visible(struct) if field.kind == "array"]


def has_default(field: Field) -> bool:
    return field.default is not None


def member(field: Field) -> str:
    vector = f"std::vector<{ELEMENTS.get(field.type, field.type)}>"
    if has_default(field):
        return f"  std::optional<{vector}> {field.name};  // nullopt selects the default\n"
    return f"  {vector} {field.name};\n"


def conversion(field: Field) -> str:
    if not counts_its_own(field):
        return f"    c_params.{field.name} = {field.name}.empty() ? nullptr : {field.name}.data();\n"
    condition, value = (f"if ({field.name}) ", "*") if has_default(field) else ("", "")
    return f"    {condition}arrays.to_c({value}{field.name}, c_params.{field.name}, c_params.{field.count});\n"


def struct_text(struct: Struct) -> str:
    return f"""struct {struct.camel}Lists : {struct.name} {{
{''.join(map(member, lists(struct)))}
  void lists_to_c({struct.name}& c_params, Arrays& arrays) const {{
{''.join(map(conversion, lists(struct)))}  }}
}};
"""


def emit(tables: Tables) -> dict[str, str]:
    structs = "\n".join(struct_text(struct) for struct in params_structs(tables) if lists(struct))
    return {"platforms/cpp/include/sotto/generated/lists.hpp": f"""// {MARK}
// Part of sotto.hpp: the C structs of parameters with vectors, which hide the pointers of the C struct.
#ifndef SOTTO_GENERATED_LISTS_HPP
#define SOTTO_GENERATED_LISTS_HPP

#include <optional>
#include <string>
#include <vector>

#include "../arrays.hpp"

namespace sotto {{
inline namespace SOTTO_HPP_ERRORS_ {{
namespace detail {{

{structs}
}}  // namespace detail
}}  // namespace SOTTO_HPP_ERRORS_
}}  // namespace sotto

#endif  // SOTTO_GENERATED_LISTS_HPP
"""}
