import { HeddleError } from "@heddle/errors";
import { textOf } from "./variables.js";
import type { Variables } from "./variables.js";

/** Characters of all filled texts of one request. */
const maxFilled = 8 * 1024 * 1024;

const variable = /\{([A-Za-z_]\w*(?:\.[\w-]+)*)\}/;
const withEscapes = new RegExp(`\\{\\{|\\}\\}|${variable.source}`, "g");
const withoutEscapes = new RegExp(variable.source, "g");

/**
 * Fills `{name}` in the texts of one request with values: strings as they are, other values as JSON. The values are not
 * searched for names again. `{{` and `}}` stand for braces, as in Python, in a text that has `{{`; other braces that
 * enclose no name stay as they are.
 */
export class TemplateFiller {
  /** The names and paths that were filled in. */
  readonly used = new Set<string>();
  readonly #variables: Variables;
  readonly #texts = new Map<string, string>();
  #length = 0;

  constructor(variables: Variables) {
    this.#variables = variables;
  }

  /** Fills every string of a JSON value. Throws `invalid` for a name without a value, `too_large` for too long texts. */
  fill(template: unknown): unknown {
    if (typeof template === "string") return this.#filled(template);
    if (Array.isArray(template)) return template.map((item) => this.fill(item));
    if (typeof template !== "object" || template === null) return template;
    return Object.fromEntries(Object.entries(template).map(([key, value]) => [key, this.fill(value)]));
  }

  #filled(template: string): string {
    const pattern = template.includes("{{") ? withEscapes : withoutEscapes;
    this.#add(template.length);
    return template.replaceAll(pattern, (found, name?: string) => {
      if (name === undefined) return found.slice(1);
      this.used.add(name);
      const text = this.#textOf(name);
      this.#add(text.length);
      return text;
    });
  }

  #textOf(name: string): string {
    const text = this.#texts.get(name) ?? textOf(this.#variables.need(name, "the template"));
    this.#texts.set(name, text);
    return text;
  }

  #add(length: number): void {
    this.#length += length;
    if (this.#length > maxFilled) {
      throw new HeddleError("too_large", `the filled template is longer than ${maxFilled} characters`);
    }
  }
}
