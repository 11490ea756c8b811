import { HeddleError } from "@heddle/errors";
import { firstCharacters } from "@heddle/exact-json";
import type { AttributeShapes } from "./attribute-shape.js";
import { SpanTooLarge } from "./work-budget.js";
import type { WorkBudget } from "./work-budget.js";

/** Most problems that are kept of one span or resource. */
const maxProblems = 5;
/** Most characters of a key in a message. */
const maxKey = 100;

/** What decoding one export shares: its budget, the shapes of its attributes, and what could not be read so far. */
export class Decoding {
  readonly budget: WorkBudget;
  readonly shapes: AttributeShapes;
  /** Of the attribute that is being decoded. */
  key = "";
  #problems: string[] | undefined;

  constructor(budget: WorkBudget, shapes: AttributeShapes) {
    this.budget = budget;
    this.shapes = shapes;
  }

  /**
   * Records why a part without which the rest is still of use cannot be read. Throws the error again where more than
   * the part is concerned.
   */
  failed(error: unknown, part = ""): void {
    if (!(error instanceof HeddleError) || error.code !== "invalid" || error instanceof SpanTooLarge) throw error;
    this.unreadable(`${part}${error.message}`);
  }

  unreadable(problem: string): void {
    const problems = (this.#problems ??= []);
    if (problems.length < maxProblems) problems.push(problem);
  }

  /** As {@link failed}, for a value of the attribute that is being decoded. */
  valueFailed(error: unknown): void {
    const key = this.key.length > maxKey ? `${firstCharacters(this.key, maxKey)}…` : this.key;
    this.failed(error, `attribute ${key}: `);
  }

  startSpan(): void {
    this.budget.startSpan();
    this.#problems = undefined;
  }

  /** The problems since the last call. */
  takeProblems(): string[] | undefined {
    const problems = this.#problems;
    this.#problems = undefined;
    return problems;
  }
}
