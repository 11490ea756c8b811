import type { HeddleProcess } from "./heddle-process.js";

/** Ways to kill what runs; what does not start again by itself is started. */
export const killTargets: Record<string, (heddle: HeddleProcess) => Promise<void>> = {
  async "the service"(heddle) {
    await heddle.end("SIGKILL");
    await heddle.start();
  },
  async "the engine host"(heddle) {
    process.kill(heddle.enginePid(), "SIGKILL");
  },
  async "service and engine host"(heddle) {
    process.kill(heddle.enginePid(), "SIGKILL");
    await heddle.end("SIGKILL");
    await heddle.start();
  },
};
