"""Emits the generated files of the Swift binding: enums, parameters and information, with conversions to and from C;
methods."""
from bindings import MARK, counts_its_own, documentation, info_structs, params_structs, public_enums, visible, wrap
from methods import OBJECTS, with_methods
from tables import Tables, snake_to_camel, snake_to_lower_camel

ARRAYS = {"bytes": "[UInt8]", "floats": "[Float]", "embedding": "[Float]"}
# Added to the documentation of methods that return these, or have a limit on the number of tokens.
NOTES = {
    "status": "Returns ok or stopCancelled.",
    "stop": "Calls `onPiece` with each piece until it returns true, on the calling thread. Returns the reason why the "
            "text ended.",
    "limit": "There is no limit if `maxTokens` is nil.",
}
KINDS = {"text": "String", "bytes": "[UInt8]", "tokens": "[Token]", "limit": "Int?",
         "pieces": "((Piece) throws -> Bool)?"}
# Swift's words for NULL, 1 and 0 in documentation.
WORDS_OF_C = ("nil", "true", "false")
FOLDER = "platforms/swift/Sources/Sotto/Generated"
NAMES = {"sotto_isa": "InstructionSet", "sotto_json_space": "JSONSpace"}  # in place of the name in C
NUMBERS = {"int32_t": "Int32", "uint32_t": "UInt32", "uint64_t": "UInt64", "float": "Float", "double": "Double",
           "sotto_token": "Token"}
# C element type: Swift element type, and the method of the arena that copies an array of them.
ELEMENTS = {"sotto_text": ("String", "texts"), "sotto_token": ("Token", "tokens"), "uint32_t": ("UInt32", ""),
            "sotto_stage": ("Stage", "stages"), "sotto_token_list": ("[Token]", "tokenLists"),
            "sotto_token_bias": ("TokenBias", "tokenBiases"), "sotto_sequence_bias": ("SequenceBias", "sequenceBiases")}
CALLBACKS = {"sotto_log_fn": "(LogLevel, String) -> Void",
             "sotto_logits_fn": "(UnsafeMutableBufferPointer<Float>) throws -> Void",
             "sotto_logits_processor_fn": "([Token], UInt32, UnsafeMutableBufferPointer<Float>) throws -> Void",
             "sotto_similarity_fn": "([Token], [Token]) throws -> Double",
             "sotto_step_fn": "(UInt32, Token) throws -> Bool",
             "sotto_draft_fn": "([Token], [Float]?, Int) throws -> [Token]"}
KEYWORDS = {"default", "internal"}


def swift_name(c_name):
    if c_name in NAMES:
        return NAMES[c_name]
    return snake_to_camel(c_name.removeprefix("sotto_")).replace("Params", "Parameters")


def case_name(value):
    name = snake_to_lower_camel(value.name)
    return f"`{name}`" if name in KEYWORDS else name


def doc(text, indent=""):
    return wrap(text, indent + "/// ")


def enum_lines(enum):
    name = swift_name(enum.name)
    if not enum.flags and enum.name != "sotto_status":
        lines = [*doc(enum.doc), f"public enum {name}: Int32, Sendable {{"]
        for value in enum.values:
            lines += [*doc(value.doc, "  "), f"  case {case_name(value)} = {value.value}"]
        return [*lines, "}", ""]
    raw, protocols = ("UInt32", "OptionSet") if enum.flags else ("Int32", "RawRepresentable, Hashable")
    lines = [*doc(enum.doc), f"public struct {name}: {protocols}, Sendable {{", f"  public let rawValue: {raw}",
             f"  public init(rawValue: {raw}) {{ self.rawValue = rawValue }}", ""]
    for value in enum.values:
        lines += [*doc(value.doc, "  "), f"  public static let {case_name(value)} = {name}(rawValue: {value.value})"]
    return [*lines, "}", ""]


def swift_type(field):
    if field.kind == "bool":
        return "Bool"
    if field.kind in ("enum", "flags"):
        return swift_name(field.type)
    if field.kind in ("number", "token"):
        return NUMBERS[field.type]
    if field.kind == "struct":
        return "String?"
    if field.kind == "array":
        return f"[{ELEMENTS[field.type][0]}]" + ("" if counts_its_own(field) else "?")
    if field.kind == "callback":
        return f"({CALLBACKS[field.type]})?"
    return swift_name(field.type) + "?"


def from_c(field, is_info=False):
    """Returns the Swift expression for a field of `c`, or None if the library does not set it."""
    if field.kind == "bool":
        return f"c.{field.name} != 0"
    if field.kind == "enum":
        return f"{swift_name(field.type)}(rawValue: c.{field.name})" + ("" if is_info else "!")
    if field.kind == "flags":
        return f"{swift_name(field.type)}(rawValue: c.{field.name})"
    if field.kind in ("number", "token"):
        return f"c.{field.name}"
    if field.kind == "array" and field.type == "sotto_text":
        return f"texts(c.{field.name}, c.{field.count})"
    return None


def to_c(field):
    """Returns the statements that set a field of `c`. Callbacks, objects and nested parameters are set elsewhere."""
    name = field.lower_camel
    if field.kind == "bool":
        return [f"c.{field.name} = {name} ? 1 : 0"]
    if field.kind in ("enum", "flags"):
        return [f"c.{field.name} = {name}.rawValue"]
    if field.kind in ("number", "token"):
        return [f"c.{field.name} = {name}"]
    if field.kind == "struct":
        return [f"if let {name} {{ c.{field.name} = arena.text({name}) }}"]
    if field.kind == "array" and counts_its_own(field):
        return [f"c.{field.name} = arena.{ELEMENTS[field.type][1]}({name})", f"c.{field.count} = {name}.count"]
    return []


def params_lines(struct):
    fields = visible(struct)
    arena = "_ arena: Arena" if any(field.kind in ("array", "struct") for field in fields) else ""
    lines = [*doc(struct.doc), f"public struct {swift_name(struct.name)} {{"]
    for field in fields:
        is_empty = field.kind == "array" and counts_its_own(field) and not from_c(field)
        lines += [*doc(documentation(field, *WORDS_OF_C), "  "),
                  f"  public var {field.lower_camel}: {swift_type(field)}" + (" = []" if is_empty else "")]
    begin = [f"    var c = {struct.name}()", f"    {struct.name}_init(&c, MemoryLayout<{struct.name}>.stride)"]
    lines += ["", "  /// Sets all properties to the defaults of the library.", "  public init() {", *begin]
    copies = [f"    {field.lower_camel} = {from_c(field)}" for field in fields if from_c(field)]
    lines += copies
    if struct.name == "sotto_sampler_params":
        lines += ["  }", "", "  /// Sets the parameters for a purpose, and all others to the defaults of the library.",
                  "  public init(preset: Preset) {", *begin,
                  f"    sotto_sampler_params_init_preset(&c, MemoryLayout<{struct.name}>.stride, preset.rawValue)",
                  *copies]
    lines += ["  }", "", f"  func filled({arena}) -> {struct.name} {{", *begin]
    lines += [f"    {statement}" for field in fields for statement in to_c(field)]
    return [*lines, "    return c", "  }", "}", ""]


def info_lines(struct):
    fields = visible(struct)
    lines = [*doc(struct.doc), f"public struct {swift_name(struct.name)}: Sendable {{"]
    for field in fields:
        # A later version may add values to every enum; a status is a struct, which can hold them.
        optional = "?" if field.kind == "enum" and field.type != "sotto_status" else ""
        lines += [*doc(documentation(field, *WORDS_OF_C), "  "),
                  f"  public let {field.lower_camel}: {swift_type(field)}{optional}"]
    lines += ["", f"  init(_ c: {struct.name}) {{"]
    lines += [f"    {field.lower_camel} = {from_c(field, True)}" for field in fields]
    return [*lines, "  }", "}", ""]


def method_lines(method):
    def type_of(argument):
        if argument.kind != "number":
            return KINDS.get(argument.kind) or swift_name(argument.type)
        return "Int" if argument.type == "size_t" else NUMBERS[argument.type]

    def declared(argument):
        label, name = method.labels.get(argument.name, "_"), argument.lower_camel
        if argument.kind == "pieces":  # the name is that of the C callback
            return f"{name} receive: {type_of(argument)} = nil"
        if argument.kind == "limit" and argument.is_optional:
            return f"{name}: {type_of(argument)} = nil"
        default = case_name(argument.default) if argument.kind == "enum" and argument.default else argument.default
        default = f".{default}" if argument.kind == "enum" and default else default
        return f"{name if label == name else f'{label} {name}'}: {type_of(argument)}" + (
            "" if default is None else f" = {default}")

    def passed_as(argument):
        if argument.kind == "text":
            return f"{argument.lower_camel}Bytes.text, {argument.lower_camel}Bytes.size"
        if argument.kind == "bytes":
            return f"{argument.lower_camel}, {argument.lower_camel}.count"
        if argument.kind == "tokens":
            return f"{argument.lower_camel}, {argument.lower_camel}.count"
        if argument.kind in ("params", "limit", "pieces"):
            callback = f"callback, {owner}callbacks.pointer"
            return {"params": "&given", "limit": "limit", "pieces": callback}[argument.kind]
        return argument.lower_camel + (".rawValue" if argument.kind == "enum" else "")

    owner = "session." if method.object == "chat" else ""
    returned = swift_name(method.info.name) if method.info else ARRAYS.get(method.array, "")
    if method.result:
        returned = "Int" if method.result == "size_t" else NUMBERS[method.result]
    returned = "Status" if method.returns else returned
    run = {"session": "run", "chat": "session.run", "matcher": "resource.run"}[method.object]
    is_named = (method.has_error or method.params is not None or method.array is not None
                or method.pieces is not None)
    handle = "handle" if method.object == "chat" else method.object if is_named else "$0"
    passed = [handle, *method.passed(passed_as)]
    passed += ["&info"] if method.info else ["&result"] if method.result else []
    passed += ["&details"] if method.has_error else []
    call = f"{method.function}({', '.join(passed)})"
    described = ", details" if method.has_error else f", of: {handle}" if method.is_described else ""
    if method.has_status:
        call = f"try check({call}{described})"
    lines = [*wrap(method.documentation(NOTES), "/// ", 118), *(["@discardableResult"] if method.returns else []),
             f"public func {method.lower_camel('swift')}({', '.join(map(declared, method.with_defaults_last))}) throws "
             f"{f'-> {returned} ' if returned else ''}{{"]
    if method.array == "floats":
        return [*lines[:-1], f"{lines[-1]} try floats({method.function}) }}"]
    has_arena = method.texts or method.params and method.params.has_lists
    if has_arena:
        lines.append("  let arena = Arena()")
    lines += [f"  let {a.lower_camel}Bytes = arena.text({a.lower_camel})" for a in method.texts]
    lines += [f"  let limit = try {owner}size(ofLimit: {method.limit.lower_camel})"] if method.limit else []
    if method.array == "embedding":
        call = call.replace(f"({', '.join(passed)})", f"({', '.join([*passed, '&embedding'])})")
        return [*lines, "  var embedding = [Float](repeating: 0, count: embeddingSize)", f"  try {run} {{ session in",
                f"    try checkWhole({call.removeprefix('try ')})", "  }", "  return embedding", "}"]
    if method.info:
        lines += [f"  var info = {method.info.name}()",
                  f"  info.struct_size = UInt32(MemoryLayout<{method.info.name}>.stride)"]
    if method.result:
        lines.append(f"  var result: {returned} = 0")
    given = "_ in " if method.object == "chat" else f"{method.object} in " if is_named else ""
    if method.params:
        filled = f"    var given = {method.params.lower_camel}.filled({'arena' if method.params.has_lists else ''})"
    if method.array:
        lines += [f"  try {run} {{ {given.strip()}", "    var size = 0",
                  f"    _ = {method.function}({', '.join([*passed, 'nil', '0', '&size'])})",
                  "    var bytes = [UInt8](repeating: 0, count: size)",
                  f"    try check({method.function}({', '.join([*passed, '&bytes', 'bytes.count', '&size'])})"
                  f"{described})",
                  "    return bytes", "  }"]
    elif method.has_error or method.params or method.pieces:
        pieces = [f"    {owner}callbacks.piece = receive", f"    defer {{ {owner}callbacks.piece = nil }}",
                  "    var callback: sotto_piece_fn?", "    if receive != nil { callback = onPiece }"]
        call = f"return {call}" if method.pieces else call
        lines += [f"  {'return ' if method.returns else ''}try {run} {{ {given.strip()}",
                  *(pieces if method.pieces else []), *([filled] if method.params else []),
                  *(["    var details = newError()"] if method.has_error else []), f"    {call}", "  }"]
    else:
        lines.append(f"  {'return ' if method.returns else ''}try {run} {{ {given}{call} }}")
    if has_arena:
        lines.append("  withExtendedLifetime(arena) {}")
    lines += [f"  return {returned}(info)"] if method.info else ["  return result"] if method.result else []
    return [*lines, "}"]


def emit(tables: Tables) -> dict[str, str]:
    """Returns the text of each generated file, by path."""
    def file(name, parts, head=("import CSotto", "")):
        lines = [line for part in parts for line in part]
        return {f"{FOLDER}/{name}.swift": "\n".join([f"// {MARK}", *head, *lines[:-1]]) + "\n"}

    return {**file("Constants", map(enum_lines, public_enums(tables)), ("",)),
            **file("Parameters", map(params_lines, params_structs(tables))),
            **file("Information", map(info_lines, info_structs(tables))),
            **with_methods(tables, method_lines, "platforms/swift/Sources/Sotto",
                           {name: f"{name.title()}.swift" for name in OBJECTS}, indent="  ")}
