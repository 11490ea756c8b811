import type { Parameters } from "../engine/parameters.js";

/** What the parts of one statement share while they are compiled: bound parameters and names of subexpressions. */
export class StatementSql {
  readonly p: Parameters;
  readonly #prefix: string;
  #count = 0;

  /** Of several of one statement, each has a prefix of its own for what it names. */
  constructor(p: Parameters, prefix = "e") {
    this.p = p;
    this.#prefix = prefix;
  }

  /**
   * Names an expression that is used more than once, so that nested ones do not double the text at every level:
   * `first` at its first use, `again` afterwards.
   */
  named(expression: string): { first: string; again: string } {
    if (/^\w+$/.test(expression)) return { first: expression, again: expression };
    const name = `${this.#prefix}${this.#count++}`;
    return { first: `(${expression} AS ${name})`, again: name };
  }
}
