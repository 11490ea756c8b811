import { parentPort, workerData } from "node:worker_threads";
import type { Session, StreamChunk } from "chdb";
import { loadEngineLibrary } from "./library.js";
import { OpenSessions } from "./open-sessions.js";
import type { SessionNeeds, WorkerData, WorkerReply, WorkerRequest, WorkerValue } from "./worker-protocol.js";

// Streams the result of one statement at a time. Its analysis blocks the thread: it must not be the one that serves the sockets.

const { directory, engineArguments } = workerData as WorkerData;
const engine = await loadEngineLibrary();
const sessions = new OpenSessions(() => new engine.Session(directory, { connectionArgs: engineArguments }));
let stream: { chunks: AsyncIterator<StreamChunk>; session: Session; needs: SessionNeeds } | undefined;

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
    case "stream":
      return openStream(request.session, request.sql, request.format);
    case "next":
      return nextChunk();
    case "endStream":
      return endStream();
    default:
      return closeSessions();
  }
}

async function openStream(needs: SessionNeeds, sql: string, format: string): Promise<WorkerValue> {
  const session = await sessions.take(needs);
  try {
    stream = { chunks: session.queryStream(sql, { format })[Symbol.asyncIterator](), session, needs };
  } catch (error) {
    session.close();
    throw error;
  }
  return nextChunk();
}

/** A stream that fails stays, until `endStream`. */
async function nextChunk(): Promise<WorkerValue> {
  const next = await stream?.chunks.next();
  if (next && !next.done) return { bytes: next.value.raw(), rows: next.value.numRows };
  if (stream) sessions.giveBack(stream.needs, stream.session);
  stream = undefined;
  return { done: true };
}

/** Nothing of a stream that was left is at work afterwards, in this thread or in the engine. */
async function endStream(): Promise<WorkerValue> {
  const left = stream;
  stream = undefined;
  await left?.chunks.return?.();
  left?.session.close();
  await engine.drainPending();
  return {};
}

async function closeSessions(): Promise<WorkerValue> {
  sessions.close();
  await engine.drainPending();
  return {};
}

function reply(message: WorkerReply): void {
  const bytes = "value" in message ? message.value.bytes : undefined;
  // Moved instead of copied, unless the buffer holds other things too.
  const isWhole = bytes && bytes.byteLength === bytes.buffer.byteLength;
  parentPort?.postMessage(message, isWhole ? [bytes.buffer as ArrayBuffer] : []);
}
