import { rmSync } from "node:fs";
import type { ChatTemplate, ChatTemplateOptions } from "../src/template.js";
import { openChatTemplate } from "../src/template.js";
import type { Tokenizer } from "../src/tokenizer.js";
import { openTokenizer } from "../src/tokenizer.js";
import { byteLevelTokenizer, chatMerges, chatTokens, temporaryModel } from "./text-models.js";

const directories: string[] = [];
process.once("exit", () => {
  for (const directory of directories) rmSync(directory, { recursive: true, force: true });
});

/** A small tokenizer with this chat template; `<|im_end|>` ends a completion. */
export async function openChatModel(
  template: string,
  definition = byteLevelTokenizer(chatMerges, chatTokens),
  options: ChatTemplateOptions = { trusted: true },
): Promise<ChatTemplate & { tokenizer: Tokenizer }> {
  const model = await temporaryModel({
    "tokenizer.json": definition,
    "tokenizer_config.json": { bos_token: "<|begin_of_text|>", eos_token: "<|im_end|>", chat_template: template },
  });
  // Threads tokenize with it until the tests end.
  directories.push(model.directory);
  const tokenizer = await openTokenizer(model.directory);
  return { ...(await openChatTemplate(model.directory, options)), tokenizer };
}

/** The trained spans of a sequence as text. */
export function trainedTexts(
  { tokenizer }: ChatTemplate,
  sequence: { tokens: Int32Array; mask: Uint8Array },
): string[] {
  const ranges: number[][] = [];
  for (const [index, id] of sequence.tokens.entries()) {
    if (!sequence.mask[index]) continue;
    if (sequence.mask[index - 1]) ranges.at(-1)?.push(id);
    else ranges.push([id]);
  }
  return ranges.map((ids) => tokenizer.decode(ids));
}
