import { parentPort, workerData } from "node:worker_threads";
import type { Session, StreamChunk } from "chdb";
import { endOnFailedWrites, failedWritesSql } from "./failed-writes.js";
import { loadEngineLibrary } from "./library.js";
import { OpenSessions } from "./open-sessions.js";
import type { SessionNeeds, WorkerData, WorkerReply, WorkerRequest, WorkerValue } from "./worker-protocol.js";

// One thread of the session pool. Statements block it: it must not be the thread that serves the sockets.

const { directory, engineArguments, failedWrites } = workerData as WorkerData;
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
    case "run":
      return onSession(request.session, (session) => run(session, request));
    case "insert":
      return onSession(request.session, (session) => insert(session, request.sql, request.bytes));
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

/** A session whose statement failed is closed: nothing of it may reach the next statement. */
async function onSession(needs: SessionNeeds, work: (session: Session) => Promise<WorkerValue>): Promise<WorkerValue> {
  const session = sessions.take(needs);
  let value: WorkerValue;
  try {
    value = await work(session);
  } catch (error) {
    session.close();
    await engine.drainPending();
    throw error;
  }
  giveBack(needs, session);
  return value;
}

function giveBack(needs: SessionNeeds, session: Session): void {
  if (needs.reusable) sessions.giveBack(needs, session);
  else session.close();
}

async function run(
  session: Session,
  { sql, format, changes }: Extract<WorkerRequest, { do: "run" }>,
): Promise<WorkerValue> {
  // A synchronous query takes its result as text up to a zero, which only formatting by several threads ends with.
  const result = await session.queryAsync(sql, { format });
  if (changes) await checkWrites(session);
  return { bytes: result.bytes(), rows: result.rowsRead, readBytes: result.bytesRead };
}

async function insert(session: Session, sql: string, bytes: Uint8Array): Promise<WorkerValue> {
  const data = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const written = await engine.insert(session, sql, data);
  await checkWrites(session);
  return { written };
}

/** Before a statement that may have written is responded to. */
async function checkWrites(session: Session): Promise<void> {
  const count = await session.queryAsync(failedWritesSql, { format: "TabSeparated" });
  endOnFailedWrites(count.text(), failedWrites);
}

async function openStream(needs: SessionNeeds, sql: string, format: string): Promise<WorkerValue> {
  const session = sessions.take(needs);
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
  if (stream) giveBack(stream.needs, stream.session);
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
