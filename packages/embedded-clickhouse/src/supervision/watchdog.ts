import type { HostProcess } from "./host-process.js";

const everyMs = 1000;
const hangMs = 3000;

/** Kills the host when its engine has not responded to a query for three seconds. */
export function watch(host: HostProcess, onKill: (reason: string) => void): { stop(): void } {
  let probing = false;
  let respondedAt = performance.now();
  let checkedAt = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    // When this process itself was suspended, the host had no chance to respond.
    if (now - checkedAt > 2 * everyMs) respondedAt = now;
    checkedAt = now;
    if (now - respondedAt > hangMs) {
      stop();
      onKill(`the engine did not respond for ${hangMs / 1000} s`);
      host.kill();
      return;
    }
    if (probing) return;
    probing = true;
    void probe();
  }, everyMs);
  timer.unref();
  async function probe(): Promise<void> {
    await host.probe();
    probing = false;
    respondedAt = performance.now();
  }
  const stop = (): void => clearInterval(timer);
  return { stop };
}
