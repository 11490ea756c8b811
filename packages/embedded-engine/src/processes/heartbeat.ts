import { once } from "node:events";
import type FileSystem from "node:fs";
import type Threads from "node:worker_threads";
import { Worker } from "node:worker_threads";

/** File descriptor of the heartbeat pipe in the child; 3 is the message channel. */
export const heartbeatDescriptor = 4;
export const heartbeatIntervalMs = 250;

interface HeartbeatData {
  /** Counts event loop iterations of the main thread. */
  ticks: Int32Array;
  descriptor: number;
  intervalMs: number;
}

/**
 * Starts the heartbeat of this child process and resolves with the first beat. A beat is one byte: 1 if the event loop
 * of the main thread has run since the last beat, else 0. Beats come from a separate thread, which distinguishes a
 * computing process from a stopped one.
 */
export async function startHeartbeat(): Promise<void> {
  const ticks = new Int32Array(new SharedArrayBuffer(4));
  setInterval(() => Atomics.add(ticks, 0, 1), heartbeatIntervalMs / 2).unref();
  const workerData: HeartbeatData = { ticks, descriptor: heartbeatDescriptor, intervalMs: heartbeatIntervalMs };
  // Passed as text: a file would need the TypeScript loader in this thread when running from source.
  const program = `(${beat.toString()})(require("node:fs"), require("node:worker_threads"))`;
  const worker = new Worker(program, { eval: true, workerData });
  worker.on("error", (error) => {
    process.stderr.write(`the heartbeat stopped: ${error.stack ?? error.message}\n`, () => process.exit(1));
  });
  await once(worker, "message");
  worker.unref();
}

/** The complete program of the thread. It must not refer to this module or contain named functions. */
function beat(fs: typeof FileSystem, threads: typeof Threads): void {
  const { ticks, descriptor, intervalMs } = threads.workerData as HeartbeatData;
  let lastTick = -1;
  setInterval(() => {
    const now = Atomics.load(ticks, 0);
    try {
      fs.writeSync(descriptor, Uint8Array.of(now === lastTick ? 0 : 1));
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
      if (lastTick === -1) threads.parentPort?.postMessage("beating");
      lastTick = now;
    } catch (error) {
      // EAGAIN: the parent is slow to read. Any other error: the parent has exited, which the main thread may not
      // notice for long.
      if (!(error instanceof Error && "code" in error && error.code === "EAGAIN")) process.kill(process.pid, "SIGKILL");
    }
  }, intervalMs);
}
