import { parentPort, workerData } from "node:worker_threads";
import { toWireError } from "@heddle/concurrency";
import { exportModel } from "./export-model.js";
import type { ExportRequest, FromExportThread } from "./export-protocol.js";

// Entry point of a worker thread that merges and encodes the weights of one export. It sends one part for each message, so
// that it is never ahead of its reader.

const { settings, weights, wanted } = workerData as ExportRequest;
const parts = exportModel(settings, weights, wanted);
parentPort?.on("message", () => void next());

async function next(): Promise<void> {
  try {
    const { value, done } = await parts.next();
    if (done) send({ type: "done" });
    else if (value instanceof Uint8Array) send({ type: "part", part: value }, [ownBuffer(value)]);
    else send({ type: "size", bytes: value.bytes });
  } catch (error) {
    send({ type: "error", error: toWireError(error) });
  }
}

/** Buffers of small parts belong to Node's pool and stay. */
function ownBuffer({ buffer, byteLength }: Uint8Array): ArrayBuffer | undefined {
  return buffer instanceof ArrayBuffer && buffer.byteLength === byteLength ? buffer : undefined;
}

function send(message: FromExportThread, transfer: (ArrayBuffer | undefined)[] = []): void {
  const moved = transfer.flatMap((each) => (each === undefined ? [] : [each]));
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
  parentPort?.postMessage(message, moved);
}
