import type { JsonChildren } from "./json-children.js";
import type { ScanRequest, ScanResponse } from "./scan-messages.js";
// oxlint-disable-next-line import/default -- the address of the worker, which the build makes
import scanner from "./scan-worker.js?worker&url";

interface TrustedTypes {
  createPolicy(
    name: string,
    rules: { createScriptURL: (url: string) => string },
  ): { createScriptURL(url: string): string };
}

/** The policy of the page lets workers of its own files run alone, by this name. */
const policy = (globalThis as { trustedTypes?: TrustedTypes }).trustedTypes?.createPolicy("heddle-worker", {
  createScriptURL: (url) => {
    if (url !== scanner) throw new TypeError(`${url} is not a worker of the console`);
    return url;
  },
});

/** Locates children in a long text on a thread of its own, which ends with the page or when nothing refers to it. */
export function scanInWorker(text: string): (from: number, to: number, skip: number) => Promise<JsonChildren> {
  const worker = new Worker(policy?.createScriptURL(scanner) ?? scanner, { type: "module" });
  const waiting = new Map<number, { resolve: (found: JsonChildren) => void; reject: (error: Error) => void }>();
  let sent = 0;
  worker.addEventListener("message", ({ data }: MessageEvent<ScanResponse>) => {
    const request = waiting.get(data.id);
    waiting.delete(data.id);
    if ("found" in data) request?.resolve(data.found);
    else request?.reject(new Error(data.failed));
  });
  worker.addEventListener("error", () => {
    for (const { reject } of waiting.values()) reject(new Error("the worker did not start"));
    waiting.clear();
  });
  return (from, to, skip) =>
    new Promise((resolve, reject) => {
      const id = sent++;
      waiting.set(id, { resolve, reject });
      const request: ScanRequest = { id, from, to, skip, ...(id === 0 && { text }) };
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker has none
      worker.postMessage(request);
    });
}
