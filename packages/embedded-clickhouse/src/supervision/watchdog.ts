import type { HostProcess } from "./host-process.js";

const everyMs = 1000;
const silenceMs = 3000;

/** Kills the host when its engine has not answered a query for three seconds. */
export function watch(host: HostProcess, onKill: (reason: string) => void): { stop(): void } {
  let asking = false;
  let silentSince = performance.now();
  let askedAt = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    // When this process itself stood still, the host had no chance to answer.
    if (now - askedAt > 2 * everyMs) silentSince = now;
    askedAt = now;
    if (now - silentSince > silenceMs) {
      stop();
      onKill(`the engine did not answer for ${silenceMs / 1000} s`);
      host.kill();
      return;
    }
    if (asking) return;
    asking = true;
    void ask();
  }, everyMs);
  timer.unref();
  async function ask(): Promise<void> {
    await host.probe();
    asking = false;
    silentSince = performance.now();
  }
  const stop = (): void => clearInterval(timer);
  return { stop };
}
