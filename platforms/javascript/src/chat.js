import { SottoError, attempt, check, createObject, fill, integer, readInfo } from "./convert.js";
import { ChatFormat, Status } from "./generated/enums.js";
import { limitOf, readPiece } from "./session.js";

/**
 * A conversation over a session. The session's sampler and grammar apply to the replies. The format is a predefined one
 * (ChatFormat), or the text of a format.
 */
export class Chat {
  constructor(session, format = ChatFormat.PLAIN, params = {}) {
    const { instance } = session;
    const { exports } = instance;
    if (!session.handle) throw new SottoError(Status.INVALID_STATE, "the session is closed");
    this.session = session;
    this.instance = instance;
    const text = typeof format === "string" ? format
      : instance.textToEnd(exports.sotto_chat_format_text(integer(format, "i32", "format")));
    const made = instance.withScratch((scratch) => {
      const given = fill(scratch, "ChatParams", params);
      const { address, size: formatSize } = scratch.text(text);
      return createObject(instance, scratch,
        (size, error) => exports.sotto_chat_memory_size(session.handle, given, size, error),
        (memory, size, handle, error) =>
          exports.sotto_chat_init(session.handle, given, address, formatSize, memory, size, handle, error));
    });
    this.memory = made.memory;
    this.handle = made.handle;
  }

  // Methods of sotto_chat, written by capi/generate from capi/params.

  /** Sets the stops of the session, and adds the string that ends a reply. */
  setStops(params = {}) {
    this.#attempt((scratch, error) =>
      this.instance.exports.sotto_chat_set_stops(this.handle, fill(scratch, "StopParams", params), error));
  }

  /** Adds a message. A system message replaces an earlier one. */
  add(role, text) {
    this.#attempt((scratch, error) => {
      const textBytes = scratch.text(text, "text");
      return this.instance.exports.sotto_chat_add(this.handle, integer(role, "i32", "role"), textBytes.address,
                                                  textBytes.size, error);
    });
  }

  /** Removes all messages. */
  reset() {
    this.#check();
    this.instance.exports.sotto_chat_reset(this.handle);
  }

  /** Returns the state of the conversation. */
  get info() {
    this.#check();
    return readInfo(this.instance, "ChatInfo", (info) =>
      this.instance.exports.sotto_chat_get_info(this.handle, info));
  }

  /** Removes the last turn. */
  undo() {
    this.#attempt((scratch, error) => this.instance.exports.sotto_chat_undo(this.handle, 0, error));
  }

  /** Removes the last reply. Another one can then be generated. */
  undoReply() {
    this.#attempt((scratch, error) => this.instance.exports.sotto_chat_undo(this.handle, 1, error));
  }

  /**
   * Generates a reply. Calls `onPiece` with each piece until it returns true. Returns the reason why the text ended.
   * Nothing else runs in this thread until then. By default there is no limit.
   */
  replyWith({ maxTokens, onPiece = () => false } = {}) {
    const number = this.instance.addCallback((piece) => onPiece(readPiece(this.instance, piece)) === true);
    try {
      return this.#attempt((scratch, error) =>
        this.instance.exports.sotto_chat_reply(this.handle, limitOf(maxTokens), this.instance.exports.piece_callback(),
                                               number, error));
    } finally {
      this.instance.removeCallback(number);
    }
  }

  /** Returns the messages as bytes, the same on every platform. */
  save() {
    let bytes;
    this.#evaluate((scratch) => {
      const size = scratch.zeros(4);
      this.instance.exports.sotto_chat_save(this.handle, 0, 0, size);
      const capacity = this.instance.u32(size);
      const data = scratch.allocate(capacity);
      const status = this.instance.exports.sotto_chat_save(this.handle, data, capacity, size);
      bytes = this.instance.bytes(data, capacity);
      return status;
    });
    return bytes;
  }

  /** Restores saved messages. The state is validated, so it may come from an untrusted source. */
  restore(state) {
    this.#attempt((scratch, error) => {
      const stateBytes = scratch.text(state, "state");
      return this.instance.exports.sotto_chat_restore(this.handle, stateBytes.address, stateBytes.size, error);
    });
  }

  // End of the generated methods.

  /**
   * Generates a reply and returns its text when it is complete. `onPiece` receives each piece, and ends the reply by
   * returning true.
   */
  reply({ maxTokens, onPiece = () => false } = {}) {
    const texts = [];
    const receive = (piece) => {
      texts.push(piece.text);
      return onPiece(piece);
    };
    this.replyWith({ maxTokens, onPiece: receive });
    return texts.join("");
  }

  /** Frees the conversation's memory; the session stays. */
  close() {
    if (this.handle) this.instance.release(this.memory);
    this.handle = 0;
  }

  #check() {
    if (!this.handle || !this.session.handle) {
      throw new SottoError(Status.INVALID_STATE, "the conversation or its session is closed");
    }
  }

  #attempt(call) {
    this.#check();
    return attempt(this.instance, call);
  }

  #evaluate(call) {
    this.#check();
    this.instance.withScratch((scratch) => check(call(scratch)));
  }
}
