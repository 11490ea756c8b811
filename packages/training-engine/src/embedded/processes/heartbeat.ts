import { once } from "node:events";
import type FileSystem from "node:fs";
import type Threads from "node:worker_threads";
import { Worker } from "node:worker_threads";

/** The child's end of the pipe that carries the beats; 3 is the channel of messages. */
export const heartbeatDescriptor = 4;
export const heartbeatIntervalMs = 250;

interface HeartbeatData {
  /** Counts the turns of the main thread's event loop. */
  ticks: Int32Array;
  descriptor: number;
  intervalMs: number;
}

/**
 * Starts the beats of this child process; resolves with the first one. A beat is a byte: 1 when the main thread has turned
 * since the last beat, else 0. They come from a thread of their own, so that a process that computes is told from one that
 * stands still.
 */
export async function startHeartbeat(): Promise<void> {
  const ticks = new Int32Array(new SharedArrayBuffer(4));
  setInterval(() => Atomics.add(ticks, 0, 1), heartbeatIntervalMs / 2).unref();
  const workerData: HeartbeatData = { ticks, descriptor: heartbeatDescriptor, intervalMs: heartbeatIntervalMs };
  // As text, it starts at once, also from source, where a file would need the TypeScript loader in this thread too.
  const program = `(${beat.toString()})(require("node:fs"), require("node:worker_threads"))`;
  const worker = new Worker(program, { eval: true, workerData });
  worker.on("error", (error) => {
    process.stderr.write(`the heartbeat ended: ${error.stack ?? error.message}\n`, () => process.exit(1));
  });
  await once(worker, "message");
  worker.unref();
}

/** The whole program of the thread; it can use nothing of this module, and no function with a name inside. */
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
      // The parent does not read; or nobody does any more, which the main thread may not see for long.
      if (!(error instanceof Error && "code" in error && error.code === "EAGAIN")) process.kill(process.pid, "SIGKILL");
    }
  }, intervalMs);
}
