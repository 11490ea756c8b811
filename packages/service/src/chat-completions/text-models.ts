import { openChatTemplate, openTokenizer } from "@heddle/chat-format";
import type { ChatTemplate, Tokenizer } from "@heddle/chat-format";
import type { BaseModelInfo } from "@heddle/training";

/** What turns messages into tokens of a base model, and tokens into text. */
export interface TextModel {
  tokenizer: Tokenizer;
  template: ChatTemplate;
}

/** A tokenizer of a large vocabulary takes some hundred megabytes. */
const mostOpen = 8;

/** Tokenizers and chat templates of base models, opened at their first use. */
export class TextModels {
  /** By directory, the one that was used last at the end. */
  readonly #open = new Map<string, Promise<TextModel>>();

  /** Throws as `openTokenizer` and `openChatTemplate` do. */
  async of({ name, directory }: BaseModelInfo): Promise<TextModel> {
    const model = this.#open.get(directory) ?? openTextModel(directory, isBundled(name));
    this.#open.delete(directory);
    this.#open.set(directory, model);
    const [oldest] = this.#open.keys();
    if (this.#open.size > mostOpen && oldest !== undefined) this.#open.delete(oldest);
    try {
      return await model;
    } catch (error) {
      this.#open.delete(directory);
      throw error;
    }
  }
}

function isBundled(name: string): boolean {
  return name === "heddle/starter" || name.startsWith("random:");
}

/** A template that an operator put into a directory may be anybody's: only that of a bundled model is trusted. */
async function openTextModel(directory: string, trusted: boolean): Promise<TextModel> {
  const tokenizer = await openTokenizer(directory);
  return { tokenizer, template: await openChatTemplate(directory, tokenizer, { trusted }) };
}
