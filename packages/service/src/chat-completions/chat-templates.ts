import { openChatTemplate } from "@heddle/chat-format";
import type { ChatTemplate } from "@heddle/chat-format";
import { isBundledModel } from "@heddle/training";
import type { BaseModelInfo } from "@heddle/training";
import { LRUCache } from "lru-cache";

/** The tokens of a large vocabulary take about ten megabytes. */
const mostOpen = 8;

/** Chat templates of base models with their vocabularies, opened at their first use. */
export class ChatTemplates {
  /** By directory. */
  readonly #open = new LRUCache<string, Promise<ChatTemplate>>({ max: mostOpen });

  /** Throws as `openChatTemplate` does. */
  async of({ name, directory }: BaseModelInfo): Promise<ChatTemplate> {
    // A template that an operator put into a directory may be anybody's: only that of a bundled model is trusted.
    const template = this.#open.get(directory) ?? openChatTemplate(directory, { trusted: isBundledModel(name) });
    this.#open.set(directory, template);
    try {
      return await template;
    } catch (error) {
      this.#open.delete(directory);
      throw error;
    }
  }
}
