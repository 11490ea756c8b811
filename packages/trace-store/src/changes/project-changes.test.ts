import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ProjectChanges } from "./project-changes.js";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** How long readers collect what changes after they were woken, where what they read then takes so long. */
function collectedMs(readMs: number): number {
  let version = 0n;
  const changes = new ProjectChanges(() => version, version);
  const change = () => {
    changes.add({ kind: "call", id: "a", version: ++version });
    changes.notice();
  };
  vi.advanceTimersByTime(1000);
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
  expect([0, 4, 10, 20, 30, 1000].map(collectedMs)).toEqual([50, 50, 50, 100, 150, 200]);
});
