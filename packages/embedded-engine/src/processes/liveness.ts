import { heartbeatIntervalMs } from "./heartbeat.js";

export interface LivenessLimits {
  /** Maximum time without a heartbeat: the process is stopped or starved. */
  heartbeatTimeoutMs: number;
  /**
   * Maximum time that the event loop of the process may be blocked while its heartbeat continues. No computation blocks
   * it longer than one pass over one batch, or one read of the weights: time that grows with the model.
   */
  blockedTimeoutMs: number;
}

/** Time until the first heartbeat, for loading and compiling. */
const startTimeoutMs = 60_000;

/** Watches the heartbeat of a process (see heartbeat.ts) and calls `onDead` once, when a limit is exceeded. */
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
    // If this process was suspended, heartbeats may be waiting to be read.
    if (now - lastCheckAt > limits.heartbeatTimeoutMs / 2) {
      lastBeatAt = Math.max(lastBeatAt, now);
      lastProgressAt = Math.max(lastProgressAt, now);
    }
    lastCheckAt = now;
    if (now - lastBeatAt > limits.heartbeatTimeoutMs)
      end(`it sent no heartbeat for ${seconds(limits.heartbeatTimeoutMs)} s`);
    else if (now - lastProgressAt > limits.blockedTimeoutMs)
      end(`its event loop was blocked for ${seconds(limits.blockedTimeoutMs)} s`);
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
