import { HeddleApiError } from "@heddle/client/tracing";
import { createChatCompletion } from "@heddle/client/training";
import type { BrowserSession } from "../session/session.js";
import { noAnswer, withChunk } from "./answer.js";
import { bodyOf } from "./draft.js";
import type { Draft } from "./draft.js";
import type { Answer } from "./answer.js";

/** What one model has made of a request. */
export interface Run {
  status: "running" | "done" | "stopped" | "failed";
  /** What it answers. */
  draft: Draft;
  answer: Answer;
  error: unknown;
  /** Id of the call that it is recorded as. */
  callId: string | undefined;
  /** Milliseconds to the first chunk, and in all. */
  firstMs: number | undefined;
  ms: number | undefined;
}

interface Request {
  draft: Draft;
  projectId: string;
  model: string;
}

/** Sends exact text, which the client alone would parse and write again. */
export const withBody = <Of extends { fetch: (request: globalThis.Request) => Promise<Response> }>(
  connection: Of,
  body: string,
): Of => ({
  ...connection,
  fetch: async (request: globalThis.Request) => await connection.fetch(new globalThis.Request(request, { body })),
});

/** The runs of a playground on one recorded call, or none, by their models. Each goes on whatever becomes of the others. */
export class Runs {
  readonly #session: BrowserSession;
  readonly #listeners = new Set<() => void>();
  readonly #stops = new Map<string, AbortController>();
  #runs: ReadonlyMap<string, Run> = new Map();

  constructor(
    session: BrowserSession,
    /** Id of the recorded call. */
    readonly recorded: string | undefined,
  ) {
    this.#session = session;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  readonly state = (): ReadonlyMap<string, Run> => this.#runs;

  /** Runs a request again ends what the model makes of the one before. */
  start(request: Request): void {
    const { model } = request;
    this.#stops.get(model)?.abort();
    const stop = new AbortController();
    this.#stops.set(model, stop);
    const run: Run = {
      status: "running",
      draft: request.draft,
      answer: noAnswer,
      error: undefined,
      callId: undefined,
      firstMs: undefined,
      ms: undefined,
    };
    this.#set(model, run);
    void this.#read(request, run, stop.signal);
  }

  stop(): void {
    for (const stop of this.#stops.values()) stop.abort();
  }

  async #read({ draft, projectId, model }: Request, begun: Run, signal: AbortSignal): Promise<void> {
    let run = begun;
    const began = performance.now();
    const change = (by: Partial<Run>) => {
      run = { ...run, ...by };
      // Another has begun meanwhile.
      if (this.#stops.get(model)?.signal === signal) this.#set(model, run);
    };
    try {
      const stream = createChatCompletion(
        withBody(this.#session.training, bodyOf(draft, model)),
        { model, messages: [], stream: true, "OpenAI-Project": projectId },
        {
          signal,
          retries: 0,
          timeout: 0,
          onResponse: ({ headers }) => change({ callId: headers.get("x-heddle-call-id") ?? undefined }),
        },
      );
      for await (const chunk of stream) {
        change({
          answer: withChunk(run.answer, chunk),
          firstMs: run.firstMs ?? performance.now() - began,
        });
      }
      change({ status: "done", ms: performance.now() - began });
    } catch (error) {
      const ms = performance.now() - began;
      if (signal.aborted) return change({ status: "stopped", ms });
      const of = error instanceof HeddleApiError ? (error.headers?.get("x-heddle-call-id") ?? undefined) : undefined;
      change({ status: "failed", error, ms, callId: run.callId ?? of });
    }
  }

  #set(model: string, run: Run): void {
    this.#runs = new Map(this.#runs).set(model, run);
    for (const listener of this.#listeners) listener();
  }
}
