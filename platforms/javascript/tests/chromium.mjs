// A headless Chromium for tests, and a server for its pages.
import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";

const CHROMIUM = process.env.SOTTO_CHROMIUM ?? "chromium";
const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".wasm": "application/wasm" };

/** Serves what `read(path)` returns; its failure is status 404. Returns { address, close }. */
export async function serve(read) {
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url, "http://localhost");
    try {
      const bytes = await read(pathname);
      response.writeHead(200, { "content-type": TYPES[path.extname(pathname)] ?? "application/octet-stream",
        "content-length": bytes.length });
      response.end(bytes);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { address: `http://127.0.0.1:${server.address().port}`, close: () => server.close() };
}

/** A page of a browser, controlled by the DevTools protocol over pipes. */
export class Page {
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

  #send(method, params = {}, sessionId = this.#session) {
    const id = ++this.#count;
    this.process.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId: sessionId || undefined })}\0`);
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

  /** Returns the processor time of pages and their Workers, in seconds. */
  async processorTime() {
    const browser = ""; // not the session of a page
    const { processInfo } = await this.#send("SystemInfo.getProcessInfo", {}, browser);
    return processInfo.reduce((sum, { type, cpuTime }) => sum + (type === "renderer" ? cpuTime : 0), 0);
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
