import { HeddleError } from "@heddle/errors";

/** What one export may have. */
export interface ExportLimits {
  maxSpans: number;
  /** The setting behind the limit, for messages. */
  setting?: string;
}

export const defaultExportLimits: ExportLimits = { maxSpans: 20_000 };

/** A span has more than one span may have: reading on would cost as much again. */
export class SpanTooLarge extends HeddleError {
  constructor() {
    super("invalid", "a span has too many attributes, events and links");
  }
}

/** Units of work for each span that an export may have, and for one span alone. A span of 20 attributes takes 150. */
const workPerSpan = 100;
const maxSpanWork = 200_000;

/**
 * Counts what an export makes the decoder keep: a few bytes of it can stand for a thousand in memory. Fields and
 * tokens cost 1, values in lists 2, attributes 5, events and links 10.
 */
export class WorkBudget {
  readonly #maxWork: number;
  readonly #maxSpans: number;
  readonly #setting: string;
  #work = 0;
  #spans = 0;
  #spanLimit = Infinity;

  constructor({ maxSpans, setting }: ExportLimits) {
    this.#maxSpans = maxSpans;
    this.#maxWork = maxSpans * workPerSpan;
    this.#setting = setting === undefined ? "" : ` (${setting})`;
  }

  get work(): number {
    return this.#work;
  }

  /** Throws `too_large` when the export has too much, `invalid` when the span has. */
  spend(units: number): void {
    this.#work += units;
    if (this.#work > this.#maxWork) {
      throw new HeddleError(
        "too_large",
        `Request too large: an export has at most ${this.#maxSpans} spans${this.#setting} with ${workPerSpan} fields each on average`,
      );
    }
    if (this.#work > this.#spanLimit) throw new SpanTooLarge();
  }

  countSpans(spans: number): void {
    this.#spans += spans;
    if (this.#spans > this.#maxSpans) {
      throw new HeddleError(
        "too_large",
        `Request too large: an export has at most ${this.#maxSpans} spans${this.#setting}`,
      );
    }
  }

  /** What follows belongs to the next span. */
  startSpan(): void {
    this.#spanLimit = this.#work + maxSpanWork;
  }
}
