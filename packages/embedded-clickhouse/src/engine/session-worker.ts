import { parentPort, workerData } from "node:worker_threads";
import type { ChdbQueryStream, Session, StreamChunk } from "chdb";
import { loadEngineLibrary, type EngineLibrary } from "./library.js";
import type { WorkerData, WorkerReply, WorkerRequest, WorkerValue } from "./worker-protocol.js";

// One thread of the session pool. Opening a stream runs the query's analysis on the calling thread, scalar
// subqueries included, and so can take seconds: it must not be the thread that serves the sockets.

const { directory, engineArguments } = workerData as WorkerData;
const port = parentPort;
if (!port) throw new Error("the session worker runs as a worker thread only");

const engine = await loadEngineLibrary();
let session: Session | undefined;
let chunks: AsyncIterator<StreamChunk> | undefined;

port.on("message", (request: WorkerRequest) => {
  void handle(engine, request).then(
    (value) => reply({ value }),
    (error: unknown) => reply({ error: error instanceof Error ? error.message : String(error) }),
  );
});
reply({ value: {} });

async function handle(engine: EngineLibrary, request: WorkerRequest): Promise<WorkerValue> {
  switch (request.do) {
    case "open": {
      // Settings and parameters stay with a session for good, so a session lives for one request (0.2 ms).
      session = new engine.Session(directory, { connectionArgs: engineArguments });
      if (request.setup) await session.queryAsync(request.setup);
      return {};
    }
    case "whole": {
      const result = await current().queryAsync(request.sql, { format: request.format });
      return {
        bytes: result.bytes(),
        rows: result.rowsRead,
        readBytes: result.bytesRead,
        elapsed: result.elapsed,
      };
    }
    case "insert": {
      const { bytes } = request;
      const data = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      return { written: await engine.insert(current(), request.sql, data) };
    }
    case "stream": {
      const stream: ChdbQueryStream = current().queryStream(request.sql, {
        format: request.format,
      });
      chunks = stream[Symbol.asyncIterator]();
      return nextChunk();
    }
    case "next":
      return nextChunk();
    case "close": {
      const stream = chunks;
      chunks = undefined;
      await stream?.return?.();
      session?.close();
      session = undefined;
      await engine.drainPending();
      return {};
    }
  }
}

async function nextChunk(): Promise<WorkerValue> {
  const next = await chunks?.next();
  if (!next || next.done) return { done: true };
  return { bytes: next.value.raw(), rows: next.value.numRows };
}

function current(): Session {
  if (!session) throw new Error("no session is open on this thread");
  return session;
}

function reply(message: WorkerReply): void {
  const bytes = "value" in message ? message.value.bytes : undefined;
  const owned = bytes && bytes.byteLength === bytes.buffer.byteLength;
  port?.postMessage(message, owned ? [bytes.buffer as ArrayBuffer] : []);
}
