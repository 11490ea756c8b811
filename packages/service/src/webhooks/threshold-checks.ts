import type { ControlPlane, Webhook } from "@heddle/control-plane";
import { HeddleError } from "@heddle/errors";
import type { TraceStore } from "@heddle/trace-store";
import { Rounds } from "./rounds.js";
import { checkThreshold } from "./threshold.js";
import type { Threshold } from "./threshold.js";

interface Options {
  control: ControlPlane;
  store: Pick<TraceStore, "aggregates">;
  /**
   * Between two looks at a threshold; longer for those of an entity that has more than can be computed meanwhile, which go
   * on in the next round where this one has ended.
   */
  everyMs?: number;
}

type Listed = Pick<Webhook, "id" | "project_id">;

const defaultEveryMs = 60_000;
/** One takes some seconds at most, as `callsAggregate` does; a store that does not respond ends it. */
const timeoutMs = 20_000;

/**
 * Looks at the thresholds of all webhooks, one after another, so that they never take more of the engine than one statement.
 * Those of different entities take turns: many of one do not delay those of others.
 */
export class ThresholdChecks {
  readonly #options: Options;
  readonly #onError: (error: unknown) => void;
  readonly #rounds = new Rounds((signal) => this.#look(signal));

  /** `onError` is called when the control plane does not respond, and for unexpected errors. */
  constructor(options: Options, onError: (error: unknown) => void) {
    this.#options = options;
    this.#onError = onError;
  }

  start(): void {
    this.#rounds.start();
  }

  async stop(): Promise<void> {
    await this.#rounds.stop();
  }

  async #look(signal: AbortSignal): Promise<number> {
    const { everyMs = defaultEveryMs } = this.#options;
    const began = performance.now();
    await this.#checkAll(signal, began + everyMs).catch(this.#onError);
    return Math.max(0, everyMs - (performance.now() - began));
  }

  async #checkAll(stopping: AbortSignal, end: number): Promise<void> {
    for (const { webhook, place } of inTurns(await this.#options.control.webhooks.withThreshold())) {
      // The first one of each entity has a turn in every round.
      if (stopping.aborted || (place > 0 && performance.now() > end)) return;
      await this.#check(webhook, stopping);
    }
  }

  async #check(webhook: Listed, stopping: AbortSignal): Promise<void> {
    const { control } = this.#options;
    const { threshold } = (await control.webhooks.get(webhook.project_id, webhook.id)) ?? {};
    if (!threshold) return;
    const condition = JSON.parse(threshold.condition) as Threshold;
    const signal = AbortSignal.any([stopping, AbortSignal.timeout(timeoutMs)]);
    try {
      const found = await checkThreshold(this.#options, webhook.project_id, condition, signal);
      await control.webhooks.recordThreshold(webhook, found);
    } catch (error) {
      if (stopping.aborted) return;
      await control.webhooks.recordThreshold(webhook, { error: this.#reasonOf(error, signal) });
    }
  }

  /** What users may know of why it could not be computed. */
  #reasonOf(error: unknown, signal: AbortSignal): string {
    if (signal.aborted) return `it was not computed within ${timeoutMs / 1000} seconds`;
    if (error instanceof HeddleError) return error.message;
    this.#onError(error);
    return "it could not be computed";
  }
}

/** The first of each entity, then the second of each, and so on. */
function inTurns(webhooks: readonly Listed[]): Array<{ webhook: Listed; place: number }> {
  const places = new Map<string, number>();
  const placed = webhooks.map((webhook) => {
    const [entity = ""] = webhook.project_id.split("/");
    const place = places.get(entity) ?? 0;
    places.set(entity, place + 1);
    return { webhook, place };
  });
  return placed.toSorted((a, b) => a.place - b.place);
}
