/**
 * Trains the starter's tokenizer from its corpus: byte-level pairs, 1,024 entries with the added tokens.
 *
 *   pnpm --filter @heddle/embedded-engine starter:tokenizer
 */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { trainingExamples } from "./corpus/corpus.js";
import { renderer } from "./corpus/render.js";
import { learnBytePairs } from "./tokenizer/byte-pairs.js";
import { chatTemplateSource, starterDirectory } from "./training/starter-files.js";
import { addedTokens, tokenizerFiles } from "./tokenizer/tokenizer-files.js";

const vocabularySize = 1024;
const contextLength = 1024;
const examples = 60_000;
const seed = 1;

const chatTemplate = await chatTemplateSource();
const separators = new RegExp(addedTokens.map(({ content }) => content.replaceAll("|", String.raw`\|`)).join("|"), "u");

function* texts(): IterableIterator<string> {
  const render = renderer(chatTemplate);
  let left = examples;
  for (const { example } of trainingExamples(seed)) {
    if (left-- === 0) return;
    const { prompt, answer } = render(example);
    yield* (prompt + answer).split(separators);
  }
}

const pairs = learnBytePairs(texts(), vocabularySize - addedTokens.length);
await mkdir(starterDirectory, { recursive: true });
for (const [name, content] of Object.entries(tokenizerFiles(pairs, chatTemplate, contextLength))) {
  await writeFile(join(starterDirectory, name), `${JSON.stringify(content, null, 2)}\n`);
}
console.log(`${pairs.vocabulary.length + addedTokens.length} tokens in ${starterDirectory}`);
