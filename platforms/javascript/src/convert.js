// Parameters as structs in the memory of the module, structs as objects, and statuses as exceptions.
import { Status } from "./generated/enums.js";
import { structs } from "./generated/structs.js";
import { describe } from "./module.js";

const NO_OFFSET = 2n ** 64n - 1n;
const LIMITS = { u8: [0, 255], i32: [-(2 ** 31), 2 ** 31 - 1], u32: [0, 2 ** 32 - 1], u64: [0, Number.MAX_SAFE_INTEGER] };
const ELEMENT_BYTES = { i32: 4, u32: 4, text: 8, tokens: 8, tokenBias: 8, sequenceBias: 16 };

/** A call that failed: `status` is a value of Status, and `offset` the byte of the input, if any. */
export class SottoError extends Error {
  constructor(status, message, offset = null) {
    const name = Object.keys(Status).find((key) => Status[key] === status);
    super(message || `the call failed with ${name ?? status}`);
    this.name = "SottoError";
    this.status = status;
    this.offset = offset;
  }
}

/** Returns an integer within the limits of its type. */
export function integer(value, form, name) {
  const [low, high] = LIMITS[form];
  if (form === "u64" && typeof value === "bigint" && value >= 0n && value < 2n ** 64n) return value;
  if (!Number.isInteger(value) || value < low || value > high) {
    throw new RangeError(`${name} is ${describe(value)}; it must be an integer from ${low} to ${high}`);
  }
  return value;
}

function number(value, name) {
  if (typeof value !== "number") throw new TypeError(`${name} is ${describe(value)}; it must be a number`);
  return value;
}

/** Copies integers of 4 bytes, such as tokens. */
export function copyIntegers(scratch, values, name, form = "i32") {
  if (typeof values !== "object" || values === null || typeof values.length !== "number") {
    throw new TypeError(`${name} is ${describe(values)}; it must be an array`);
  }
  const checked = Array.from(values, (value, i) => integer(value, form, `${name}[${i}]`));
  const address = scratch.allocate(4 * checked.length);
  scratch.instance.views[form].set(checked, address >>> 2);
  return { address, count: checked.length };
}

function copyElements(scratch, form, values, name) {
  if (form === "i32" || form === "u32") return copyIntegers(scratch, values, name, form);
  if (!Array.isArray(values)) throw new TypeError(`${name} is ${describe(values)}; it must be an array`);
  const address = scratch.zeros(ELEMENT_BYTES[form] * values.length);
  values.forEach((value, i) => {
    const at = (address + i * ELEMENT_BYTES[form]) >>> 2;
    const each = `${name}[${i}]`;
    const setList = (tokens) => {
      const list = copyIntegers(scratch, tokens, each);
      scratch.instance.views.u32.set([list.address, list.count], at);
    };
    if (form === "text") {
      const text = scratch.text(value, each);
      scratch.instance.views.u32.set([text.address, text.size], at);
    } else if (form === "tokens") {
      setList(value);
    } else if (form === "tokenBias") {
      scratch.instance.views.i32[at] = integer(value[0], "i32", each);
      scratch.instance.views.f32[at + 1] = number(value[1], each);
    } else {
      setList(value[0]);
      scratch.instance.views.f32[at + 2] = number(value[1], each);
    }
  });
  return { address, count: values.length };
}

/**
 * Returns the address of a struct with the library's defaults and the given parameters. `callbacks` receives the numbers
 * of functions that stay registered.
 */
export function fill(scratch, kind, params = {}, callbacks = []) {
  const { size, init, fields } = structs[kind];
  const { instance } = scratch;
  const address = scratch.zeros(size);
  instance.exports[init](address, size);
  for (const [name, value] of Object.entries(params)) {
    if (!Object.hasOwn(fields, name)) throw new TypeError(`there is no parameter ${name} among those of ${kind}`);
    if (value === undefined || value === null) continue;
    const [offset, form, detail, other] = fields[name];
    const at = address + offset;
    if (form === "f32" || form === "f64") {
      instance.views[form][at / (form === "f32" ? 4 : 8)] = number(value, name);
    } else if (form === "bool") {
      instance.views.u32[at >>> 2] = value ? 1 : 0;
    } else if (form === "u64") {
      instance.views.u64[at >>> 3] = BigInt(integer(value, form, name));
    } else if (form === "text") {
      const text = scratch.text(value, name);
      instance.views.u32.set([text.address, text.size], at >>> 2);
    } else if (form === "array") {
      const { address: elements, count } = copyElements(scratch, detail, value, name);
      instance.views.u32[at >>> 2] = elements;
      if (other !== null) instance.views.u32[(address + other) >>> 2] = count;
    } else if (form === "params") {
      const nested = fill(scratch, detail, value, callbacks);
      instance.views.u32[at >>> 2] = nested;
    } else if (form === "callback") {
      if (typeof value !== "function") throw new TypeError(`${name} is ${describe(value)}; it must be a function`);
      const number = instance.addCallback(value);
      callbacks.push(number);
      instance.views.u32[at >>> 2] = instance.exports[`${detail}_callback`]();
      instance.views.u32[(address + other) >>> 2] = number;
    } else {
      instance.views[form][at >>> 2] = integer(value, form, name);
    }
  }
  return address;
}

/** Returns a struct that the library has filled in as an object. */
export function read(instance, kind, address) {
  const object = {};
  for (const [name, [offset, form]] of Object.entries(structs[kind].fields)) {
    const at = address + offset;
    if (form === "bool") object[name] = instance.views.u32[at >>> 2] !== 0;
    else if (form === "u64") object[name] = Number(instance.views.u64[at >>> 3]);
    else if (form === "f64") object[name] = instance.views.f64[at >>> 3];
    else object[name] = instance.views[form][at >>> 2];
  }
  return object;
}

/** Calls a function `get(handle, info)` and returns the information. */
export function readInfo(instance, kind, get) {
  return instance.withScratch((scratch) => {
    const address = scratch.zeros(structs[kind].size);
    instance.views.u32[address >>> 2] = structs[kind].size;
    check(get(address));
    return read(instance, kind, address);
  });
}

/** An error of the C API, for functions with such a parameter. */
export class ErrorSlot {
  constructor(scratch) {
    this.instance = scratch.instance;
    this.address = scratch.zeros(structs.Error.size);
    this.instance.views.u32[this.address >>> 2] = structs.Error.size;
  }

  /** The byte of the input that the failure has, or null. */
  offset() {
    const offset = this.instance.views.u64[(this.address + structs.Error.fields.offset[0]) >>> 3];
    return offset === NO_OFFSET ? null : Number(offset);
  }

  /** Throws if the status is a failure, and otherwise returns it. */
  check(status) {
    this.instance.throwFirst();
    if (status >= 0) return status;
    const { fields } = structs.Error;
    const message = this.instance.textToEnd(this.address + fields.message[0]);
    throw new SottoError(status, message, this.offset());
  }
}

/** Throws if the status is a failure, and otherwise returns it. */
export function check(status) {
  if (status < 0) throw new SottoError(status);
  return status;
}

/** Calls call(scratch, error), which returns a status, and throws if it is a failure. */
export function attempt(instance, call) {
  return instance.withScratch((scratch) => {
    const error = new ErrorSlot(scratch);
    return error.check(call(scratch, error.address));
  });
}

/**
 * Initializes an object in memory of its own: measure(sizeAddress, error) and init(memory, size, handleAddress, error)
 * return statuses.
 */
export function createObject(instance, scratch, measure, init) {
  const error = new ErrorSlot(scratch);
  const result = scratch.zeros(8);
  error.check(measure(result, error.address));
  const size = instance.u32(result);
  const memory = instance.allocate(size);
  try {
    error.check(init(memory, size, result, error.address));
  } catch (failure) {
    instance.release(memory);
    throw failure;
  }
  return { memory, size, handle: instance.u32(result) };
}
