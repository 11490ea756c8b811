import { parentPort } from "node:worker_threads";
import { renderTemplate } from "./template-render.js";
import type { TemplateReply, TemplateRequest } from "./template-thread.js";

parentPort?.on("message", ({ source, variables, now, limits }: TemplateRequest) => {
  try {
    reply({ text: renderTemplate(source, variables, { now: new Date(now), limits }) });
  } catch (error) {
    reply({ error: error instanceof Error ? error.message : String(error) });
  }
});
reply({ text: "ready" });

function reply(message: TemplateReply): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
  parentPort?.postMessage(message);
}
