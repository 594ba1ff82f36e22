import { ErrorSlot, SottoError, check, createObject, fill, integer, readInfo } from "./convert.js";
import { GrammarLanguage, Status } from "./generated/enums.js";
import { structs } from "./generated/structs.js";
import { describe } from "./module.js";

const COMPILE_LIMIT = 2 ** 29; // bytes for the compilation of a grammar

// Methods that only the package itself calls.
export const ATTACH = Symbol("attach");
export const DETACH = Symbol("detach");
const CHECK_OPEN = Symbol("checkOpen");
const RETAIN = Symbol("retain");
const RELEASE = Symbol("release");
const FREE = Symbol("free");

/** An object whose memory is freed as soon as it is closed and no other object uses it. */
class Shared {
  #users = 1;
  #closed = false;
  #name;

  constructor(name) {
    this.#name = name;
  }

  /** Frees the object as soon as no other object uses it. */
  close() {
    if (this.#closed) return;
    this.#closed = true;
    this[RELEASE]();
  }

  [CHECK_OPEN]() {
    if (this.#closed) throw new SottoError(Status.INVALID_STATE, `the ${this.#name} is closed`);
  }

  [RETAIN]() {
    this[CHECK_OPEN]();
    this.#users += 1;
  }

  [RELEASE]() {
    this.#users -= 1;
    if (this.#users === 0) this[FREE]();
  }
}

/** A compiled grammar of one model. It never changes, and belongs to the model's memory. */
export class Grammar extends Shared {
  /** Compiles a source for a model: GBNF, or the language of the parameters. */
  static compile(model, source, params = {}) {
    const { instance } = model;
    if (!instance) throw new SottoError(Status.INVALID_STATE, "the model is closed");
    const { exports } = instance;
    return instance.withScratch((scratch) => {
      const error = new ErrorSlot(scratch);
      const text = scratch.text(source, "the source");
      const given = fill(scratch, "GrammarParams", params);
      const result = scratch.zeros(8);
      let status = Status.GRAMMAR_TOO_LARGE;
      let size = Math.min(exports.sotto_grammar_typical_memory(text.size), COMPILE_LIMIT);
      for (; ; size = Math.min(8 * size, COMPILE_LIMIT)) {
        const memory = instance.allocate(size);
        try {
          status = exports.sotto_grammar_compile(text.address, text.size, given, memory, size, result, result + 4,
            error.address);
          if (status >= 0) return new Grammar(instance, imageOf(instance, instance.u32(result)));
        } finally {
          instance.release(memory);
        }
        const lacksMemory = status === Status.GRAMMAR_TOO_LARGE && error.offset() === null;
        if (!lacksMemory || size === COMPILE_LIMIT) return error.check(status);
      }
    });
  }

  /** Compiles a JSON Schema, given as text or as a value. */
  static jsonSchema(model, schema, params = {}) {
    const source = typeof schema === "string" ? schema : JSON.stringify(schema);
    return Grammar.compile(model, source, { ...params, language: GrammarLanguage.JSON_SCHEMA });
  }

  /** Compiles a regular expression, as text or a RegExp without flags, that the whole text must match. */
  static regex(model, pattern, params = {}) {
    if (pattern instanceof RegExp && pattern.flags) {
      throw new RangeError(`the flags of ${pattern} are not supported`);
    }
    const source = pattern instanceof RegExp ? pattern.source : pattern;
    return Grammar.compile(model, source, { ...params, language: GrammarLanguage.REGEX });
  }

  /** Compiles a choice between strings. */
  static choices(model, choices, params = {}) {
    return Grammar.compile(model, JSON.stringify(choices), { ...params, language: GrammarLanguage.CHOICES });
  }

  /** Compiles the grammar of any JSON value. */
  static json(model, params = {}) {
    return Grammar.compile(model, "", { ...params, language: GrammarLanguage.JSON });
  }

  /** Loads an image that `save` returned. It may come from an untrusted source. */
  static load(model, image) {
    if (!(image instanceof Uint8Array)) throw new TypeError(`the image is ${describe(image)}; it must be a Uint8Array`);
    const memory = model.instance.allocate(image.length);
    model.instance.views.u8.set(image, memory);
    return new Grammar(model.instance, { memory, size: image.length });
  }

  constructor(instance, { memory, size }) {
    super("grammar");
    this.instance = instance;
    this.memory = memory;
    this.size = size;
    try {
      instance.withScratch((scratch) => {
        const error = new ErrorSlot(scratch);
        const result = scratch.zeros(4);
        error.check(instance.exports.sotto_grammar_load(memory, size, result, error.address));
        this.handle = instance.u32(result);
      });
    } catch (failure) {
      instance.release(memory);
      throw failure;
    }
  }

  /** Returns the grammar as an image with the same bytes on every platform. */
  save() {
    this[CHECK_OPEN]();
    return this.instance.bytes(this.memory, this.size);
  }

  [FREE]() {
    this.instance.release(this.memory);
  }
}

/** Copies a compiled grammar, which occupies the compiler's working memory, into memory of its size. */
function imageOf(instance, compiled) {
  return instance.withScratch((scratch) => {
    const count = scratch.zeros(4);
    instance.exports.sotto_grammar_save(compiled, 0, 0, count);
    const size = instance.u32(count);
    const memory = instance.allocate(size);
    check(instance.exports.sotto_grammar_save(compiled, memory, size, count));
    return { memory, size };
  });
}

/** Follows text through a grammar and computes which tokens of the grammar's model may come next. */
export class Matcher extends Shared {
  #wordCount;
  #isSet = false;

  constructor(model, grammar, params = {}) {
    super("matcher");
    const { instance } = model;
    if (!instance) throw new SottoError(Status.INVALID_STATE, "the model is closed");
    const { exports } = instance;
    if (!(grammar instanceof Grammar)) {
      throw new TypeError(`the grammar is ${describe(grammar)}; it must be a Grammar, such as Grammar.compile(model, source)`);
    }
    if (grammar.instance !== instance) {
      throw new SottoError(Status.INVALID_ARGUMENT, "the grammar was compiled for another model");
    }
    this.instance = instance;
    this.grammar = grammar;
    this.#wordCount = Math.ceil(model.info.vocabularySize / 64);
    grammar[RETAIN]();
    this.memories = [];
    try {
      instance.withScratch((scratch) => {
        const words = scratch.zeros(structs.VocabularyParams.size);
        exports.sotto_vocabulary_params_init(words, structs.VocabularyParams.size);
        instance.views.u32[(words + structs.VocabularyParams.fields.model[0]) >>> 2] = model.handle;
        const vocabulary = createObject(instance, scratch,
          (size, error) => exports.sotto_vocabulary_memory_size(words, size, error),
          (memory, size, handle, error) => exports.sotto_vocabulary_init(words, memory, size, handle, error));
        this.memories.push(vocabulary.memory);
        const given = fill(scratch, "MatcherParams", params);
        const made = createObject(instance, scratch,
          (size, error) => exports.sotto_matcher_memory_size(grammar.handle, vocabulary.handle, given, size, error),
          (memory, size, handle, error) =>
            exports.sotto_matcher_init(grammar.handle, vocabulary.handle, given, memory, size, handle, error));
        this.memories.push(made.memory);
        this.handle = made.handle;
      });
    } catch (failure) {
      this.close();
      throw failure;
    }
  }

  // Methods of sotto_matcher, written by capi/generate from capi/params.

  /** Makes a sequence empty again. */
  reset(sequence = 0) {
    this.#evaluate(() =>
      this.instance.exports.sotto_matcher_reset(this.handle, integer(sequence, "u32", "sequence")));
  }

  /** Appends a token to a sequence. The mask must allow the token. */
  acceptToken(token, sequence = 0) {
    this.#evaluate(() =>
      this.instance.exports.sotto_matcher_accept_token(this.handle, integer(sequence, "u32", "sequence"),
                                                       integer(token, "i32", "token")));
  }

  /** Appends text to a sequence. The text may begin and end inside a token. */
  acceptText(text, sequence = 0) {
    this.#evaluate((scratch) => {
      const textBytes = scratch.text(text, "text");
      return this.instance.exports.sotto_matcher_accept_text(this.handle, integer(sequence, "u32", "sequence"),
                                                             textBytes.address, textBytes.size);
    });
  }

  /** Rolls back the newest tokens or texts of sequence 0. */
  rewind(count) {
    this.#evaluate(() =>
      this.instance.exports.sotto_matcher_rewind(this.handle, BigInt(integer(count, "u64", "count"))));
  }

  /** Returns the state of a sequence. */
  info(sequence = 0) {
    this.#check();
    return readInfo(this.instance, "MatcherInfo", (info) =>
      this.instance.exports.sotto_matcher_get_info(this.handle, integer(sequence, "u32", "sequence"), info));
  }

  /** Makes the sequence `target` a copy of `source`. */
  fork(source, target) {
    this.#evaluate(() =>
      this.instance.exports.sotto_matcher_fork(this.handle, integer(source, "u32", "source"),
                                               integer(target, "u32", "target")));
  }

  // End of the generated methods.

  /** Returns the tokens that may come next: bit t % 64 of word t / 64 stands for token t. */
  mask(sequence = 0) {
    let words;
    this.#evaluate((scratch) => {
      const result = scratch.zeros(4);
      const status = this.instance.exports.sotto_matcher_borrow_mask(this.handle, integer(sequence, "u32", "sequence"), result);
      const first = this.instance.u32(result) >>> 3;
      if (status >= 0) words = this.instance.views.u64.slice(first, first + this.#wordCount);
      return status;
    });
    return words;
  }

  /** Returns the tokens that may come next as a list. */
  allowedTokens(sequence = 0) {
    const words = new Uint32Array(this.mask(sequence).buffer);
    const tokens = [];
    words.forEach((word, i) => {
      for (let bit = 0; bit < 32; ++bit) {
        if ((word >>> bit) & 1) tokens.push(32 * i + bit);
      }
    });
    return tokens;
  }

  /** Returns whether the sequence followed by the text can be completed, and whether it is complete. */
  test(text, sequence = 0) {
    let found;
    this.#evaluate((scratch) => {
      const { address, size } = scratch.text(text, "text");
      const result = scratch.zeros(8);
      const status = this.instance.exports.sotto_matcher_test(this.handle, integer(sequence, "u32", "sequence"), address,
        size, result, result + 4);
      found = { begins: this.instance.u32(result) === 1, matches: this.instance.u32(result + 4) === 1 };
      return status;
    });
    return found;
  }

  /** Returns whether sequence 0 followed by the text is complete under the grammar. */
  matches(text) {
    return this.test(text).matches;
  }

  /** Returns the bytes that must come next, at most `capacity` of them. */
  forcedText(sequence = 0, capacity = 4096) {
    let bytes;
    this.#evaluate((scratch) => {
      const text = scratch.allocate(integer(capacity, "u32", "capacity"));
      const size = scratch.zeros(4);
      const status = this.instance.exports.sotto_matcher_forced_text(this.handle, integer(sequence, "u32", "sequence"),
        text, capacity, size);
      bytes = this.instance.bytes(text, this.instance.u32(size));
      return status;
    });
    return bytes;
  }

  /** Reserves the matcher for a session, which alone uses it until it is detached. */
  [ATTACH]() {
    this.#check();
    this[RETAIN]();
    this.#isSet = true;
  }

  [DETACH]() {
    this.#isSet = false;
    this[RELEASE]();
  }

  [FREE]() {
    for (const memory of this.memories.splice(0)) this.instance.release(memory);
    this.grammar[RELEASE]();
  }

  #check() {
    this[CHECK_OPEN]();
    if (this.#isSet) throw new SottoError(Status.INVALID_STATE, "the matcher constrains a session");
  }

  #evaluate(call) {
    this.#check();
    this.instance.withScratch((scratch) => check(call(scratch)));
  }
}
