import { openChatTemplate } from "@heddle/chat-format";
import type { ChatTemplate, TokenVocabulary } from "@heddle/chat-format";
import type { BaseModelInfo } from "@heddle/training";

/** What turns messages into tokens of a base model, and tokens into text. */
export interface TextModel {
  tokenizer: TokenVocabulary;
  template: ChatTemplate;
}

/** The tokens of a large vocabulary take about ten megabytes. */
const mostOpen = 8;

/** Vocabularies and chat templates of base models, opened at their first use. */
export class TextModels {
  /** By directory, the one that was used last at the end. */
  readonly #open = new Map<string, Promise<TextModel>>();

  /** Throws as `openChatTemplate` does. */
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
  const template = await openChatTemplate(directory, { trusted });
  return { tokenizer: template.tokenizer, template };
}
