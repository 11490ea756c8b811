import type { TemplateLimits } from "../template-limits.js";
import { TemplateLimitError } from "../template-limits.js";

/** Characters that are copied or searched in the time of one step. */
const charactersPerStep = 64;
/** Bits of integers that are multiplied or divided in the time of one step. */
const bitsPerStep = 32;

/**
 * Counts the work of a rendering, and checks the sizes of what it makes. Every operation whose time or result grows with
 * its operands is counted before it begins.
 */
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

  /** Counts characters that are read; `weight` is how much longer one takes than copying it. */
  read(characters: number, weight = 1): void {
    this.spend((characters * weight) / charactersPerStep);
  }

  /** Counts an integer operation with operands of so many bits together. */
  integers(bits: number): void {
    this.spend(bits / bitsPerStep);
  }

  /** Throws if a text of this many characters is too long. */
  checkLength(characters: number): void {
    if (characters > this.limits.characters) {
      throw new TemplateLimitError(`text of more than ${this.limits.characters} characters`);
    }
  }

  /** Counts a text of so many characters, before it is made. */
  make(characters: number): void {
    this.checkLength(characters);
    this.read(characters);
  }

  /** Counts a text that is at most a few times as long as what was counted before. */
  text(value: string): string {
    this.make(value.length);
    return value;
  }

  checkItems(count: number): void {
    if (count > this.limits.items) throw new TemplateLimitError(`lists of more than ${this.limits.items} elements`);
  }

  /** Counts a list of so many elements, before it is made. */
  makeItems(count: number): void {
    this.checkItems(count);
    this.spend(count / 4);
  }

  /** Counts a dict of so many entries, before it is made. */
  makeEntries(count: number): void {
    this.checkItems(count);
    this.spend(count);
  }

  list<Items extends readonly unknown[]>(items: Items): Items {
    this.makeItems(items.length);
    return items;
  }
}
