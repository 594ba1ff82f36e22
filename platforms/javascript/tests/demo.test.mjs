// Tests the demo page in a headless Chromium: the golden text, grammars, probabilities, failures and a responsive page.
// SOTTO_SCREENSHOT names a file for a picture of the page.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";

const PACKAGE = fileURLToPath(new URL("node_modules/sotto", import.meta.url));
const CHROMIUM = process.env.SOTTO_CHROMIUM ?? "chromium";
const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".wasm": "application/wasm" };

/** A page of a browser, controlled by the DevTools protocol over pipes. */
class Page {
  static async open(address) {
    const page = new Page();
    page.directory = await mkdtemp(path.join(tmpdir(), "sotto-chromium-"));
    page.process = spawn(CHROMIUM, ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
      "--disable-background-networking", "--disable-component-update", "--disable-sync", "--remote-debugging-pipe",
      "--window-size=1280,900", `--user-data-dir=${page.directory}`, "about:blank"],
    { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
    page.#receive(page.process.stdio[4]);
    const { targetInfos } = await page.#send("Target.getTargets");
    const { targetId } = targetInfos.find(({ type }) => type === "page");
    const { sessionId } = await page.#send("Target.attachToTarget", { targetId, flatten: true });
    page.#session = sessionId;
    await page.#send("Page.navigate", { url: address });
    await page.until("document.readyState === 'complete'");
    return page;
  }

  #session;
  #count = 0;
  #waiting = new Map();

  async #receive(pipe) {
    let rest = "";
    for await (const chunk of pipe.setEncoding("utf8")) {
      const messages = (rest + chunk).split("\0");
      rest = messages.pop();
      for (const { id, result, error } of messages.map((text) => JSON.parse(text))) {
        const { resolve, reject } = this.#waiting.get(id) ?? {};
        this.#waiting.delete(id);
        if (error) reject?.(new Error(error.message));
        else resolve?.(result);
      }
    }
    for (const { reject } of this.#waiting.values()) reject(new Error("Chromium has ended"));
  }

  #send(method, params = {}) {
    const id = ++this.#count;
    this.process.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId: this.#session })}\0`);
    return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
  }

  /** Returns the value of an expression in the page. */
  async value(expression) {
    const { result, exceptionDetails } = await this.#send("Runtime.evaluate",
      { expression, returnByValue: true, awaitPromise: true });
    if (exceptionDetails) throw new Error(`${expression}: ${exceptionDetails.exception?.description}`);
    return result.value;
  }

  async until(expression) {
    for (let i = 0; i < 1200; ++i) {
      if (await this.value(expression)) return;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    throw new Error(`${expression} did not become true; the status is ${await this.value("$('status')?.textContent")}`);
  }

  async screenshot(file) {
    const { data } = await this.#send("Page.captureScreenshot", { format: "png" });
    await writeFile(file, Buffer.from(data, "base64"));
  }

  async close() {
    const ended = new Promise((resolve) => this.process.once("exit", resolve));
    this.#send("Browser.close").catch(() => {});
    await ended;
    await rm(this.directory, { recursive: true, force: true, maxRetries: 5 });
  }
}

const goldenCase = async (name) => {
  const text = await readFile(process.env.SOTTO_GOLDEN, "utf8");
  const lines = text.split(`\ncase ${name}\n`)[1].split("\n\n")[0].split("\n");
  return Object.fromEntries(lines.map((line) => [line.split(" ", 1)[0], line.slice(line.indexOf(" ") + 1)]));
};

let server;
let page;

before(async () => {
  server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url, "http://localhost");
    try {
      const file = pathname === "/demo/demo.sotto" ? process.env.SOTTO_DEMO_MODEL : path.join(PACKAGE, pathname);
      const bytes = await readFile(file);
      response.writeHead(200, { "content-type": TYPES[path.extname(file)] ?? "application/octet-stream",
        "content-length": bytes.length });
      response.end(bytes);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  page = await Page.open(`http://127.0.0.1:${server.address().port}/demo/index.html`);
  await page.value("globalThis.$ = (id) => document.getElementById(id)");
  await page.until("!$('run').disabled");
});

after(async () => {
  await page?.close();
  server.close();
});

/** Fills in the form, generates, and returns the text without the prompt, and the status. */
async function generate(fields) {
  await page.value(`for (const [id, value] of Object.entries(${JSON.stringify(fields)})) {
    $(id).value = value;
    $(id).dispatchEvent(new Event(id === "language" ? "change" : "input"));
  }`);
  if (fields.grammar) await page.value(`$('grammar').value = ${JSON.stringify(fields.grammar)}`);
  await page.value("$('run').click()");
  await page.until("!$('run').disabled");
  return {
    text: await page.value("[...document.querySelectorAll('.token')].map((e) => e.textContent).join('')"),
    status: await page.value("$('status').textContent"),
  };
}

test("TheModelIsDescribed", async () => {
  const text = await page.value("$('model').textContent");
  assert.match(text, /^5\.9 M parameters, 6 layers of 256, (relaxed_simd|simd128), [0-9]+ MiB of memory$/);
});

test("ThePageShowsTheGoldenText", async () => {
  const golden = await goldenCase("sampled");
  const { text, status } = await generate({
    prompt: golden.prompt, temperature: golden.temperature, topK: golden.top_k, topP: golden.top_p,
    repetitionPenalty: golden.repetition_penalty, seed: golden.seed, maxTokens: golden.max_tokens, language: "",
  });
  assert.equal(text, golden.text);
  assert.match(status, /^Ended with STOP_MAX_TOKENS\. Prompt: [0-9,]+ tokens\/s; text: [0-9,]+ tokens\/s$/);
});

test("TheBarsAreProbabilities", async () => {
  const bars = await page.value("[...document.querySelectorAll('#bars li')].map((e) => e.style.getPropertyValue('--p'))");
  assert.equal(bars.length, 8);
  const values = bars.map(Number);
  assert.ok(values.every((p, i) => p > 0 && p <= (values[i - 1] ?? 1)), String(values));
  assert.ok(values.reduce((a, b) => a + b) <= 1.001);
  await page.value("document.querySelectorAll('.token')[3].dispatchEvent(new Event('mouseenter'))");
  assert.equal(await page.value("[...document.querySelectorAll('.token')].findIndex((e) => e.matches('.shown'))"), 3);
  if (process.env.SOTTO_SCREENSHOT) await page.screenshot(process.env.SOTTO_SCREENSHOT);
});

test("GrammarsOfThePageConstrain", async () => {
  const form = { prompt: "The young lady: ", seed: 7, temperature: 0.8, maxTokens: 100 };
  const { text, status } = await generate({ ...form, language: "JSON_SCHEMA" });
  assert.ok(JSON.parse(text).age >= 18, text);
  assert.match(status, /^Ended with STOP_GRAMMAR/);
  assert.match((await generate({ ...form, language: "REGEX" })).text, /^[A-Z][a-z]+ was born on/);
  const wrong = await generate({ ...form, language: "GBNF", grammar: 'root ::= "a' });
  assert.match(wrong.status, /1:10: /);
  assert.equal((await generate({ ...form, language: "REGEX", grammar: "[0-9]{4}" })).text.length, 4);
});

test("ThePageStaysResponsiveAndStops", async () => {
  await page.value(`$('prompt').value = 'It was'; $('maxTokens').value = 240; $('language').value = '';
    globalThis.frames_ = 0; (function count() { ++frames_; requestAnimationFrame(count); })();
    $('run').click()`);
  await page.until("document.querySelectorAll('.token').length > 5 || !$('run').disabled");
  await page.value("$('stop').click()");
  await page.until("!$('run').disabled");
  assert.match(await page.value("$('status').textContent"), /^Ended with (stopped|STOP_)/);
  assert.ok((await page.value("frames_")) > 0);
});
