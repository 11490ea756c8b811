import { serveTasks } from "@heddle/concurrency";
import type { EncodeOptions, Tokenizer } from "./tokenizer.js";
import { openTokenizer } from "./tokenizer.js";

export interface EncodeRequest {
  directory: string;
  texts: readonly string[];
  options: EncodeOptions;
}

const maxOpen = 2;
/** By directory, the one that was used last at the end. */
const open = new Map<string, Tokenizer>();

async function tokenizerOf(directory: string): Promise<Tokenizer> {
  const tokenizer = open.get(directory) ?? (await openTokenizer(directory));
  open.delete(directory);
  open.set(directory, tokenizer);
  const [oldest] = open.keys();
  if (open.size > maxOpen && oldest !== undefined) open.delete(oldest);
  return tokenizer;
}

const tasks = {
  async encode({ directory, texts, options }: EncodeRequest): Promise<Int32Array[]> {
    const tokenizer = await tokenizerOf(directory);
    return texts.map((text) => tokenizer.encode(text, options));
  },
};
export type TokenizerTasks = typeof tasks;

serveTasks(tasks);
