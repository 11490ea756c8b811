import { HeddleError } from "@heddle/errors";
import { startThread } from "@heddle/threads";
import type { TemplateLimits } from "./template-limits.js";

export interface TemplateRequest {
  source: string;
  variables: Record<string, unknown>;
  /** Milliseconds since 1970, for `strftime_now`. */
  now: number;
  limits: TemplateLimits;
}

export type TemplateReply = { text: string } | { error: string };

const heapMegabytes = 256;

interface Thread {
  /** Renders one template at a time. Rejects if the thread has exited. */
  call(request: TemplateRequest): Promise<TemplateReply>;
  terminate(): Promise<unknown>;
}

let thread: Promise<Thread> | undefined;
let last: Promise<unknown> = Promise.resolve();

/**
 * Renders an untrusted template in a worker thread, one at a time. Rejects with `invalid` if it fails, takes longer
 * than `timeMs` or exceeds the memory of the thread; the thread is then replaced.
 */
export function renderInThread(request: TemplateRequest, { timeMs }: { timeMs: number }): Promise<string> {
  const rendering = last.then(() => renderExclusive(request, timeMs));
  last = rendering.catch(() => undefined);
  return rendering;
}

async function renderExclusive(request: TemplateRequest, timeMs: number): Promise<string> {
  const starting = (thread ??= openThread());
  const discardThread = (): void => {
    if (thread === starting) thread = undefined;
  };
  const current = await starting.catch((error: unknown) => {
    discardThread();
    throw new HeddleError("failed", `the template thread did not start: ${String(error)}`);
  });
  const dead = (error: unknown): TemplateReply => {
    discardThread();
    const memory = error instanceof Error && "code" in error && error.code === "ERR_WORKER_OUT_OF_MEMORY";
    return { error: memory ? `template used more than ${heapMegabytes} MB of memory` : String(error) };
  };
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<TemplateReply>((resolve) => {
    timer = setTimeout(() => {
      discardThread();
      void current.terminate();
      resolve({ error: `template took longer than ${timeMs / 1000} s` });
    }, timeMs);
  });
  const reply = await Promise.race([current.call(request).catch(dead), timeout]);
  clearTimeout(timer);
  if ("error" in reply) throw new HeddleError("invalid", `chat template: ${reply.error}`);
  return reply.text;
}

async function openThread(): Promise<Thread> {
  const worker = startThread(new URL("./template-worker.ts", import.meta.url), {
    resourceLimits: { maxOldGenerationSizeMb: heapMegabytes, stackSizeMb: 4 },
  });
  let pending: { resolve(reply: TemplateReply): void; reject(error: unknown): void } | undefined;
  let dead: unknown;
  const end = (error: unknown): void => {
    dead ??= error;
    pending?.reject(dead);
    pending = undefined;
  };
  worker.on("message", (reply: TemplateReply) => {
    worker.unref();
    pending?.resolve(reply);
    pending = undefined;
  });
  worker.on("error", end);
  worker.on("exit", (code) => end(new Error(`the thread ended with code ${code}`)));
  const nextReply = (): Promise<TemplateReply> =>
    new Promise((resolve, reject) => {
      if (dead) reject(dead);
      else pending = { resolve, reject };
    });

  await nextReply();
  return {
    call(request) {
      const replied = nextReply();
      // An idle thread must not keep the process running.
      worker.ref();
      try {
        // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
        worker.postMessage(request);
      } catch (error) {
        pending?.resolve({ error: `the variables cannot be sent to the template thread: ${String(error)}` });
        pending = undefined;
        worker.unref();
      }
      return replied;
    },
    terminate: () => worker.terminate(),
  };
}
