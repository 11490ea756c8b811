import { setTimeout as delay } from "node:timers/promises";
import { HeddleError } from "@heddle/errors";
import type { CallPart } from "@heddle/trace-model";
import { ensureProject } from "../access/authorize.js";
import { splitProject } from "../access/project-id.js";
import type { ControlPlane } from "@heddle/control-plane";
import type { TraceStore } from "@heddle/trace-store";

type CompletePart = Extract<CallPart, { part: "complete" }>;

export interface RecorderOptions {
  services: { control: ControlPlane; store: TraceStore };
  /** Called with each call that could not be stored. */
  onLost: (error: unknown) => void;
}

/** Characters of calls that wait to be stored, of all entities and of one; what comes beyond them is lost. */
const mostWaiting = 64 * 1024 * 1024;
const mostOfEntity = mostWaiting / 2;
const firstPauseMs = 250;
const longestPauseMs = 10_000;
/** A store that does not work for so long, or while the service stops, loses what waits. */
const longestMs = 600_000;

/**
 * Stores calls after the response was sent. A store that does not respond is tried again; what cannot be stored is
 * reported.
 */
export class CompletionRecorder {
  readonly #options: RecorderOptions;
  readonly #running = new Set<Promise<void>>();
  readonly #closing = new AbortController();
  #waiting = 0;
  readonly #waitingByEntity = new Map<string, number>();

  constructor(options: RecorderOptions) {
    this.#options = options;
  }

  /** Stores a call that is being made. */
  recordMade(making: Promise<CompletePart>): void {
    const recording = making
      .then((call) => this.record(call), this.#options.onLost)
      .finally(() => this.#running.delete(recording));
    this.#running.add(recording);
  }

  record(call: CompletePart): void {
    const length = call.start.inputs.length + (call.end.output?.length ?? 0);
    const entity = splitProject(call.start.project_id)?.entity ?? "";
    const ofEntity = this.#waitingByEntity.get(entity) ?? 0;
    if (this.#waiting + length > mostWaiting || ofEntity + length > mostOfEntity) {
      this.#options.onLost(new HeddleError("busy", "too many completions wait to be stored"));
      return;
    }
    this.#wait(entity, length);
    const storing = this.#store(call)
      .catch(this.#options.onLost)
      .finally(() => {
        this.#wait(entity, -length);
        this.#running.delete(storing);
      });
    this.#running.add(storing);
  }

  /** Tries what waits once more. */
  async close(): Promise<void> {
    this.#closing.abort();
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  #wait(entity: string, length: number): void {
    this.#waiting += length;
    const ofEntity = (this.#waitingByEntity.get(entity) ?? 0) + length;
    if (ofEntity === 0) this.#waitingByEntity.delete(entity);
    else this.#waitingByEntity.set(entity, ofEntity);
  }

  async #store(call: CompletePart): Promise<void> {
    const { control, store } = this.#options.services;
    const givesUpAt = performance.now() + longestMs;
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(longestPauseMs, 2 * pauseMs)) {
      const isLast = this.#closing.signal.aborted || performance.now() > givesUpAt;
      try {
        if (splitProject(call.start.project_id) !== undefined) await ensureProject(control, call.start.project_id);
        const [rejected] = await store.ingest([call]);
        if (rejected === undefined) return;
        const [second] = await store.ingest([withoutPayloads(call, rejected.message)]);
        if (second === undefined) return;
        throw new HeddleError("failed", second.message);
      } catch (error) {
        const mayPass = error instanceof HeddleError && (error.code === "busy" || error.code === "aborted");
        if (isLast || !mayPass) throw error;
      }
      await delay(pauseMs, undefined, { signal: this.#closing.signal }).catch(() => {});
    }
  }
}

/** A call that is too large is stored without what was sent and generated. */
function withoutPayloads({ start, end }: CompletePart, reason: string): CompletePart {
  const omitted = JSON.stringify({ omitted: reason });
  return { part: "complete", start: { ...start, inputs: omitted }, end: { ...end, output: omitted } };
}
