import { HeddleError } from "@heddle/errors";
import { LRUCache } from "lru-cache";

const maxRemembered = 1_024;
/** Longer messages quote the constraint. */
const maxMessageLength = 1_000;
/** What was too large for the time or the memory of a thread may fit later. */
const tooLargeMs = 600_000;

/** The errors of constraints that cannot be used, by their digests: they are reported again without any work. */
export class FailedConstraints {
  readonly #errors = new LRUCache<string, { error: HeddleError; until: number }>({ max: maxRemembered });

  /** Throws the error of a constraint that failed. */
  check(digest: string): void {
    const known = this.#errors.get(digest);
    if (known === undefined) return;
    const { code, message, loc, details } = known.error;
    if (known.until > performance.now()) throw new HeddleError(code, message, { loc, details });
    this.#errors.delete(digest);
  }

  /** Remembers an error that the same constraint would have again. */
  remember(digest: string, error: unknown): void {
    if (!(error instanceof HeddleError) || (error.code !== "invalid" && error.code !== "too_large")) return;
    const size = error.message.length + JSON.stringify([error.loc, error.details]).length;
    if (size > maxMessageLength || this.#errors.has(digest)) return;
    const until = error.code === "invalid" ? Number.POSITIVE_INFINITY : performance.now() + tooLargeMs;
    this.#errors.set(digest, { error, until });
  }
}
