import { serveTasks } from "@heddle/concurrency";
import type { PackedVocabulary } from "./packed-vocabulary.js";
import type { EncodeOptions, Tokenizer } from "./tokenizer.js";
import { openTokenizer } from "./tokenizer.js";

export interface EncodeRequest {
  directory: string;
  texts: readonly string[];
  options: EncodeOptions;
}

/** Tokens of all open vocabularies; 150,000 take about 130 MB. */
const maxOpenTokens = 540_000;
/** By directory, the one that was used last at the end. */
const open = new Map<string, Tokenizer>();

async function tokenizerOf(directory: string): Promise<Tokenizer> {
  const tokenizer = open.get(directory) ?? (await openTokenizer(directory));
  open.delete(directory);
  open.set(directory, tokenizer);
  let tokens = 0;
  for (const { vocabularySize } of open.values()) tokens += vocabularySize;
  for (const [oldest, { vocabularySize }] of open) {
    if (tokens <= maxOpenTokens || oldest === directory) break;
    open.delete(oldest);
    tokens -= vocabularySize;
  }
  return tokenizer;
}

const tasks = {
  async open({ directory }: { directory: string }): Promise<PackedVocabulary> {
    return (await tokenizerOf(directory)).packed;
  },
  async encode({ directory, texts, options }: EncodeRequest): Promise<Int32Array[]> {
    const tokenizer = await tokenizerOf(directory);
    return texts.map((text) => tokenizer.encode(text, options));
  },
};
export type TokenizerTasks = typeof tasks;

serveTasks(tasks);
