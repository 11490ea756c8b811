import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { watch } from "./watchdog.js";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A host that responds until it hangs, and counts how often it is killed. */
function fakeHost() {
  const state = { hanging: false, kills: 0 };
  const host = {
    pid: 1,
    port: undefined,
    version: "",
    exited: new Promise<string>(() => {}),
    probe: () => (state.hanging ? new Promise<void>(() => {}) : Promise.resolve()),
    close: async () => {},
    kill: () => void state.kills++,
  };
  const watchdog = watch(host, () => {});
  return { state, watchdog };
}

test("a hanging engine is killed within seconds, also when the machine's clock moved back by an hour", async () => {
  const { state } = fakeHost();
  await vi.advanceTimersByTimeAsync(5000);
  state.hanging = true;
  vi.setSystemTime(Date.now() - 3_600_000);
  await vi.advanceTimersByTimeAsync(6000);
  expect(state.kills).toBe(1);
});

test("an engine that responds is not killed, whatever the clock does", async () => {
  const { state, watchdog } = fakeHost();
  for (const jump of [3_600_000, -7_200_000, 10_000]) {
    vi.setSystemTime(Date.now() + jump);
    await vi.advanceTimersByTimeAsync(3000);
  }
  watchdog.stop();
  expect(state.kills).toBe(0);
});
