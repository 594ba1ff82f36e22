// Compares the speed of the npm package in a headless Chromium with the native library and with wllama (llama.cpp), with
// one thread each:
//
//     node browser.mjs SOTTO SOTTO_PACKAGE MODEL.sotto [WLLAMA_PACKAGE MODEL.gguf]
//
// SOTTO is the program, the packages are directories, such as node_modules/sotto, and setup.sh writes the models. In each
// round, all evaluate the same prompt and generate greedily, one after the other. Prints a table in Markdown: the medians
// of tokens per second, and of the ratios in each round.
import { spawnSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import path from "node:path";

import { Page, serve } from "../../../platforms/javascript/tests/chromium.mjs";

const PROMPT = Array.from({ length: 128 }, (_, i) => 100 + 7 * i); // tokens
const TOKENS = 64;
const ROUNDS = 5;
const [sotto, sottoPackage, model, wllamaPackage, peerModel] = process.argv.slice(2);

const HTML = `<!doctype html><title>peers</title><script type="module">
import { Model } from "/sotto/src/worker.js";
const prompt = ${JSON.stringify(PROMPT)};
const model = await Model.open("/model.sotto");
const session = await model.session({ contextTokens: 1024 });
await session.setSampler({ temperature: 0, ignoreEnd: true });
globalThis.own = async () => {
  await session.reset();
  await session.resetTimings();
  for await (const piece of session.pieces(prompt, { maxTokens: ${TOKENS} }));
  const timings = await session.timings;
  const speed = (name) => 1e9 * timings[name + "Tokens"] / timings[name + "Ns"];
  return { tokens: timings.prefillTokens, prompt: speed("prefill"), text: speed("decode") };
};
globalThis.openPeer = async () => {
  const { Wllama } = await import("/wllama/esm/index.js");
  const peer = new Wllama({ default: new URL("/wllama/esm/wasm/wllama.wasm", location.href).href }, { suppressNativeLog: true });
  await peer.loadModel([await (await fetch("/model.gguf")).blob()], { n_ctx: 1024, n_threads: 1, n_gpu_layers: 0 });
  globalThis.peer = async () => {
    const text = "the words ".repeat(prompt.length).slice(0, prompt.length); // a token per byte
    const { timings } = await peer.createCompletion({ prompt: text, max_tokens: ${TOKENS}, temperature: 0, cache_prompt: false });
    return { tokens: timings.prompt_n, prompt: timings.prompt_per_second, text: timings.predicted_per_second };
  };
};
globalThis.kernels = await model.isa;
</script>`;

function native(isa) {
  const done = spawnSync(sotto, ["generate", "-m", model, "--ids", ...PROMPT, "-n", TOKENS, "--greedy", "--ignore-eos",
    "--no-config", "--json", "--isa", isa], { encoding: "utf8" });
  if (done.status !== 0) throw new Error(done.stderr);
  const { parameters, timings: { prefill, decode } } = JSON.parse(done.stdout);
  return { name: `native, ${parameters.isa}`, tokens: prefill.tokens, prompt: prefill.tokens_per_second,
    text: decode.tokens_per_second };
}

const files = { "/sotto": sottoPackage, "/wllama": wllamaPackage };
const server = await serve(async (name) => {
  if (name === "/index.html") return Buffer.from(HTML);
  if (name === "/model.sotto") return readFile(model);
  if (name === "/model.gguf") return readFile(peerModel);
  const [, top] = name.match(/^(\/[a-z]+)\//);
  return readFile(path.join(files[top], name.slice(top.length)));
});
const page = await Page.open(`${server.address}/index.html`);
try {
  await page.until("globalThis.kernels");
  const kernels = await page.value("kernels");
  if (wllamaPackage) await page.value("openPeer()");
  const found = [];
  for (let i = 0; i < ROUNDS; ++i) {
    found.push([{ name: `npm package, ${kernels}`, ...await page.value("own()") }, native("auto"), native("avx2")]);
    if (wllamaPackage) found[i].push({ name: "wllama", ...await page.value("peer()") });
  }
  const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];
  console.log("| | Prompt tokens | Prompt, tokens/s | Text, tokens/s | Share of the package in each: prompt, text |");
  console.log("|---|---:|---:|---:|---:|");
  found[0].forEach(({ name, tokens }, i) => {
    const [prompt, text] = ["prompt", "text"].map((part) => median(found.map((round) => round[i][part])));
    const [promptShare, textShare] = ["prompt", "text"].map(
      (part) => median(found.map((round) => round[0][part] / round[i][part])));
    console.log(`| ${name} | ${tokens} | ${prompt.toFixed(0)} | ${text.toFixed(0)} | ${promptShare.toFixed(2)}, ${textShare.toFixed(2)} |`);
  });
} finally {
  await page.close();
  server.close();
}
