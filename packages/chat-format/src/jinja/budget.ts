import type { TemplateLimits } from "../template-limits.js";
import { TemplateLimitError } from "../template-limits.js";

/** Counts the work of a rendering, and checks the sizes of what it makes. */
export class Budget {
  readonly limits: TemplateLimits;
  #steps = 0;
  #depth = 0;

  constructor(limits: TemplateLimits) {
    this.limits = limits;
  }

  spend(steps: number): void {
    this.#steps += steps;
    if (this.#steps > this.limits.steps) throw new TemplateLimitError(`more than ${this.limits.steps} steps of work`);
  }

  /** Runs a nested evaluation. */
  nest<Result>(run: () => Result): Result {
    if (++this.#depth > this.limits.depth) throw new TemplateLimitError("calls or lists nested too deeply");
    try {
      return run();
    } finally {
      this.#depth--;
    }
  }

  /** Throws if a text of this many characters is too long. Called before an operation that multiplies its input. */
  checkLength(characters: number): void {
    if (characters > this.limits.characters) {
      throw new TemplateLimitError(`text of more than ${this.limits.characters} characters`);
    }
  }

  text(value: string): string {
    this.checkLength(value.length);
    return value;
  }

  checkItems(count: number): void {
    if (count > this.limits.items) throw new TemplateLimitError(`lists of more than ${this.limits.items} elements`);
  }

  list<Items extends readonly unknown[]>(items: Items): Items {
    this.checkItems(items.length);
    this.spend(items.length / 10);
    return items;
  }
}
