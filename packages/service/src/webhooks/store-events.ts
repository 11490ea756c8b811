import type { ControlPlane, WebhookEvent } from "@heddle/control-plane";
import type { EventsSince, TraceStore } from "@heddle/trace-store";
import { Rounds } from "./rounds.js";

interface Options {
  control: Pick<ControlPlane, "webhooks">;
  store: Pick<TraceStore, "projectEvents">;
  /** Whether this process writes the traces: another does not know what is under way. */
  mayWrite?: () => boolean;
  /** Between two looks; longer where these take long. */
  everyMs?: number;
}

const defaultEveryMs = 1000;
const followedTypes = ["evaluation_run.finished", "feedback.created"] as const;
/** Of one event; further ones are counted. */
const namedAtMost = 100;
/** Types of what the service notes itself, such as the training jobs of a call. */
const ownTypes = "heddle.";

/**
 * Records events for webhooks of what is stored in their projects, whoever wrote it. It reads what was stored after the version that the
 * control plane has noted, so that nothing is missed and nothing is reported twice when the service ends at any moment.
 */
export class StoreEvents {
  readonly #options: Options;
  readonly #onError: (error: unknown) => void;
  readonly #rounds = new Rounds((signal) => this.#look(signal));
  /** Up to where each project was read, which is noted with the next event only. */
  readonly #read = new Map<string, bigint>();
  /** What was settled when everything was read last. */
  #seen: bigint | undefined;

  /** `onError` is called when a store does not respond, and for unexpected errors. */
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

  /** Returns how long to wait: it takes at most half of the time. */
  async #look(signal: AbortSignal): Promise<number> {
    const { everyMs = defaultEveryMs, mayWrite = () => true } = this.#options;
    const began = performance.now();
    const settled = await this.#settled(signal);
    if (settled === undefined) this.#seen = undefined;
    else if (!mayWrite()) this.#read.clear();
    else if (settled !== this.#seen) {
      const isDone = await this.#readAll(signal).catch((error: unknown) => {
        if (!signal.aborted) this.#onError(error);
        return false;
      });
      this.#seen = isDone ? settled : undefined;
    }
    return Math.max(everyMs, performance.now() - began);
  }

  /** Undefined where a store does not say. */
  async #settled(signal: AbortSignal): Promise<bigint | undefined> {
    return await this.#options.store.projectEvents.settled().catch((error: unknown) => {
      if (!signal.aborted) this.#onError(error);
      return undefined;
    });
  }

  /** Returns whether everything was read. */
  async #readAll(signal: AbortSignal): Promise<boolean> {
    const { webhooks } = this.#options.control;
    const followed = await webhooks.followed(followedTypes);
    const known = new Set(followed.map(({ project_id }) => project_id));
    for (const id of this.#read.keys()) if (!known.has(id)) this.#read.delete(id);
    let isDone = true;
    for (const { project_id, position } of followed) {
      if (signal.aborted) return false;
      isDone = (await this.#readProject(project_id, position, signal)) && isDone;
    }
    return isDone;
  }

  async #readProject(projectId: string, position: bigint | undefined, signal: AbortSignal): Promise<boolean> {
    const { control, store } = this.#options;
    if (position === undefined) {
      await control.webhooks.recordEvents(projectId, await store.projectEvents.settled(projectId), []);
      return true;
    }
    const read = this.#read.get(projectId) ?? position;
    const after = read > position ? read : position;
    const found = await store.projectEvents.since(projectId, after, { signal });
    const events = [...runEvents(projectId, found), ...feedbackEvents(projectId, found)];
    if (events.length > 0) await control.webhooks.recordEvents(projectId, found.upTo, events);
    this.#read.set(projectId, found.upTo);
    return found.upTo >= (await store.projectEvents.settled(projectId));
  }
}

/** Once for each run, however often it is changed afterwards. */
function runEvents(projectId: string, { runs }: EventsSince): WebhookEvent[] {
  return runs.map(({ id, exception, version }) => ({
    project_id: projectId,
    type: "evaluation_run.finished",
    key: `evaluation_run ${id}`,
    version,
    data: { evaluation_run_id: id, error: exception === "" ? null : exception },
  }));
}

function feedbackEvents(projectId: string, { feedback }: EventsSince): WebhookEvent[] {
  const given = feedback.filter(({ feedback_type }) => !feedback_type.startsWith(ownTypes));
  const last = given.at(-1);
  if (last === undefined) return [];
  const named = given
    .slice(0, namedAtMost)
    .map(({ id, feedback_type, weave_ref }) => ({ id, feedback_type, weave_ref }));
  return [
    {
      project_id: projectId,
      type: "feedback.created",
      version: last.version,
      data: { count: given.length, feedback: named },
    },
  ];
}
