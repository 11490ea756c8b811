import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { Writing } from "./writing.js";

/** Full queues, too: who sends later is not refused. */
const isLater = (status: number) => status === 0 || status === 429 || status === 503;

/**
 * Sends a request until it is acknowledged, as one and the same by its `X-Weave-Retry-Id`, and sometimes once more, which must
 * change nothing. Returns the response.
 */
export async function untilAcknowledged<Response>(
  { wire, random }: Pick<Writing, "wire" | "random">,
  path: string,
  body: unknown,
): Promise<Response> {
  const headers = { "x-weave-retry-id": randomUUID() };
  let first: string | undefined;
  const times = random() < 0.3 ? 2 : 1;
  for (let acknowledged = 0; acknowledged < times;) {
    const { status, text } = await wire.post(path, body, headers);
    if (status === 200) {
      first ??= text;
      acknowledged += 1;
    } else if (isLater(status)) await delay(50);
    else throw new Error(`${path} responded ${status}: ${text}`);
  }
  return JSON.parse(first ?? "") as Response;
}
