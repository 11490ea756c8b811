import type { Value } from "./values.js";

/** Variables of a block. What a block sets is not visible outside of it. */
export class Scope {
  readonly #variables = new Map<string, Value>();
  readonly #outer: Scope | undefined;
  /** Number of the scopes around this one. */
  readonly depth: number;

  constructor(outer?: Scope) {
    this.#outer = outer;
    this.depth = outer === undefined ? 0 : outer.depth + 1;
  }

  get(name: string): Value {
    // oxlint-disable-next-line typescript/no-this-alias, unicorn/no-this-assignment -- the start of the chain
    let scope: Scope | undefined = this;
    for (; scope; scope = scope.#outer) if (scope.#variables.has(name)) return scope.#variables.get(name);
    return undefined;
  }

  set(name: string, value: Value): void {
    this.#variables.set(name, value);
  }
}
