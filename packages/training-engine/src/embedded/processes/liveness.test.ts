import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { watchHeartbeat } from "./liveness.js";

const stillTurning = Uint8Array.of(1);
const onlyBeating = Uint8Array.of(0, 0);

describe("the watch over a child process", () => {
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

  it("leaves a process alone that computes for long and turns now and then", () => {
    const { heartbeat, reasons, beatFor } = watch();
    for (let computation = 0; computation < 5; computation++) {
      beatFor(50_000, onlyBeating);
      heartbeat.beat(stillTurning);
    }
    expect(reasons).toEqual([]);
    heartbeat.stop();
  });

  it("ends one that gives no sign of life, and says so once", () => {
    const { reasons, beatFor } = watch();
    beatFor(1000, stillTurning);
    vi.advanceTimersByTime(20_000);
    expect(reasons).toEqual(["it sent no heartbeat for 4 s"]);
  });

  it("ends one that lives and never comes out of a computation", () => {
    const { reasons, beatFor } = watch();
    beatFor(1000, stillTurning);
    beatFor(70_000, onlyBeating);
    expect(reasons).toEqual(["its event loop was blocked for 60 s"]);
  });

  it("gives a start more time than a beat", () => {
    const { reasons } = watch();
    vi.advanceTimersByTime(50_000);
    expect(reasons).toEqual([]);
    vi.advanceTimersByTime(20_000);
    expect(reasons).toHaveLength(1);
  });

  it("does not take its own standing still for the silence of the process", () => {
    const { heartbeat, reasons, beatFor } = watch();
    beatFor(1000, stillTurning);
    // As after a suspension: the clock has gone on, no timer ran meanwhile.
    vi.setSystemTime(Date.now() + 3_600_000);
    vi.advanceTimersByTime(1000);
    beatFor(5000, stillTurning);
    expect(reasons).toEqual([]);
    heartbeat.stop();
  });
});
