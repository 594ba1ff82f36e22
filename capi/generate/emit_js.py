"""Emits the generated modules of the JavaScript binding: enums, the layouts of structs in WebAssembly's memory, types,
and methods."""
import json

import tables as t
from bindings import C_ONLY, MARK, counts_its_own, documentation, info_structs, params_structs, public_enums, wrap
from methods import with_methods

SOURCES = "platforms/javascript/src"
FOLDER = f"{SOURCES}/generated"
PACKAGE = "platforms/javascript/package.json"
ARRAYS = {"bytes": "Uint8Array", "floats": "Float32Array", "embedding": "Float32Array"}
# Added to the documentation of methods that return these, or have a limit on the number of tokens.
NOTES = {
    "status": "Returns OK or STOP_CANCELLED.",
    "stop": "Calls `onPiece` with each piece until it returns true. Returns the reason why the text ended. Nothing else "
            "runs in this thread until then.",
    "limit": "By default there is no limit.",
}
CLASSES = {"session": "session.js", "chat": "chat.js", "matcher": "grammar.js"}
POINTER = 4
NUMBERS = {"int32_t": "i32", "uint8_t": "u8", "uint32_t": "u32", "uint64_t": "u64", "float": "f32", "double": "f64",
           "size_t": "u32", "sotto_token": "i32"}
ELEMENTS = {"sotto_text": ("text", "Text"), "sotto_token_list": ("tokens", "readonly number[]"),
            "sotto_token_bias": ("tokenBias", "readonly [token: number, bias: number]"),
            "sotto_sequence_bias": ("sequenceBias", "readonly [tokens: readonly number[], bias: number]")}
# Functions that the module imports, and their types in JavaScript. Other callbacks have no parameter here.
CALLBACKS = {"sotto_log_fn": ("log", "(level: LogLevel, text: string) => void"),
             "sotto_logits_fn": ("logits", "(logits: Float32Array) => void"),
             "sotto_logits_processor_fn": ("processor",
                                           "(tokens: Int32Array, sequence: number, logits: Float32Array) => void")}
# Structs whose fields the binding copies by hand.
RESULTS = ("sotto_error", "sotto_piece", "sotto_sequence", "sotto_vocabulary_params")
WORDS_OF_C = ("null", "true", "false")


def visible(struct):
    """Returns the fields that the binding exposes."""
    return [field for field in struct.public_fields if field.type not in C_ONLY
            and not (field.kind == "callback" and field.type not in CALLBACKS)
            and not (field.kind == "pointer" and not field.type.endswith("_params"))]


def element_of(field):
    """Returns the names of an array's elements: of their form in memory, and of their type."""
    return ELEMENTS.get(field.type) or (NUMBERS.get(field.type, "i32"), "number")


def place(tables, struct, field, offsets):
    """Returns what the binding has to know about a field."""
    offset = offsets[field.name]
    if field.kind == "struct":
        return [offset, "text"]
    if field.kind == "array":
        count = offsets[field.count] if counts_its_own(field) else None
        return [offset, "array", element_of(field)[0], count]
    if field.kind == "callback":
        return [offset, "callback", CALLBACKS[field.type][0], offsets[field.user_data]]
    if field.kind == "pointer":
        return [offset, "params", tables.struct(field.type).camel]
    if field.kind == "bool":
        return [offset, "bool"]
    return [offset, {"enum": "i32", "flags": "u32"}.get(field.kind) or NUMBERS[field.type]]


def structs_text(tables):
    lines = [f"// {MARK}",
             "// Structs of the C API in the memory of WebAssembly: size, and offset and form of each field.",
             "export const structs = {"]
    for struct in tables.structs:
        listed = struct in params_structs(tables) + info_structs(tables)
        if not listed and struct.name not in RESULTS:
            continue
        rows, size, _ = tables.layout(struct, POINTER)
        offsets = {field.name: offset for field, offset, _ in rows}
        fields = visible(struct) if listed else []
        lines.append(f"  {struct.camel}: {{")
        lines.append(f"    size: {size},")
        if struct.kind == "params":
            lines.append(f'    init: "{struct.name}_init",')
        lines.append("    fields: {")
        lines += [f"      {field.lower_camel}: {json.dumps(place(tables, struct, field, offsets))},"
                  for field in fields]
        if not listed:
            lines += [f'      {t.snake_to_lower_camel(name)}: [{offset}],' for name, offset in offsets.items()]
        lines += ["    },", "  },"]
    return "\n".join([*lines, "};", ""])


def enums_text(tables):
    lines = [f"// {MARK}"]
    for enum in public_enums(tables):
        lines.append(f"export const {enum.camel} = Object.freeze({{")
        lines += [f"  {value.name}: {value.value}," for value in enum.values]
        lines += ["});", ""]
    presets = []
    for preset in tables.enum("sotto_preset").values:
        values = ", ".join(f"{field.lower_camel}: {value.value if isinstance(value, t.EnumValue) else value}"
                           for field, value in t.preset_values(preset, tables))
        presets.append(f"  {preset.value}: {{ {values} }},")
    lines += ["// The parameters of the sampler for each purpose.", "export const presets = Object.freeze({", *presets,
              "});", ""]
    return "\n".join(lines)


def commented(doc, indent):
    if not doc:
        return []
    text = doc.replace("*/", "* /")
    lines = wrap(text, indent + " * ")
    if len(lines) == 1 and len(lines[0]) < 115:
        return [f"{indent}/** {lines[0].strip()[2:]} */"]
    return [f"{indent}/**", *lines, f"{indent} */"]


def typescript(field, enums):
    if field.kind == "bool":
        return "boolean"
    if field.kind == "enum":
        return t.snake_to_camel(field.type.removeprefix("sotto_"))
    if field.kind in ("number", "token", "flags"):
        return "number | bigint" if field.type == "uint64_t" and field.struct.kind == "params" else "number"
    if field.kind == "struct":
        return "Text"
    if field.kind == "array":
        is_enum = field.type in enums
        element = t.snake_to_camel(field.type.removeprefix("sotto_")) if is_enum else element_of(field)[1]
        return f"readonly ({element})[]"
    if field.kind == "callback":
        return CALLBACKS[field.type][1]
    return t.snake_to_camel(field.type.removeprefix("sotto_"))


def types_text(tables):
    lines = [f"// {MARK}", "", "/** Text, or bytes in UTF-8. */", "export type Text = string | Uint8Array;", ""]
    for enum in public_enums(tables):
        lines += [*commented(enum.doc, ""), f"export declare const {enum.camel}: {{"]
        for value in enum.values:
            lines += [*commented(value.doc, "  "), f"  readonly {value.name}: {value.value};"]
        lines += ["};", f"export type {enum.camel} = number;" if enum.flags else
                  f"export type {enum.camel} = (typeof {enum.camel})[keyof typeof {enum.camel}];", ""]
    enums = {enum.name for enum in tables.enums}
    for structs, mark in ((params_structs(tables), "?"), (info_structs(tables), "")):
        for struct in structs:
            lines += [*commented(struct.doc, ""), f"export interface {struct.camel} {{"]
            for field in visible(struct):
                lines += [*commented(documentation(field, *WORDS_OF_C), "  "),
                          f"  {'' if mark else 'readonly '}{field.lower_camel}{mark}: {typescript(field, enums)};"]
            lines += ["}", ""]
    return "\n".join(lines)


def package_text(tables):
    """Returns the package's manifest with the current version."""
    manifest = json.loads((tables.root / PACKAGE).read_text("utf-8"))
    manifest["version"] = tables.version
    return json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"


def documented(method):
    return [line[2:] for line in commented(method.documentation(NOTES), "  ")]


def copied(argument):
    """Returns the expression that copies tokens into the memory of a call."""
    return f'copyIntegers(scratch, this.#tokens({argument.lower_camel}), "the {argument.name}")'


def method_lines(method):
    def passed_as(argument):
        name = argument.lower_camel
        if argument in method.buffers:
            return f"{name}Bytes.address, {name}Bytes.size"
        if argument.kind == "tokens":
            return f"{name}Tokens.address, {name}Tokens.count"
        if argument.kind == "limit":
            return f"limitOf({name})"
        if argument.kind == "pieces":
            return "this.instance.exports.piece_callback(), number"
        if argument.kind == "params":
            return f'fill(scratch, "{argument.camel_type}", {name})'
        form = NUMBERS.get(argument.type, "i32")
        if form in ("f32", "f64"):
            return name
        checked = f'integer({name}, "{form}", "{name}")'
        return f"BigInt({checked})" if form == "u64" else checked

    name = method.lower_camel("js")
    passed = ["this.handle", *method.passed(passed_as)]
    passed += ["info"] if method.info else ["result"] if method.result else []
    passed += ["error"] if method.has_error else []
    call = f"this.instance.exports.{method.function}({', '.join(passed)})"
    def declared(argument):
        default = "{}" if argument.kind == "params" else argument.default
        if argument.kind == "enum" and default is not None:
            default = f"{argument.camel_type}.{default.name}"
        default = "[]" if argument.kind == "tokens" and argument.is_optional else default
        return argument.lower_camel + ("" if default is None else f" = {default}")

    listed = [a for a in method.with_defaults_last if not (method.pieces and a.kind in ("limit", "pieces"))]
    parameters = ", ".join(map(declared, listed))
    if method.pieces:
        options = f"{{ {method.limit.lower_camel}, {method.pieces.lower_camel} = () => false }} = {{}}"
        parameters = ", ".join([*map(declared, listed), options])
    lines = [*documented(method), f"{'get ' if method.is_property else ''}{name}({parameters}) {{"]
    if method.info:
        lines += ["  this.#check();", f'  return readInfo(this.instance, "{method.info.camel}", (info) =>',
                  f"    {call});"]
    elif method.array == "floats":
        lines.append(f"  return this.#row(this.instance.exports.{method.function});")
    elif method.array == "embedding":
        [tokens] = method.tokens
        lines += ["  const size = this.model.info.embeddingSize;", "  return this.#call((scratch) => {",
                  f"    const {tokens.lower_camel}Tokens = {copied(tokens)};",
                  "    const embedding = scratch.allocate(4 * size);",
                  f"    const status = {call.removesuffix(')')}, embedding);",
                  "    this.#checkWhole(this.#checked(scratch, status));", "    return this.#floats(embedding, size);",
                  "  });"]
    elif method.array:
        def written(*last):
            return f"this.instance.exports.{method.function}({', '.join([*passed, *last])})"
        lines += ["  let bytes;", "  this.#evaluate((scratch) => {", "    const size = scratch.zeros(4);",
                  f"    {written('0', '0', 'size')};", "    const capacity = this.instance.u32(size);",
                  "    const data = scratch.allocate(capacity);",
                  f"    const status = {written('data', 'capacity', 'size')};",
                  "    bytes = this.instance.bytes(data, capacity);", "    return status;", "  });", "  return bytes;"]
    elif not method.has_status:
        lines += ["  this.#check();", f"  {call};"]
    else:
        steps = [f'const {a.lower_camel}Bytes = scratch.text({a.lower_camel}, "{a.lower_camel}");'
                 for a in method.buffers]
        steps += [f"const {a.lower_camel}Tokens = {copied(a)};" for a in method.tokens]
        steps += ["const result = scratch.zeros(8);"] if method.result else []
        given = "(scratch, error)" if method.has_error else "(scratch)" if steps or method.params else "()"
        run = f"this.#{'attempt' if method.has_error else 'evaluate'}({given} =>"
        run = f"return {run}" if method.returns else run
        before = len(lines)
        if not steps:
            lines += [f"  {run} {call});"] if len(run) + len(call) < 112 else [f"  {run}", f"    {call});"]
        elif not method.result:
            lines += [f"  {run} {{", *("    " + step for step in steps), f"    return {call};", "  });"]
        else:
            form = NUMBERS[method.result]
            found = f"this.instance.views.{form}[result >>> {3 if form in ('u64', 'f64') else 2}]"
            lines += ["  let value;", f"  {run} {{", *("    " + step for step in steps), f"    const status = {call};",
                      f"    value = {f'Number({found})' if form == 'u64' else found};", "    return status;", "  });",
                      "  return value;"]
        if method.pieces:
            lines[before:] = [
                f"  const number = this.instance.addCallback((piece) => {method.pieces.lower_camel}"
                "(readPiece(this.instance, piece)) === true);",
                "  try {", *("  " + line for line in lines[before:]), "  } finally {",
                "    this.instance.removeCallback(number);", "  }"]
    return [*lines, "}"]


def type_lines(method):
    def type_of(argument):
        known = {"text": "Text", "bytes": "Uint8Array", "enum": argument.camel_type, "params": argument.camel_type,
                 "tokens": "Prompt", "limit": "number | null"}
        return known.get(argument.kind, "number")

    doc = documented(method)
    if method.is_property:
        return [*doc, f"readonly {method.lower_camel('js')}: {method.info.camel};"]
    parameters = ", ".join(
        f"{a.lower_camel}{'?' if a.default is not None or a.is_optional or a.kind in ('params', 'limit') else ''}: "
        f"{type_of(a)}" for a in method.with_defaults_last if not (method.pieces and a.kind in ("limit", "pieces")))
    if method.pieces:
        options = f"{method.limit.lower_camel}?: number; {method.pieces.lower_camel}?: (piece: Piece) => unknown"
        parameters += f"{', ' if parameters else ''}options?: {{ {options} }}"
    returned = method.info.camel if method.info else "number" if method.result else ARRAYS.get(method.array, "void")
    returned = "Status" if method.returns else returned
    return [*doc, f"{method.lower_camel('js')}({parameters}): {returned};"]


def emit(tables: t.Tables) -> dict[str, str]:
    """Returns the text of each generated file, by path."""
    return {
        f"{FOLDER}/enums.js": enums_text(tables),
        f"{FOLDER}/structs.js": structs_text(tables),
        f"{FOLDER}/types.d.ts": types_text(tables),
        PACKAGE: package_text(tables),
        **with_methods(tables, method_lines, SOURCES, CLASSES, indent="  "),
        **with_methods(tables, type_lines, SOURCES, dict.fromkeys(CLASSES, "index.d.ts"), indent="  ", is_spaced=False),
    }
