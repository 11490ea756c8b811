import { pulseEveryMs } from "./pulse.js";

export interface LivenessLimits {
  /** A process whose pulse is missing for so long has been stopped or starved. */
  silenceMs: number;
  /**
   * A process that beats while its main thread does not turn computes. Nothing inside it turns for longer than one pass over
   * one batch, or one read of the weights, takes: time that grows with the model.
   */
  blockedMs: number;
}

/** Compiling and loading what a process consists of, until its first beat. */
const startMs = 60_000;

/** Watches the beats of one process (see pulse.ts) and calls `onDead` once, when they break a limit. */
export function watchPulse(
  limits: LivenessLimits,
  onDead: (reason: string) => void,
): { beat: (bytes: Uint8Array) => void; stop: () => void } {
  let beatAt = Date.now() + startMs;
  let turnedAt = beatAt;
  let lookedAt = Date.now();
  const everyMs = Math.min(pulseEveryMs, limits.silenceMs / 4);
  const timer = setInterval(() => {
    const now = Date.now();
    // When this process itself stood still, it may have beats to read yet.
    if (now - lookedAt > limits.silenceMs / 2) {
      beatAt = Math.max(beatAt, now);
      turnedAt = Math.max(turnedAt, now);
    }
    lookedAt = now;
    if (now - beatAt > limits.silenceMs) end(`it gave no sign of life for ${seconds(limits.silenceMs)} s`);
    else if (now - turnedAt > limits.blockedMs)
      end(`it was stuck in one computation for ${seconds(limits.blockedMs)} s`);
  }, everyMs);
  timer.unref();

  const stop = (): void => clearInterval(timer);
  function end(reason: string): void {
    stop();
    onDead(reason);
  }
  return {
    beat(bytes) {
      beatAt = Date.now();
      if (bytes.includes(1)) turnedAt = beatAt;
    },
    stop,
  };
}

function seconds(ms: number): number {
  return Math.round(ms / 100) / 10;
}
