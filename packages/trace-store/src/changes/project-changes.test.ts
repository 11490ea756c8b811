import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ProjectChanges } from "./project-changes.js";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** How long readers collect what changes after they were woken, where what they read then takes so long. */
function collectedMs({ readMs = 0, readers = 0 }): number {
  let version = 0n;
  const changes = new ProjectChanges(() => version, version);
  const change = () => {
    changes.add({ kind: "call", id: "a", version: ++version });
    changes.notice();
  };
  vi.advanceTimersByTime(1000);
  for (let n = 0; n < readers; n++) void changes.moved(60_000, new AbortController().signal);
  change();
  vi.advanceTimersByTime(0);
  expect(changes.boundary).toBe(version);
  changes.took(readMs / 2);
  changes.took(readMs / 2);
  change();
  let waited = 0;
  for (; changes.boundary < version; waited += 5) vi.advanceTimersByTime(5);
  changes.close();
  return waited;
}

test("changes are collected longer where reading them takes long, but not so long that readers notice", () => {
  const times = [0, 4, 10, 20, 30, 1000].map((readMs) => collectedMs({ readMs }));
  expect(times).toEqual([50, 50, 50, 100, 150, 200]);
});

test("changes are collected longer for many readers, each of whom is sent a piece of its own", () => {
  expect([1, 10, 20, 30, 200].map((readers) => collectedMs({ readers }))).toEqual([50, 50, 100, 150, 200]);
});
