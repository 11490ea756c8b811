import { setTimeout as delay } from "node:timers/promises";
import { HeddleError } from "@heddle/errors";
import type { GenerateResult, Sampler } from "@heddle/training";
import { listOf, restoreTokens } from "../sampling/sampled-token.js";
import type { EngineProcess } from "./child.js";
import type { SamplerMethods, SentResult } from "./sampler-protocol.js";
import { untilAborted } from "./until-aborted.js";

/** A process that ran this long, or responded, counts as stable. One that exits sooner counts towards a crash loop. */
const stableMs = 30_000;
const firstPauseMs = 250;
const maxPauseMs = 30_000;
/** Number of consecutive failures that make a crash loop: requests are rejected until the next start. */
const crashLoopFailures = 4;

export interface RestartingSampler extends Omit<Sampler, "unsupportedFields"> {
  /** Returns the reason of the failure while the process is in a crash loop. */
  failureReason(): string | undefined;
  close(): Promise<void>;
}

/**
 * The port's sampler in a child process that is started with the first request and restarted whenever it exits. A
 * request whose process exits before anything was streamed is retried once. Other running requests reject with
 * `failed`. Weights are loaded again with the first request for them.
 */
export function restartingSampler(
  start: (signal: AbortSignal) => Promise<EngineProcess<SamplerMethods>>,
  log: (line: string) => void,
): RestartingSampler {
  const closing = new AbortController();
  let current: Promise<EngineProcess<SamplerMethods>> | undefined;
  let running = false;
  let failures = 0;
  let hasResponded = false;
  let lastFailure = "";
  let nextStartAt = 0;

  function launch(pauseMs: number): Promise<EngineProcess<SamplerMethods>> {
    nextStartAt = Date.now() + pauseMs;
    const started = pause(pauseMs).then(async () => {
      const startedAt = Date.now();
      hasResponded = false;
      const child = await start(closing.signal);
      running = true;
      void child.exited.then((error) => ended(error.message, Date.now() - startedAt));
      if (closing.signal.aborted) await child.close();
      return child;
    });
    // A failed start is retried as well.
    started.catch((error: unknown) => ended(error instanceof Error ? error.message : String(error), 0));
    current = started;
    return started;
  }

  async function pause(ms: number): Promise<void> {
    await delay(ms, undefined, { signal: closing.signal }).catch(() => undefined);
    if (closing.signal.aborted) throw closed();
  }

  function ended(reason: string, uptimeMs: number): void {
    if (closing.signal.aborted) return;
    running = false;
    lastFailure = reason;
    failures = hasResponded || uptimeMs > stableMs ? 1 : failures + 1;
    const pauseMs = failures === 1 ? 0 : Math.min(firstPauseMs * 2 ** (failures - 2), maxPauseMs);
    log(`${reason}; it restarts in ${pauseMs} ms`);
    void launch(pauseMs);
  }

  function failureReason(): string | undefined {
    if (running || failures < crashLoopFailures) return undefined;
    const seconds = Math.max(1, Math.ceil((nextStartAt - Date.now()) / 1000));
    return `the sampling process failed ${failures} times in a row (last: ${lastFailure}); it restarts within ${seconds} s`;
  }

  async function ready(signal?: AbortSignal): Promise<EngineProcess<SamplerMethods>> {
    if (closing.signal.aborted) throw closed();
    const reason = failureReason();
    if (reason !== undefined && Date.now() < nextStartAt) throw new HeddleError("busy", reason);
    return untilAborted(current ?? launch(0), signal);
  }

  /** Retries a call once if its process exited, unless `hasStreamed` returns true. */
  async function callWithRetry<Result>(
    send: (child: EngineProcess<SamplerMethods>) => Promise<Result>,
    { signal, hasStreamed }: { signal?: AbortSignal; hasStreamed?: () => boolean } = {},
  ): Promise<Result> {
    for (let attempt = 1; ; attempt++) {
      const child = await ready(signal);
      try {
        const result = await send(child);
        hasResponded = true;
        return result;
      } catch (error) {
        const lost = child.ended !== undefined && error === child.ended;
        if (!lost) hasResponded = true;
        if (!lost || attempt > 1 || closing.signal.aborted || hasStreamed?.()) throw error;
      }
    }
  }

  return {
    generate(request, { onChunk, signal } = {}) {
      let streamed = false;
      const onEvent =
        onChunk &&
        ((chunk: Parameters<typeof onChunk>[0]) => {
          streamed = true;
          onChunk({ ...chunk, tokens: restoreTokens(chunk.tokens) });
        });
      const stream = onChunk !== undefined;
      const send = (child: EngineProcess<SamplerMethods>) =>
        child.call("generate", { request, stream }, { signal, onEvent });
      return callWithRetry(send, { signal, hasStreamed: () => streamed }).then(restoreResult);
    },
    preload: (weights) => callWithRetry((child) => child.call("preload", weights)),
    async unload(weights) {
      if (current) await callWithRetry((child) => child.call("unload", weights));
    },
    failureReason,
    async close() {
      closing.abort();
      const child = await current?.catch(() => undefined);
      await child?.close();
    },
  };
}

/** Makes the lists of the prompt, which are as long as the vocabulary, one after the other between other work. */
async function restoreResult({ completions, promptLogprobs, ...result }: SentResult): Promise<GenerateResult> {
  const restored = {
    ...result,
    completions: completions.map((each) => ({ ...each, tokens: restoreTokens(each.tokens) })),
  };
  if (!promptLogprobs) return restored;
  const lists: NonNullable<GenerateResult["promptLogprobs"]> = [];
  for (const list of promptLogprobs) {
    if (list !== null && !Array.isArray(list)) await delay(0);
    const entries = list === null || Array.isArray(list) ? list : listOf(list);
    lists.push(entries as (typeof lists)[number]);
  }
  return { ...restored, promptLogprobs: lists };
}

function closed(): HeddleError {
  return new HeddleError("aborted", "the engine is closed");
}
