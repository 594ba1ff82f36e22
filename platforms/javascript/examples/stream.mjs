// Streams a text: node stream.mjs MODEL PROMPT
import { Model } from "sotto";

const [path, prompt] = process.argv.slice(2);
if (!prompt) {
  console.error("usage: node stream.mjs MODEL PROMPT");
  process.exit(2);
}
const model = await Model.open(path);
const session = model.session({ contextTokens: 256 });
for await (const text of session.stream(prompt, { maxTokens: 100 })) process.stdout.write(text);
process.stdout.write("\n");
