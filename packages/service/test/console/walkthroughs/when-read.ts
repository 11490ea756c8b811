import { setTimeout as delay } from "node:timers/promises";
import type { Page, Request } from "playwright-core";

/** What stays open for as long as it is looked at. */
const endless = /\/calls\/tail$|\/events\/stream$/;
/** For how long nothing was asked for when somebody presses the next key: who reads is slower. */
const quietMs = 200;

/** Waits until a page has read what it shows, as somebody does who looks before pressing a key. */
export function whenRead(page: Page): () => Promise<void> {
  const inFlight = new Set<Request>();
  let changed = Date.now();
  page.on("request", (request) => {
    if (endless.test(new URL(request.url()).pathname)) return;
    inFlight.add(request);
    changed = Date.now();
  });
  const end = (request: Request) => {
    if (inFlight.delete(request)) changed = Date.now();
  };
  page.on("requestfinished", end);
  page.on("requestfailed", end);
  return async () => {
    const since = Date.now();
    while (inFlight.size > 0 || Date.now() - Math.max(changed, since) < quietMs) await delay(20);
  };
}
