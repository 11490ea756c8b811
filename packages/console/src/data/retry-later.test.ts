import { HeddleApiError } from "@heddle/client/tracing";
import { QueryClient, QueryObserver } from "@tanstack/react-query";
import { expect, onTestFinished, test, vi } from "vitest";
import { retryQueries } from "./retry-queries.js";
import { waitBeforeRetry } from "./retry-later.js";

const failure = (status: number, headers: Record<string, string> = {}) =>
  new HeddleApiError(
    { operationId: "callsPage", operation: "POST /calls/page" },
    { status, headers: new Headers(headers) },
  );

test("what may pass is tried again after longer and longer waits, not before the service asks for it", () => {
  const waits = [1, 2, 3, 4, 5, 6, 7].map((failures) => waitBeforeRetry(failure(503), failures));
  expect(waits).toEqual([1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
  expect(waitBeforeRetry(failure(429, { "retry-after": "7" }), 1)).toBe(7000);
  expect(waitBeforeRetry(failure(0), 1)).toBe(1000);
});

test("what will not pass is not tried again by itself", () => {
  expect([400, 401, 403, 413, 422].map((status) => waitBeforeRetry(failure(status), 1))).toEqual([
    undefined,
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
  expect(waitBeforeRetry(new Error("a mistake of the page"), 1)).toBeUndefined();
});

/** A page, as far as it says whether it can be seen. */
function page() {
  vi.useFakeTimers();
  const target = Object.assign(new EventTarget(), { visibilityState: "visible" });
  vi.stubGlobal("document", target);
  onTestFinished(() => {
    vi.unstubAllGlobals();
    vi.useRealTimers();
  });
  return {
    show: (state: "visible" | "hidden") => {
      target.visibilityState = state;
      target.dispatchEvent(new Event("visibilitychange"));
    },
  };
}

test("a screen reads again by itself for as long as the service is away, and rests while it cannot be seen", async () => {
  const { show } = page();
  const client = new QueryClient({ defaultOptions: { queries: { retry: false, networkMode: "always" } } });
  retryQueries(client);
  let reads = 0;
  const queryFn = async () => {
    if (++reads < 4) throw failure(503);
    return await Promise.resolve("calls");
  };
  const observer = new QueryObserver(client, { queryKey: ["calls"], queryFn });
  const leave = observer.subscribe(() => undefined);
  await vi.advanceTimersByTimeAsync(0);
  expect(reads).toBe(1);
  await vi.advanceTimersByTimeAsync(1000);
  expect(reads).toBe(2);
  show("hidden");
  await vi.advanceTimersByTimeAsync(60_000);
  expect(reads).toBe(2);
  show("visible");
  await vi.advanceTimersByTimeAsync(0);
  expect(reads).toBe(3);
  await vi.advanceTimersByTimeAsync(4000);
  expect([reads, observer.getCurrentResult().data]).toEqual([4, "calls"]);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(reads).toBe(4);
  leave();
});

test("what no screen shows any more is not read again", async () => {
  page();
  const client = new QueryClient({ defaultOptions: { queries: { retry: false, networkMode: "always" } } });
  retryQueries(client);
  let reads = 0;
  const queryFn = () => {
    reads++;
    return Promise.reject(failure(503));
  };
  const leave = new QueryObserver(client, { queryKey: ["calls"], queryFn }).subscribe(() => undefined);
  await vi.advanceTimersByTimeAsync(0);
  leave();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(reads).toBe(1);
});
