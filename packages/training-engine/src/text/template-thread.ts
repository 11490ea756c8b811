import { HeddleError } from "@heddle/errors";
import { startThread } from "../start-thread.js";
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
  /** One after the other. Rejects once the thread has died. */
  call(request: TemplateRequest): Promise<TemplateReply>;
  terminate(): Promise<unknown>;
}

let thread: Promise<Thread> | undefined;
let last: Promise<unknown> = Promise.resolve();

/**
 * Renders a template that is not trusted in a thread of this process, one at a time. `invalid` when it fails, takes longer than
 * `timeMs` or more memory than the thread has; the thread is then given up and the next template gets a new one.
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
    throw new HeddleError("failed", `the thread for templates does not start: ${String(error)}`);
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
  const answer = (): Promise<TemplateReply> =>
    new Promise((resolve, reject) => {
      if (dead) reject(dead);
      else pending = { resolve, reject };
    });

  await answer();
  return {
    call(request) {
      const answered = answer();
      // While it idles the thread does not keep the process alive.
      worker.ref();
      try {
        // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
        worker.postMessage(request);
      } catch (error) {
        pending?.resolve({ error: `cannot be given to the template: ${String(error)}` });
        pending = undefined;
        worker.unref();
      }
      return answered;
    },
    terminate: () => worker.terminate(),
  };
}
