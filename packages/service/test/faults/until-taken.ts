import { setTimeout as delay } from "node:timers/promises";

/** As a client that sends again, for a minute, what got 503: databases are opened, and leases renewed, in their time. */
export async function untilTaken(send: () => Promise<Response>): Promise<Response> {
  for (let attempts = 0; ; attempts++) {
    const response = await send();
    if (response.status !== 503 || attempts >= 120) return response;
    await response.text();
    await delay(500);
  }
}
