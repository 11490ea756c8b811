import { connectTracing } from "@heddle/client/tracing";
import { expect, onTestFinished, test, vi } from "vitest";
import { tailOfCalls, takeTail } from "./tails.js";

/** The locks of one browser, as far as they are asked for. */
function browserLocks(): LockManager {
  const held = new Set<string>();
  const request = async (name: string, _: LockOptions, use: (lock: Lock | null) => Promise<unknown>) => {
    if (held.has(name)) return await use(null);
    held.add(name);
    await use({ name, mode: "exclusive" });
    held.delete(name);
    return undefined;
  };
  return { request } as unknown as LockManager;
}

test("pages of one browser keep three responses open, and the next one has its turn when one is closed", async () => {
  const locks = browserLocks();
  const taken = await Promise.all([takeTail(locks), takeTail(locks), takeTail(locks), takeTail(locks)]);
  expect(taken.map((release) => release !== undefined)).toEqual([true, true, true, false]);
  taken[1]?.();
  await Promise.resolve();
  expect(await takeTail(locks)).toBeDefined();
  expect(await takeTail(locks)).toBeUndefined();
});

/** A page that is not secure. */
function withoutLocks(): void {
  vi.stubGlobal("navigator", {});
  onTestFinished(() => void vi.unstubAllGlobals());
}

test("a page that knows nothing of others keeps as many open as it needs", async () => {
  withoutLocks();
  for (let page = 0; page < 4; page++) expect(await takeTail()).toBeDefined();
});

test("a tail that a proxy holds back ends, so that the page looks for itself", async () => {
  withoutLocks();
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const fetch = ({ signal }: Request) =>
    new Promise<Response>((_, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason as Error));
    });
  const connection = connectTracing({ baseUrl: "http://console.test", apiKey: "x", fetch });
  const next = tailOfCalls(connection, { project_id: "acme/demo" }).next();
  const failed = expect(next).rejects.toThrow("the tail says nothing");
  await vi.advanceTimersByTimeAsync(60_000);
  await failed;
});
