import { once } from "node:events";
import type { Duplex } from "node:stream";
import type { EmbeddedEngine } from "../engine/engine.js";
import { onThread } from "../engine/on-thread.js";
import { readingSession } from "../engine/reading-session.js";
import { ServerError } from "../engine/server-error.js";
import type { SessionThread } from "../engine/session-thread.js";
import { frame, FrameReader, kinds, protocol } from "./frame.js";
import type { SentStatement } from "./frame.js";

const format = "JSONEachRow";
const newline = 0x0a;
/** A reader parses a piece at once, on a thread that others wait for. */
const pieceBytes = 64 * 1024;

/** Runs the statements of connections that were upgraded, one at a time for each. They can change nothing. */
export class StatementServer {
  readonly #engine: EmbeddedEngine;
  readonly #idle = new Set<Duplex>();
  readonly #busy = new Map<Duplex, AbortController>();
  #isClosing = false;

  constructor(engine: EmbeddedEngine) {
    this.#engine = engine;
  }

  /** `head` is what the client has sent already. */
  accept(socket: Duplex, head: Buffer): void {
    socket.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\n\r\n`);
    const frames = new FrameReader((content) => void this.#serve(socket, content));
    this.#idle.add(socket);
    socket.on("data", (chunk: Buffer) => frames.push(chunk));
    // A connection that breaks must not end the host.
    socket.on("error", () => undefined);
    socket.on("end", () => socket.end());
    socket.on("close", () => {
      this.#idle.delete(socket);
      this.#busy.get(socket)?.abort(new Error("the client disconnected"));
    });
    if (head.length > 0) frames.push(head);
  }

  /** Ends the connections, those that run a statement after it. */
  close(): void {
    this.#isClosing = true;
    for (const socket of this.#idle) socket.end();
  }

  /** Stops what still runs. */
  destroy(): void {
    for (const socket of this.#busy.keys()) socket.destroy();
  }

  async #serve(socket: Duplex, content: Buffer): Promise<void> {
    if (this.#busy.has(socket)) {
      socket.destroy();
      return;
    }
    const disconnect = new AbortController();
    this.#idle.delete(socket);
    this.#busy.set(socket, disconnect);
    try {
      const statement = JSON.parse(content.toString()) as SentStatement;
      const { signal } = disconnect;
      await onThread(this.#engine, signal, async (thread) => await run(thread, statement, socket, signal));
    } catch (error) {
      if (!disconnect.signal.aborted) {
        socket.write(frame(kinds.error, Buffer.from(ServerError.fromUnknown(error).message)));
      }
    }
    this.#busy.delete(socket);
    if (socket.destroyed) return;
    this.#idle.add(socket);
    if (this.#isClosing) socket.end();
  }
}

async function run(
  thread: SessionThread,
  { sql, database, settings, inPieces }: SentStatement,
  socket: Duplex,
  signal: AbortSignal,
): Promise<void> {
  const session = readingSession(database, settings, thread.marker);
  if (!inPieces) {
    const { bytes } = await thread.run({ do: "run", session, sql, format, changes: false });
    socket.write(frame(kinds.last, bytes ?? Buffer.alloc(0)));
    return;
  }
  let ended = false;
  try {
    let chunk = await thread.call({ do: "stream", session, sql, format });
    while (!chunk.done) {
      for (const lines of piecesOf(chunk.bytes)) {
        if (!socket.write(frame(kinds.rows, lines))) await once(socket, "drain", { signal });
      }
      chunk = await thread.call({ do: "next" });
    }
    ended = true;
  } finally {
    if (!ended) await thread.call({ do: "endStream" }).catch(() => undefined);
  }
  socket.write(frame(kinds.last));
}

/** Whole lines of a chunk, which has only such. */
function* piecesOf(bytes: Uint8Array = new Uint8Array()): Generator<Uint8Array> {
  for (let from = 0; from < bytes.length;) {
    const most = from + pieceBytes;
    const last = most >= bytes.length ? bytes.length : bytes.lastIndexOf(newline, most) + 1;
    // A line that is longer than a piece.
    const next = last > from ? last : bytes.indexOf(newline, most) + 1;
    const to = next > from ? next : bytes.length;
    yield bytes.subarray(from, to);
    from = to;
  }
}
