// The WebAssembly module and its memory. Each model has an instance of its own, whose memory the garbage collector
// frees as a whole.

// A module with an instruction of relaxed SIMD (i8x16.relaxed_swizzle), which other engines reject.
const RELAXED = Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 15, 1, 13, 0, 65, 1,
  253, 15, 65, 2, 253, 15, 253, 128, 2, 11);
const MAIN = new URL("../wasm/sotto.wasm", import.meta.url);
const RELAXED_KERNELS = new URL("../wasm/sotto-relaxed-simd.wasm", import.meta.url);
const TABLE_SIZE = 4096; // functions of both modules; the second begins at 1024
const compiled = new Map();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true }); // keeps U+FEFF at the start of a text
const encoder = new TextEncoder();

export const isNode = typeof process === "object" && Boolean(process.versions?.node);

/** The kernels that this engine can run: "relaxed_simd" or "simd128". */
export function bestKernels() {
  return WebAssembly.validate(RELAXED) ? "relaxed_simd" : "simd128";
}

async function compile(url) {
  if (isNode && url.protocol === "file:") {
    const { readFile } = await import("node:fs/promises");
    return WebAssembly.compile(await readFile(url));
  }
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url}: status ${response.status}`);
  // Servers that do not know the type of .wasm files prevent compileStreaming.
  const isTyped = response.headers.get("content-type")?.startsWith("application/wasm");
  return isTyped ? WebAssembly.compileStreaming(response) : WebAssembly.compile(await response.arrayBuffer());
}

/** Compiles a module, once. */
function compileOnce(url) {
  if (!compiled.has(url)) {
    const module = compile(url);
    module.catch(() => compiled.delete(url));
    compiled.set(url, module);
  }
  return compiled.get(url);
}

export class Instance {
  static async create(kernels) {
    if (kernels !== "simd128" && kernels !== "relaxed_simd") {
      throw new RangeError(`kernels is ${describe(kernels)}; it must be simd128 or relaxed_simd`);
    }
    const modules = [MAIN, ...(kernels === "relaxed_simd" ? [RELAXED_KERNELS] : [])];
    const [main, relaxed] = await Promise.all(modules.map(compileOnce));
    const instance = new Instance();
    const { exports } = await WebAssembly.instantiate(main, instance.#imports(main));
    instance.exports = exports;
    instance.memory = exports.memory;
    exports._initialize();
    if (relaxed) {
      const { memory, __indirect_function_table } = exports;
      __indirect_function_table.grow(TABLE_SIZE - __indirect_function_table.length);
      const second = await WebAssembly.instantiate(relaxed, { env: { memory, __indirect_function_table } });
      instance.#kernels = second.exports.kernels();
    }
    return instance;
  }

  #kernels = 0; // the address of their row in the table of kernels
  #views = null;
  #callbacks = new Map();
  #callbackCount = 0;
  #thrown = [];

  // ---- Memory

  /** Views of the memory, which change when it grows, so they are not kept over a call. */
  get views() {
    const { buffer } = this.memory;
    if (this.#views?.u8.buffer !== buffer) {
      this.#views = {
        u8: new Uint8Array(buffer), i32: new Int32Array(buffer), u32: new Uint32Array(buffer),
        f32: new Float32Array(buffer), f64: new Float64Array(buffer), u64: new BigUint64Array(buffer),
      };
    }
    return this.#views;
  }

  allocate(size) {
    const address = this.exports.allocate(size) >>> 0;
    if (address === 0) {
      throw new RangeError(`${size} bytes of memory are not available; WebAssembly has at most 4 GiB`);
    }
    return address;
  }

  release(address) {
    this.exports.release(address);
  }

  /** Calls run(scratch), whose allocations are freed afterwards. */
  withScratch(run) {
    const scratch = new Scratch(this);
    try {
      return run(scratch);
    } finally {
      scratch.release();
    }
  }

  bytes(address, size) {
    return this.views.u8.slice(address >>> 0, (address >>> 0) + size);
  }

  text(address, size) {
    return decoder.decode(this.bytes(address, size));
  }

  textToEnd(address) {
    return this.text(address, this.views.u8.indexOf(0, address >>> 0) - (address >>> 0));
  }

  u32(address) {
    return this.views.u32[address >>> 2];
  }

  // ---- Callbacks

  /** Registers a function for the imported callbacks and returns its number, which C passes as user data. */
  addCallback(call) {
    this.#callbacks.set(++this.#callbackCount, call);
    return this.#callbackCount;
  }

  removeCallback(number) {
    this.#callbacks.delete(number);
  }

  /** Throws the first exception of a callback, which could not pass through the module. */
  throwFirst() {
    const [first] = this.#thrown.splice(0);
    if (first) throw first.error;
  }

  #guarded(call, failed) {
    try {
      return call();
    } catch (error) {
      this.#thrown.push({ error });
      return failed;
    }
  }

  #imports(module) {
    const imports = {
      sotto: {
        kernels: () => this.#kernels,
        piece: (user, piece) => this.#guarded(() => (this.#callbacks.get(user)(piece >>> 0) ? 1 : 0), 1),
        logits: (user, logits, count) => {
          this.#guarded(() => this.#callbacks.get(user)(this.views.f32.subarray(logits >>> 2, (logits >>> 2) + count)));
        },
        processor: (user, tokens, tokenCount, sequence, logits, count) => {
          const { i32, f32 } = this.views;
          const before = i32.slice(tokens >>> 2, (tokens >>> 2) + tokenCount);
          const values = f32.subarray(logits >>> 2, (logits >>> 2) + count);
          this.#guarded(() => this.#callbacks.get(user)(before, sequence >>> 0, values));
        },
        log: (user, level, text) => {
          this.#guarded(() => this.#callbacks.get(user)(level, this.textToEnd(text)));
        },
      },
      wasi_snapshot_preview1: {
        clock_time_get: (clock, precision, result) => {
          this.views.u64[result >>> 3] = BigInt(Math.round(performance.now() * 1e6));
          return 0;
        },
      },
    };
    for (const { module: from, name } of WebAssembly.Module.imports(module)) {
      imports[from] ??= {};
      imports[from][name] ??= () => {
        throw new Error(`the module of sotto called ${name}`);
      };
    }
    return imports;
  }
}

/** Memory for the arguments of a call. */
export class Scratch {
  #addresses = [];

  constructor(instance) {
    this.instance = instance;
  }

  allocate(size) {
    const address = this.instance.allocate(size);
    this.#addresses.push(address);
    return address;
  }

  zeros(size) {
    const address = this.allocate(size);
    this.instance.views.u8.fill(0, address, address + size);
    return address;
  }

  copy(bytes) {
    const address = this.allocate(bytes.length);
    this.instance.views.u8.set(bytes, address);
    return address;
  }

  /** Copies text as UTF-8, or bytes as they are. */
  text(value, name = "the text") {
    if (typeof value !== "string" && !(value instanceof Uint8Array)) {
      throw new TypeError(`${name} is ${describe(value)}; it must be a string or a Uint8Array`);
    }
    const bytes = typeof value === "string" ? encoder.encode(value) : value;
    return { address: this.copy(bytes), size: bytes.length };
  }

  release() {
    for (const address of this.#addresses.splice(0)) this.instance.release(address);
  }
}

export function describe(value) {
  return typeof value === "string" ? JSON.stringify(value) : String(value);
}

