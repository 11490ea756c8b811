import type { ControlPlane, DueDelivery } from "@heddle/control-plane";
import { HeddleError } from "@heddle/errors";
import type { Config } from "../config/config.js";
import { openOutgoing } from "../providers/outgoing.js";
import type { OutgoingResponse } from "../providers/outgoing.js";
import { signedHeaders } from "./sign.js";

interface Options {
  control: ControlPlane;
  config: Pick<Config, "webhooksPrivate">;
  /** Of this package. */
  version: string;
}

const second = 1_000_000n;
const hour = 3600n * second;
/** Before each further attempt, after the first. */
const delays = [5n * second, 30n * second, 300n * second, 1800n * second, 2n * hour, 5n * hour, 10n * hour, 10n * hour];
const logKept = 7n * 24n * hour;
const timeoutMs = 15_000;
const maxResponseBytes = 1_048_576;
/** Requests at the same time: one of each webhook, so many in all, and of one entity. */
const atOnce = 16;
const atOncePerEntity = 8;
/** What another process has added is found so late. */
const longestWaitMs = 5000;
const forgetEveryMs = 3_600_000;
/** The receiver does not want it any more. */
const gone = 410;

/** Sends what is due to the webhooks of all projects. What was not recorded before a crash is sent again. */
export class WebhookSender {
  readonly #options: Options;
  readonly #onError: (error: unknown) => void;
  readonly #stopping = new AbortController();
  /** By webhook. */
  readonly #running = new Map<string, { entity: string; work: Promise<void> }>();
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;
  #lookAgain = false;
  #forgotAt = -Infinity;
  #unwatch = (): void => {};

  /** `onError` is called when the control plane does not respond. */
  constructor(options: Options, onError: (error: unknown) => void) {
    this.#options = options;
    this.#onError = onError;
  }

  start(): void {
    this.#unwatch = this.#options.control.webhooks.watch(() => this.#wake());
    this.#wake();
  }

  /** Begins nothing more. Requests that are sent are cut off, and sent again after the next start. */
  async stop(): Promise<void> {
    this.#unwatch();
    this.#stopping.abort();
    clearTimeout(this.#timer);
    await this.#looking;
    await Promise.all(Array.from(this.#running.values(), ({ work }) => work));
  }

  #wake(): void {
    if (this.#stopping.signal.aborted) return;
    clearTimeout(this.#timer);
    this.#lookAgain = this.#looking !== undefined;
    this.#looking ??= this.#look();
  }

  async #look(): Promise<void> {
    const waitMs = await this.#sendDue().catch((error: unknown) => {
      this.#onError(error);
      return longestWaitMs;
    });
    this.#looking = undefined;
    if (this.#stopping.signal.aborted) return;
    if (this.#lookAgain) this.#wake();
    else this.#timer = setTimeout(() => this.#wake(), waitMs).unref();
  }

  /** Begins with what is due and has a slot; returns how long to wait for the next one. */
  async #sendDue(): Promise<number> {
    this.#lookAgain = false;
    const { webhooks } = this.#options.control;
    if (performance.now() - this.#forgotAt > forgetEveryMs) {
      await webhooks.forget(nowUs() - logKept);
      this.#forgotAt = performance.now();
    }
    if (this.#running.size < atOnce) {
      for (const delivery of await webhooks.due([...this.#running.keys()], 10 * atOnce)) {
        if (this.#running.size >= atOnce || this.#stopping.signal.aborted) break;
        this.#begin(delivery);
      }
    }
    const dueMs = await webhooks.msToNextDue();
    // What is due and waits for a slot is looked for when one is free.
    return dueMs === undefined || dueMs <= 0 ? longestWaitMs : Math.min(dueMs + 1, longestWaitMs);
  }

  #begin(delivery: DueDelivery): void {
    const [entity = ""] = delivery.project_id.split("/");
    const ofEntity = [...this.#running.values()].filter((each) => each.entity === entity);
    if (ofEntity.length >= atOncePerEntity) return;
    const work = this.#attempt(delivery)
      .catch(this.#onError)
      .finally(() => {
        this.#running.delete(delivery.webhook_id);
        this.#wake();
      });
    this.#running.set(delivery.webhook_id, { entity, work });
  }

  async #attempt(delivery: DueDelivery): Promise<void> {
    const { webhooks } = this.#options.control;
    let response: OutgoingResponse;
    try {
      response = await this.#send(delivery);
    } catch (error) {
      if (this.#stopping.signal.aborted) return;
      if (!(error instanceof HeddleError)) throw error;
      // An address that requests may not go to stays one.
      const outcome = error.code === "denied" ? "failed" : nextAttempt(delivery);
      return await webhooks.record(delivery.id, { error: error.message, outcome });
    }
    const { status } = response;
    if (status >= 200 && status < 300) {
      return await webhooks.record(delivery.id, { response_status: status, outcome: "delivered" });
    }
    const outcome = status === gone ? "failed" : nextAttempt(delivery);
    await webhooks.record(delivery.id, {
      response_status: status,
      error: `the receiver responded with ${status}`,
      outcome,
    });
  }

  async #send({ id, url, secret, payload }: DueDelivery): Promise<OutgoingResponse> {
    const { config, version } = this.#options;
    const { origin } = new URL(url);
    const send = openOutgoing({
      origins: [origin],
      allowPrivate: config.webhooksPrivate,
      timeoutMs,
      maxResponseBytes,
    });
    const seconds = Math.floor(Date.now() / 1000);
    const headers = {
      "content-type": "application/json",
      "user-agent": `heddle/${version}`,
      ...signedHeaders(secret, { id, body: payload, seconds }),
    };
    return await send({ method: "POST", url, headers, body: payload, signal: this.#stopping.signal });
  }
}

function nextAttempt({ attempts }: DueDelivery): "failed" | { after: bigint } {
  const delay = delays[attempts];
  return delay === undefined ? "failed" : { after: delay };
}

const nowUs = (): bigint => BigInt(Date.now()) * 1000n;
