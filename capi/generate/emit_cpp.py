"""Emits parts of the C++ binding: the structs of parameters, with their vectors and conversion to the C struct, and
methods."""
from bindings import MARK, counts_its_own, params_structs, visible, wrap
from methods import with_methods
from tables import Field, Struct, Tables

ARRAYS = {"bytes": "std::vector<uint8_t>", "floats": "View<const float>", "embedding": "std::vector<float>"}
# Added to the documentation of methods that return these, or have a limit on the number of tokens.
NOTES = {
    "floats": "The view is valid until the next call of the session.",
    "status": "Returns Status::ok or Status::cancelled.",
    "stop": "Calls `on_piece` with each Piece; if it returns a bool, false ends the text. Returns the reason why the "
            "text ended.",
    "limit": "There is no limit if `max_tokens` is std::nullopt.",
}
FOLDER = "platforms/cpp/include/sotto"
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
    """Returns the struct of parameters. One with callbacks or objects is the base of a struct written by hand."""
    is_base = any(field.kind in ("callback", "pointer") for field in visible(struct))
    name, size = struct.camel + ("Base" if is_base else ""), f"sizeof({struct.name})"
    text = "\n".join(wrap(struct.doc, "// ")) + f"\nstruct {name} : {struct.name} {{\n"
    text += f"  {name}() {{ {struct.name}_init(this, {size}); }}\n"
    if struct.name == "sotto_sampler_params":
        text += f"""  // Sets the parameters for a purpose, or the defaults for an unknown preset.
  explicit {name}(sotto_preset preset) : {name}() {{
    {struct.name}_init_preset(this, {size}, preset);
  }}
"""
    if lists(struct):
        text += f"""
{''.join(map(member, lists(struct)))}
  void lists_to_c({struct.name}& c_params, detail::Arrays& arrays) const {{
{''.join(map(conversion, lists(struct)))}  }}
"""
    return f"namespace detail {{\n\n{text}}};\n\n}}  // namespace detail\n" if is_base else f"{text}}};\n"


def method_lines(method):
    handle = "handle_" if method.object == "chat" else "state_->handle"
    guard = "session_.state_->guard" if method.object == "chat" else "state_->guard"
    types = {"const char*": "std::string_view", "const void*": "Bytes", "sotto_token": "Token",
             "const sotto_token*": "Tokens", "sotto_piece_fn": "Function&&"}

    def passed_as(argument):
        if argument.kind == "params":
            return "&c_params" if argument.has_lists else f"&{argument.name}"
        if argument.kind == "limit":
            return f"{argument.name}.value_or(SIZE_MAX)"
        if argument.kind == "pieces":
            return "call.run, &call"
        is_list = argument in method.buffers + method.tokens
        return f"{argument.name}.data(), {argument.name}.size()" if is_list else argument.name

    def declared(argument):
        default = getattr(argument.default, "c_name", argument.default)
        kind = "std::optional<size_t>" if argument.kind == "limit" else types.get(argument.type, argument.type)
        return f"{kind} {argument.name}" + ("" if default is None else f" = {default}")

    if method.params:
        types[method.params.type] = f"const {method.params.camel_type}&"
    parameters = [declared(a) for a in method.with_defaults_last]
    passed = [handle, *method.passed(passed_as)]
    passed += ["&info"] if method.info else ["&result"] if method.result else []
    passed += ["report.out()"] if method.has_error else []
    call = f"{method.function}({', '.join(passed)})"
    returned = types.get(method.result, method.result) or ARRAYS.get(method.array, "void")
    if method.info or method.returns:
        returned = method.info.camel if method.info else "Status"
    kind = returned if method.is_property or not method.has_status else f"Result<{returned}>"
    kind = f"[[nodiscard]] {kind}" if method.returns == "status" else kind
    lines = [*wrap(method.documentation(NOTES), "// ", 118), *(["template <class Function>"] if method.pieces else []),
             f"{kind} {method.name('cpp')}({', '.join(parameters)}){' const' if method.is_const else ''} {{"]
    if not method.has_status:
        one = f"{lines[-1]} {call}; }}"
        return [*lines[:-1], one] if len(one) <= 118 else [*lines, f"  {call};", "}"]
    if method.params and method.params.has_lists:
        lines += [f"  {method.params.type} c_params = {method.params.name};", "  detail::Arrays arrays;",
                  f"  {method.params.name}.lists_to_c(c_params, arrays);"]
    if method.has_error:
        lines.append("  detail::Report report;")
    if method.info:
        lines += [f"  {returned} info{{}};", "  info.struct_size = sizeof info;"]
    elif method.result:
        lines.append(f"  {returned} result = 0;")
    given = ", ".join(passed)
    if method.array == "floats":
        return [*lines, "  const float* data = nullptr;", "  size_t count = 0;",
                f"  SOTTO_HPP_TRY_WHOLE_({method.function}({given}, &data, &count));",
                f"  return {returned}(data, count);", "}"]
    if method.array == "embedding":
        return [*lines, f"  {returned} embedding(Model(state_->model).info().embedding_size);",
                f"  SOTTO_HPP_TRY_WHOLE_({method.function}({given}, embedding.data()));", "  return embedding;", "}"]
    how = "SOTTO_HPP_TRY_" + ("" if method.has_error else "SESSION_" if method.is_described else "PLAIN_")
    if method.array == "bytes":
        return [*lines, "  size_t size = 0;", f"  (void){method.function}({given}, nullptr, 0, &size);",
                f"  {returned} bytes(size);",
                f"  {how}({method.function}({given}, bytes.data(), bytes.size(), &size));",
                "  return bytes;", "}"]
    if method.returns:
        if method.pieces:
            lines.append(f"  detail::PieceCall<std::remove_reference_t<Function>> call{{&on_piece, &{guard}}};")
        return [*lines, f"  const sotto_status status = {call};",
                *([f"  {guard}.rethrow();"] if method.pieces else []), f"  {how}(status);",
                "  return Status{status};", "}"]
    lines.append(f"  {call};" if method.is_property else f"  {how}({call});")
    lines.append("  return info;" if method.info else "  return result;" if method.result else "  SOTTO_HPP_DONE_;")
    return [*lines, "}"]


def emit(tables: Tables) -> dict[str, str]:
    structs = "\n".join(map(struct_text, params_structs(tables)))
    structs = structs.replace("}  // namespace detail\n\nnamespace detail {\n\n", "")
    classes = {"session": "session.hpp", "chat": "chat.hpp", "matcher": "grammar.hpp"}
    files = with_methods(tables, method_lines, FOLDER, classes, indent="  ")
    files[f"{FOLDER}/generated/params.hpp"] = f"""// {MARK}
// Part of sotto.hpp: parameters. Each struct inherits the C struct and sets its defaults. Vectors hide its pointers.
#ifndef SOTTO_GENERATED_PARAMS_HPP
#define SOTTO_GENERATED_PARAMS_HPP

#include <optional>
#include <string>
#include <vector>

#include "../arrays.hpp"

namespace sotto {{
inline namespace SOTTO_HPP_ERRORS_ {{

{structs}
}}  // namespace SOTTO_HPP_ERRORS_
}}  // namespace sotto

#endif  // SOTTO_GENERATED_PARAMS_HPP
"""
    return files
