import { openChatTemplate } from "@heddle/chat-format";
import type { ChatTemplate } from "@heddle/chat-format";
import { isBundledModel } from "@heddle/training";
import type { BaseModelInfo } from "@heddle/training";

/** The tokens of a large vocabulary take about ten megabytes. */
const mostOpen = 8;

/** Chat templates of base models with their vocabularies, opened at their first use. */
export class ChatTemplates {
  /** By directory, the one that was used last at the end. */
  readonly #open = new Map<string, Promise<ChatTemplate>>();

  /** Throws as `openChatTemplate` does. */
  async of({ name, directory }: BaseModelInfo): Promise<ChatTemplate> {
    // A template that an operator put into a directory may be anybody's: only that of a bundled model is trusted.
    const template = this.#open.get(directory) ?? openChatTemplate(directory, { trusted: isBundledModel(name) });
    this.#open.delete(directory);
    this.#open.set(directory, template);
    const [oldest] = this.#open.keys();
    if (this.#open.size > mostOpen && oldest !== undefined) this.#open.delete(oldest);
    try {
      return await template;
    } catch (error) {
      this.#open.delete(directory);
      throw error;
    }
  }
}
