import { ErrorSlot, SottoError, attempt, check, createObject, fill } from "./convert.js";
import { GrammarLanguage, Status } from "./generated/enums.js";
import { structs } from "./generated/structs.js";
import { describe } from "./module.js";

const COMPILE_LIMIT = 2 ** 29; // bytes for the compilation of a grammar

/** A compiled grammar of one model. It never changes, and belongs to the model's memory. */
export class Grammar {
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

  #users = 1;
  #closed = false;

  constructor(instance, { memory, size }) {
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
    this.retain();
    this.release();
    return this.instance.bytes(this.memory, this.size);
  }

  /** Frees the grammar as soon as no session uses it. */
  close() {
    if (this.#closed) return;
    this.#closed = true;
    this.release();
  }

  retain() {
    if (this.#closed) throw new SottoError(Status.INVALID_STATE, "the grammar is closed");
    this.#users += 1;
  }

  release() {
    this.#users -= 1;
    if (this.#users === 0) this.instance.release(this.memory);
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

/** The state of a session's text under a grammar. */
export class Matcher {
  constructor(model, grammar, params) {
    const { instance } = model;
    const { exports } = instance;
    if (!(grammar instanceof Grammar)) {
      throw new TypeError(`the grammar is ${describe(grammar)}; it must be a Grammar, such as Grammar.compile(model, source)`);
    }
    if (grammar.instance !== instance) {
      throw new SottoError(Status.INVALID_ARGUMENT, "the grammar was compiled for another model");
    }
    this.instance = instance;
    this.grammar = grammar;
    grammar.retain();
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
      this.release();
      throw failure;
    }
  }

  /** Constrains a session from now on. */
  attach(session) {
    attempt(this.instance, (scratch, error) =>
      this.instance.exports.sotto_session_set_matcher(session, this.handle, error));
  }

  release() {
    for (const memory of this.memories.splice(0)) this.instance.release(memory);
    this.grammar.release();
  }
}
