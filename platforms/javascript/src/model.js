import { ErrorSlot, SottoError, check, copyIntegers, createObject, fill, integer, readInfo } from "./convert.js";
import { Status } from "./generated/enums.js";
import { Instance, bestKernels, describe, isNode } from "./module.js";
import { ABANDON, Session } from "./session.js";

const TOKENIZE_SPECIAL = 1;
const SPARE_TOKENS = 8; // capacity of a buffer besides one token per two bytes

/** Opens a source as { size, read(view) }, where read fills a view of `size` bytes. */
async function openSource(source, onProgress) {
  const isText = typeof source === "string" || source instanceof URL;
  if (isText && isNode && !/^(https?|blob|data):/.test(String(source))) {
    const { open } = await import("node:fs/promises");
    const file = await open(String(source).startsWith("file:") ? new URL(source) : source);
    const { size } = await file.stat();
    const read = async (view) => {
      for (let done = 0; done < view().length;) {
        const { bytesRead } = await file.read(view(), done, Math.min(view().length - done, 1 << 26), done);
        if (bytesRead === 0) throw new Error(`${source} became shorter while it was read`);
        done += bytesRead;
        onProgress?.(done, size);
      }
    };
    return { size, read, close: () => file.close() };
  }
  const found = isText ? await fetch(source) : source;
  if (typeof Response === "function" && found instanceof Response) {
    if (!found.ok) throw new Error(`${found.url}: status ${found.status}`);
    return openResponse(found, onProgress);
  }
  const bytes = typeof Blob === "function" && found instanceof Blob ? await found.arrayBuffer() : found;
  if (!(bytes instanceof ArrayBuffer) && !ArrayBuffer.isView(bytes)) {
    throw new TypeError(`the model is ${describe(source)}; it must be a path, an address, bytes, a Blob or a Response`);
  }
  const array = ArrayBuffer.isView(bytes) ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    : new Uint8Array(bytes);
  return { size: array.length, read: async (view) => view().set(array), close: () => {} };
}

/** The body of a response goes straight to the module's memory if its size is known. */
async function openResponse(response, onProgress) {
  const length = Number(response.headers.get("content-length"));
  if (!length || response.headers.get("content-encoding")) {
    const bytes = new Uint8Array(await response.arrayBuffer());
    return { size: bytes.length, read: async (view) => view().set(bytes), close: () => {} };
  }
  const read = async (view) => {
    let done = 0;
    for (const reader = response.body.getReader(); ;) {
      const { value } = await reader.read();
      if (value === undefined) break;
      if (done + value.length > length) throw new Error(`${response.url} has more than the ${length} bytes it stated`);
      view().set(value, done);
      done += value.length;
      onProgress?.(done, length);
    }
    if (done < length) throw new Error(`${response.url} ended after ${done} of ${length} bytes`);
  };
  return { size: length, read, close: () => {} };
}

export class Model {
  /**
   * Opens a model: a path (Node.js), an address, bytes, a Blob or a Response. `options` may have the members of
   * ModelParams, `kernels`, and `onProgress(bytes, size)`.
   */
  static async open(source, options = {}) {
    const { kernels = bestKernels(), onProgress, ...params } = options;
    const instance = await Instance.create(kernels);
    const file = await openSource(source, onProgress);
    try {
      const address = instance.allocate(file.size);
      await file.read(() => instance.views.u8.subarray(address, address + file.size));
      return new Model(instance, address, file.size, params);
    } finally {
      await file.close();
    }
  }

  #sessions = new Set();

  constructor(instance, file, fileSize, params) {
    this.instance = instance;
    const { exports } = instance;
    const made = instance.withScratch((scratch) => {
      const given = fill(scratch, "ModelParams", params);
      return createObject(instance, scratch,
        (size, error) => exports.sotto_model_memory_size(file, fileSize, given, size, error),
        (memory, size, handle, error) =>
          exports.sotto_model_init(file, fileSize, given, memory, size, handle, error));
    });
    this.handle = made.handle;
    /** Bytes of memory of the model, with its file. */
    this.memoryBytes = made.size + fileSize;
    this.info = Object.freeze(readInfo(instance, "ModelInfo", (info) => exports.sotto_model_get_info(made.handle, info)));
  }

  /** Bytes of all memory of this model's module, which holds its sessions, too. */
  get totalBytes() {
    return this.#open().memory.buffer.byteLength;
  }

  /** The name of the instruction set in use. */
  get isa() {
    const instance = this.#open();
    return instance.textToEnd(instance.exports.sotto_isa_text(this.info.isa));
  }

  /** Returns the bytes of memory that a session would use. */
  sessionMemorySize(params = {}) {
    const instance = this.#open();
    return instance.withScratch((scratch) => {
      const error = new ErrorSlot(scratch);
      const size = scratch.zeros(4);
      const given = fill(scratch, "SessionParams", params);
      error.check(instance.exports.sotto_session_memory_size(this.handle, given, size, error.address));
      return instance.u32(size);
    });
  }

  session(params = {}) {
    const session = new Session(this, this.#open(), params, () => this.#sessions.delete(session));
    this.#sessions.add(session);
    return session;
  }

  /** Encodes text. With `special`, text such as <|endoftext|> becomes its special token. */
  tokenize(text, special = false) {
    const instance = this.#open();
    return instance.withScratch((scratch) => {
      const { address, size } = scratch.text(text);
      const count = scratch.zeros(4);
      const error = new ErrorSlot(scratch);
      const encode = (capacity) => {
        const tokens = scratch.allocate(4 * capacity);
        return { tokens, status: instance.exports.sotto_tokenize(this.handle, address, size, special ? TOKENIZE_SPECIAL : 0,
          tokens, capacity, count, error.address) };
      };
      let result = encode(Math.ceil(size / 2) + SPARE_TOKENS);
      if (result.status === Status.BUFFER_TOO_SMALL) result = encode(instance.u32(count));
      error.check(result.status);
      return Array.from(instance.views.i32.subarray(result.tokens >>> 2, (result.tokens >>> 2) + instance.u32(count)));
    });
  }

  /** Returns the bytes of tokens. */
  detokenize(tokens) {
    const instance = this.#open();
    tokens.forEach((token, i) => {
      if (!(token >= 0 && token < this.info.vocabularySize)) {
        throw new SottoError(Status.INVALID_ARGUMENT, `tokens[${i}] is ${describe(token)}; it must be at least 0 and less \
than ${this.info.vocabularySize}`);
      }
    });
    return instance.withScratch((scratch) => {
      const { address, count } = copyIntegers(scratch, tokens, "tokens");
      const capacity = count * this.info.maxTokenBytes;
      const bytes = scratch.allocate(capacity);
      const size = scratch.zeros(4);
      check(instance.exports.sotto_detokenize(this.handle, address, count, bytes, capacity, size));
      return instance.bytes(bytes, instance.u32(size));
    });
  }

  /** Returns the bytes of one token; they may begin or end inside a character. */
  tokenBytes(token) {
    return this.detokenize([token]);
  }

  /** Returns the flags of a token (TokenFlag). */
  tokenFlags(token) {
    const instance = this.#open();
    return instance.withScratch((scratch) => {
      const flags = scratch.zeros(4);
      check(instance.exports.sotto_token_flags(this.handle, integer(token, "i32", "token"), flags));
      return instance.u32(flags);
    });
  }

  /** Returns a text about the model (ModelTextKind), such as its chat template, or an empty text. */
  text(kind) {
    const instance = this.#open();
    return instance.withScratch((scratch) => {
      const result = scratch.zeros(8);
      check(instance.exports.sotto_model_text(this.handle, integer(kind, "i32", "kind"), result, result + 4));
      return instance.text(instance.u32(result), instance.u32(result + 4));
    });
  }

  /** Detects a watermark in tokens, under the parameters with which they were generated. */
  detectWatermark(tokens, params = {}) {
    const instance = this.#open();
    return instance.withScratch((scratch) => {
      const error = new ErrorSlot(scratch);
      const { address, count } = copyIntegers(scratch, tokens, "tokens");
      const given = fill(scratch, "WatermarkParams", params);
      return readInfo(instance, "WatermarkResult", (result) => error.check(instance.exports.sotto_watermark_detect(given,
        this.info.vocabularySize, address, count, result, error.address)));
    });
  }

  /** Closes the model and its sessions. Its memory is freed with the next garbage collection. */
  close() {
    for (const session of this.#sessions) session[ABANDON]();
    this.#sessions.clear();
    this.instance = null;
  }

  #open() {
    if (!this.instance) throw new SottoError(Status.INVALID_STATE, "the model is closed");
    return this.instance;
  }
}
