// Compares the speed and size of the npm package in a headless Chromium with wllama (llama.cpp) and transformers.js (ONNX
// Runtime), and its speed with the native library, with one thread each:
//
//     npm install --ignore-scripts SOTTO.tgz @wllama/wllama @huggingface/transformers    (in an empty directory)
//     node browser.mjs SOTTO NODE_MODULES PEERS
//
// SOTTO is the program, NODE_MODULES what npm installed, and PEERS the directory of setup.sh. In each round, all evaluate
// the same prompt and generate greedily, one after the other. Speed is per second of processor time, so that other work on
// the machine matters little. Prints a table in Markdown: the medians of tokens per second and of the ratios in each
// round, and the code that the page downloads, as it is and after gzip.
import { spawnSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { gzipSync } from "node:zlib";

import { Page, serve } from "../../../platforms/javascript/tests/chromium.mjs";

const PROMPT = Array.from({ length: 128 }, (_, i) => 100 + 7 * i); // tokens
const TOKENS = 64;
const ROUNDS = 5;
const [sotto, modules, models] = process.argv.slice(2);

// What runs in the page, with the packages that each needs.
const PACKAGES = {
  "npm package": ["sotto"],
  "wllama": ["@wllama/wllama"],
  "transformers.js": ["@huggingface/transformers", "onnxruntime-web"],
};

// Each function opens a model and returns a function that generates from a prompt and returns how many tokens it has
// evaluated and generated.
const HTML = `<!doctype html><title>peers</title><script type="module">
const programs = {
  async "npm package"() {
    const { Model } = await import("/modules/sotto/src/worker.js");
    const model = await Model.open("/models/gpt2.sotto");
    const session = await model.session({ contextTokens: 1024 });
    await session.setSampler({ temperature: 0, ignoreEnd: true });
    return async (prompt, maxTokens) => {
      await session.reset();
      let generated = 0;
      for await (const piece of session.pieces(prompt, { maxTokens })) ++generated;
      return [prompt.length, generated];
    };
  },
  async "wllama"() {
    const { Wllama } = await import("/modules/@wllama/wllama/esm/index.min.js");
    const address = new URL("/modules/@wllama/wllama/esm/wasm/wllama.wasm", location.href).href;
    const wllama = new Wllama({ default: address }, { suppressNativeLog: true });
    const model = await (await fetch("/models/gpt2-q8_0.gguf")).blob();
    await wllama.loadModel([model], { n_ctx: 1024, n_threads: 1, n_gpu_layers: 0 });
    return async (tokens, max_tokens) => {
      const prompt = "the words ".repeat(tokens.length).slice(0, tokens.length); // a token per byte
      const { timings } = await wllama.createCompletion({ prompt, max_tokens, temperature: 0, cache_prompt: false });
      return [timings.prompt_n, timings.predicted_n];
    };
  },
  async "transformers.js"() {
    const { AutoModelForCausalLM, Tensor, env } = await import("/modules/@huggingface/transformers/dist/transformers.min.js");
    Object.assign(env, { allowLocalModels: true, allowRemoteModels: false, localModelPath: "/models/", useBrowserCache: false });
    const { wasm } = env.backends.onnx;
    wasm.numThreads = 1;
    for (const [kind, address] of Object.entries(wasm.wasmPaths)) { // by default on a server for npm packages
      wasm.wasmPaths[kind] = new URL("/modules/onnxruntime-web/dist/" + address.split("/").at(-1), location.href).href;
    }
    const model = await AutoModelForCausalLM.from_pretrained("transformers.js", { dtype: "q8", device: "wasm" });
    const tensor = (values) => new Tensor("int64", BigInt64Array.from(values, BigInt), [1, values.length]);
    return async (prompt, max_new_tokens) => {
      const { dims } = await model.generate({ inputs: tensor(prompt), attention_mask: tensor(prompt.map(() => 1)),
        do_sample: false, max_new_tokens });
      return [prompt.length, dims[1] - prompt.length];
    };
  },
};
const opened = {};
globalThis.openProgram = async (name) => { opened[name] = await programs[name](); };
globalThis.run = (name, prompt, maxTokens) => opened[name](prompt, maxTokens);
</script>`;

/** Returns the seconds of processor time in which a program of the page generates tokens. */
async function secondsInPage(name, prompt, tokens) {
  const begin = await page.processorTime();
  const counts = await page.value(`run("${name}", ${JSON.stringify(prompt)}, ${tokens})`);
  if (counts[0] !== prompt.length || counts[1] !== tokens) throw new Error(`${name}: ${counts} tokens`);
  return await page.processorTime() - begin;
}

function secondsNative(isa, prompt, tokens) {
  const command = [sotto, "generate", "-m", path.join(models, "gpt2.sotto"), "--ids", ...prompt, "-n", tokens, "--greedy",
    "--ignore-eos", "--no-config", "--isa", isa];
  const done = spawnSync("bash", ["-c", 'TIMEFORMAT="%U %S"; time "$@" >/dev/null', "bash", ...command], { encoding: "utf8" });
  if (done.status !== 0) throw new Error(done.stderr);
  const [user, system] = done.stderr.trim().split("\n").at(-1).split(" ").map(Number);
  return user + system;
}

/** Returns tokens per second: of all but the first token of a prompt, and of all but the first of the text after it. */
async function measure(seconds) {
  const start = await seconds(PROMPT.slice(0, 1), 1);
  const prompt = await seconds(PROMPT, 1);
  const all = await seconds(PROMPT, TOKENS + 1);
  return { prompt: (PROMPT.length - 1) / (prompt - start), text: TOKENS / (all - prompt) };
}

const downloads = new Map(); // contents of the files of packages
function downloaded(packages) {
  const files = [...downloads].filter(([file]) => packages.some((name) => file.startsWith(`${name}/`)));
  const megabytes = (size) => (files.reduce((sum, [, bytes]) => sum + size(bytes), 0) / 1e6).toFixed(2);
  return `${megabytes((bytes) => bytes.length)}, ${megabytes((bytes) => gzipSync(bytes, { level: 9 }).length)}`;
}

const server = await serve(async (name) => {
  if (name === "/index.html") return Buffer.from(HTML);
  const [, root, file] = name.match(/^\/(modules|models)\/(.+)$/);
  const bytes = await readFile(path.join(root === "modules" ? modules : models, file));
  if (root === "modules") downloads.set(file, bytes);
  return bytes;
});
const page = await Page.open(`${server.address}/index.html`);
try {
  await page.until("globalThis.run");
  const programs = new Map();
  for (const name of Object.keys(PACKAGES)) {
    await page.value(`openProgram("${name}")`);
    programs.set(name, secondsInPage.bind(null, name));
  }
  for (const isa of ["auto", "avx2"]) programs.set(`native, ${isa}`, secondsNative.bind(null, isa));
  const rounds = [];
  for (let i = 0; i < ROUNDS; ++i) {
    rounds.push([]);
    for (const seconds of programs.values()) rounds[i].push(await measure(seconds));
  }
  const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];
  console.log("| | Prompt, tokens/s | Text, tokens/s | The package's share: prompt, text | Download, gzip: MB |");
  console.log("|---|---:|---:|---:|---:|");
  [...programs.keys()].forEach((name, i) => {
    const [prompt, text] = ["prompt", "text"].map((part) => median(rounds.map((round) => round[i][part])));
    const shares = ["prompt", "text"].map((part) => median(rounds.map((round) => round[0][part] / round[i][part])));
    console.log(`| ${name} | ${prompt.toFixed(0)} | ${text.toFixed(0)} | ${shares.map((share) => share.toFixed(2)).join(", ")} `
      + `| ${PACKAGES[name] ? downloaded(PACKAGES[name]) : ""} |`);
  });
} finally {
  await page.close();
  server.close();
}
