import type { Execution } from "./execution.js";
import type { SessionThread } from "../engine/session-thread.js";
import type { SessionNeeds } from "../engine/worker-protocol.js";
import { isStreamable } from "./formats.js";
import { insertBody } from "./insert-body.js";
import type { QueryResponse } from "./query-response.js";
import { sessionNeeds } from "./session-setup.js";

/** Runs the statement on a thread, and writes the whole response. */
export async function execute(
  thread: SessionThread,
  execution: Execution,
  reply: QueryResponse,
  signal: AbortSignal,
): Promise<void> {
  const session = sessionNeeds(execution, thread.marker);
  if (execution.statement.kind === "insert") await runInsert(thread, session, execution, reply);
  else if (canStream(execution)) await runStream(thread, session, execution, reply, signal);
  else await runWhole(thread, session, execution, reply, signal);
  reply.end();
}

async function runInsert(
  thread: SessionThread,
  session: SessionNeeds,
  execution: Execution,
  reply: QueryResponse,
): Promise<void> {
  const started = performance.now();
  const written = await insertBody(thread, session, execution);
  reply.begin({ ...written, elapsedNs: elapsedNs(started) });
}

async function runStream(
  thread: SessionThread,
  session: SessionNeeds,
  { sql, format }: Execution,
  reply: QueryResponse,
  signal: AbortSignal,
): Promise<void> {
  const started = performance.now();
  let ended = false;
  try {
    // The first chunk decides between an error response and a result.
    let chunk = await thread.call({ do: "stream", session, sql, format });
    reply.begin({ resultRows: chunk.rows, elapsedNs: elapsedNs(started) });
    while (!chunk.done) {
      if (chunk.bytes) await reply.write(chunk.bytes, signal);
      chunk = await thread.call({ do: "next" });
    }
    ended = true;
  } finally {
    if (!ended) await thread.call({ do: "endStream" }).catch(() => undefined);
  }
}

async function runWhole(
  thread: SessionThread,
  session: SessionNeeds,
  { sql, format, statement }: Execution,
  reply: QueryResponse,
  signal: AbortSignal,
): Promise<void> {
  const started = performance.now();
  const result = await thread.run({ do: "run", session, sql, format, changes: statement.kind !== "select" });
  reply.begin({
    readRows: result.rows,
    readBytes: result.readBytes,
    resultRows: result.rows,
    resultBytes: result.bytes?.byteLength,
    elapsedNs: elapsedNs(started),
  });
  if (result.bytes && result.bytes.byteLength > 0) await reply.write(result.bytes, signal);
}

function canStream({ statement, format, request, sql }: Execution): boolean {
  return (
    statement.kind === "select" &&
    isStreamable(format) &&
    !request.waitsForEnd &&
    // Both put something around the rows.
    !request.settings.has("output_format_json_array_of_rows") &&
    !/\btotals\b/i.test(sql)
  );
}

function elapsedNs(started: number): number {
  return Math.round((performance.now() - started) * 1e6);
}
