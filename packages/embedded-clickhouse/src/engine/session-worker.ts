import { parentPort, workerData } from "node:worker_threads";
import type { Session, StreamChunk } from "chdb";
import { loadEngineLibrary } from "./library.js";
import type { WorkerData, WorkerReply, WorkerRequest, WorkerValue } from "./worker-protocol.js";

// One thread of the session pool. Opening a stream runs the query's analysis on the calling thread, scalar
// subqueries included, and so can take seconds: it must not be the thread that serves the sockets.

const { directory, engineArguments } = workerData as WorkerData;
const engine = await loadEngineLibrary();
let session: Session | undefined;
let chunks: AsyncIterator<StreamChunk> | undefined;

parentPort?.on("message", (request: WorkerRequest) => {
  void serve(request);
});
reply({ value: {} });

async function serve(request: WorkerRequest): Promise<void> {
  try {
    reply({ value: await handle(request) });
  } catch (error) {
    reply({ error: error instanceof Error ? error.message : String(error) });
  }
}

function handle(request: WorkerRequest): Promise<WorkerValue> {
  switch (request.do) {
    case "open":
      return open(request.setup);
    case "buffered":
      return runBuffered(request.sql, request.format);
    case "insert":
      return insert(request.sql, request.bytes);
    case "stream":
      chunks = current().queryStream(request.sql, { format: request.format })[Symbol.asyncIterator]();
      return nextChunk();
    case "next":
      return nextChunk();
    default:
      return close();
  }
}

/** Settings and parameters stay with a session for good, so a session lives for one request (0.2 ms). */
async function open(setup: string): Promise<WorkerValue> {
  session = new engine.Session(directory, { connectionArgs: engineArguments });
  await session.queryAsync(setup);
  return {};
}

async function runBuffered(sql: string, format: string): Promise<WorkerValue> {
  const result = await current().queryAsync(sql, { format });
  return { bytes: result.bytes(), rows: result.rowsRead, readBytes: result.bytesRead };
}

async function insert(sql: string, bytes: Uint8Array): Promise<WorkerValue> {
  const data = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return { written: await engine.insert(current(), sql, data) };
}

async function nextChunk(): Promise<WorkerValue> {
  const next = await chunks?.next();
  if (!next || next.done) return { done: true };
  return { bytes: next.value.raw(), rows: next.value.numRows };
}

/** Nothing of the session is at work afterwards, in this thread or in the engine. */
async function close(): Promise<WorkerValue> {
  await chunks?.return?.();
  chunks = undefined;
  session?.close();
  session = undefined;
  await engine.drainPending();
  return {};
}

function current(): Session {
  if (!session) throw new Error("no session is open on this thread");
  return session;
}

function reply(message: WorkerReply): void {
  const bytes = "value" in message ? message.value.bytes : undefined;
  // Moved instead of copied, unless the buffer holds other things too.
  const isWhole = bytes && bytes.byteLength === bytes.buffer.byteLength;
  parentPort?.postMessage(message, isWhole ? [bytes.buffer as ArrayBuffer] : []);
}
