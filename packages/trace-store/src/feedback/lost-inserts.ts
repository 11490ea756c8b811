import type { StoreContext } from "../context.js";
import type { ChangeHub } from "../changes/change-hub.js";
import type { Engine } from "../engine/engine.js";
import { StatementError } from "../engine/statement-error.js";
import { tryLater } from "../try-later.js";

const running = "current_database = currentDatabase() AND query_kind = 'Insert' AND query LIKE 'INSERT INTO feedback%'";

/**
 * Inserts of feedback whose response was lost: what they store can be read at once, later, or never. Their changes are under way
 * until none of them runs any more, and whoever follows changes then looks into the store.
 */
export class LostInserts {
  readonly #engine: Engine;
  readonly #changes: ChangeHub;
  readonly #runExclusive: (work: () => Promise<void>) => Promise<void>;
  readonly #closing: AbortSignal;
  #ends: Array<() => void> = [];

  /** `runExclusive` runs while no other feedback is written. */
  constructor(
    { commits, changes, closing }: Pick<StoreContext, "commits" | "changes" | "closing">,
    runExclusive: (work: () => Promise<void>) => Promise<void>,
  ) {
    this.#engine = commits;
    this.#changes = changes;
    this.#closing = closing;
    this.#runExclusive = runExclusive;
  }

  /** `end` is called when the outcome is known. */
  add(end: () => void): void {
    this.#ends.push(end);
    if (this.#ends.length === 1) this.#lookLater();
  }

  #lookLater(): void {
    tryLater(() => this.#runExclusive(() => this.#look()), this.#closing);
  }

  async #look(): Promise<void> {
    if (await this.#areRunning()) {
      this.#lookLater();
      return;
    }
    for (const end of this.#ends.splice(0)) end();
    this.#changes.forget();
  }

  async #areRunning(): Promise<boolean> {
    try {
      const sql = `SELECT count() AS running FROM system.processes WHERE ${running}`;
      const [row] = await this.#engine.rows<{ running: string }>({ sql });
      return Number(row?.running ?? 0) > 0;
    } catch (error) {
      // An account that may not see its statements; there is nothing to wait for then.
      if (error instanceof StatementError) return false;
      throw error;
    }
  }
}
