import { heartbeatIntervalMs } from "./heartbeat.js";

export interface LivenessLimits {
  /** A process whose pulse is missing for so long has been stopped or starved. */
  heartbeatTimeoutMs: number;
  /**
   * A process that beats while its main thread does not turn computes. Nothing inside it turns for longer than one pass over
   * one batch, or one read of the weights, takes: time that grows with the model.
   */
  blockedTimeoutMs: number;
}

/** Compiling and loading what a process consists of, until its first beat. */
const startTimeoutMs = 60_000;

/** Watches the beats of one process (see pulse.ts) and calls `onDead` once, when they break a limit. */
export function watchHeartbeat(
  limits: LivenessLimits,
  onDead: (reason: string) => void,
): { beat: (bytes: Uint8Array) => void; stop: () => void } {
  let lastBeatAt = Date.now() + startTimeoutMs;
  let lastProgressAt = lastBeatAt;
  let lastCheckAt = Date.now();
  const intervalMs = Math.min(heartbeatIntervalMs, limits.heartbeatTimeoutMs / 4);
  const timer = setInterval(() => {
    const now = Date.now();
    // When this process itself stood still, it may have beats to read yet.
    if (now - lastCheckAt > limits.heartbeatTimeoutMs / 2) {
      lastBeatAt = Math.max(lastBeatAt, now);
      lastProgressAt = Math.max(lastProgressAt, now);
    }
    lastCheckAt = now;
    if (now - lastBeatAt > limits.heartbeatTimeoutMs)
      end(`it gave no sign of life for ${seconds(limits.heartbeatTimeoutMs)} s`);
    else if (now - lastProgressAt > limits.blockedTimeoutMs)
      end(`it was stuck in one computation for ${seconds(limits.blockedTimeoutMs)} s`);
  }, intervalMs);
  timer.unref();

  const stop = (): void => clearInterval(timer);
  function end(reason: string): void {
    stop();
    onDead(reason);
  }
  return {
    beat(bytes) {
      lastBeatAt = Date.now();
      if (bytes.includes(1)) lastProgressAt = lastBeatAt;
    },
    stop,
  };
}

function seconds(ms: number): number {
  return Math.round(ms / 100) / 10;
}
