import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { withTimeout } from "./with-timeout.js";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const tooLong = () => new Error("too long");

test("work within its time settles as it would alone, and leaves no timer", async () => {
  expect(await withTimeout(Promise.resolve(1), 1000, tooLong)).toBe(1);
  await expect(withTimeout(Promise.reject(new Error("broken")), 1000, tooLong)).rejects.toThrow("broken");
  expect(vi.getTimerCount()).toBe(0);
});

test("work that takes longer is rejected", async () => {
  const waiting = withTimeout(new Promise(() => {}), 1000, tooLong);
  const rejected = expect(waiting).rejects.toThrow("too long");
  await vi.advanceTimersByTimeAsync(1000);
  await rejected;
});
