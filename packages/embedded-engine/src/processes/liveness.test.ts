import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { watchHeartbeat } from "./liveness.js";

const stillTurning = Uint8Array.of(1);
const onlyBeating = Uint8Array.of(0, 0);

describe("the liveness check of a child process", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  function watch() {
    const reasons: string[] = [];
    const heartbeat = watchHeartbeat({ heartbeatTimeoutMs: 4000, blockedTimeoutMs: 60_000 }, (reason) =>
      reasons.push(reason),
    );
    const beatFor = (ms: number, bytes: Uint8Array): void => {
      for (let passed = 0; passed < ms; passed += 500) {
        vi.advanceTimersByTime(500);
        heartbeat.beat(bytes);
      }
    };
    return { heartbeat, reasons, beatFor };
  }

  it("keeps a process that computes for long and runs its event loop occasionally", () => {
    const { heartbeat, reasons, beatFor } = watch();
    for (let computation = 0; computation < 5; computation++) {
      beatFor(50_000, onlyBeating);
      heartbeat.beat(stillTurning);
    }
    expect(reasons).toEqual([]);
    heartbeat.stop();
  });

  it("kills a process without heartbeats, with one report", () => {
    const { reasons, beatFor } = watch();
    beatFor(1000, stillTurning);
    vi.advanceTimersByTime(20_000);
    expect(reasons).toEqual(["it sent no heartbeat for 4 s"]);
  });

  it("kills a process with heartbeats whose event loop is blocked", () => {
    const { reasons, beatFor } = watch();
    beatFor(1000, stillTurning);
    beatFor(70_000, onlyBeating);
    expect(reasons).toEqual(["its event loop was blocked for 60 s"]);
  });

  it("allows more time for the start than for a heartbeat", () => {
    const { reasons } = watch();
    vi.advanceTimersByTime(50_000);
    expect(reasons).toEqual([]);
    vi.advanceTimersByTime(20_000);
    expect(reasons).toHaveLength(1);
  });

  it("does not count a suspension of its own process", () => {
    const { heartbeat, reasons, beatFor } = watch();
    beatFor(1000, stillTurning);
    // As after a suspension: the clock has advanced, but no timer has run.
    vi.setSystemTime(Date.now() + 3_600_000);
    vi.advanceTimersByTime(1000);
    beatFor(5000, stillTurning);
    expect(reasons).toEqual([]);
    heartbeat.stop();
  });
});
