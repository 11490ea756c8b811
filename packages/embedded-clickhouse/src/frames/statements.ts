import type { SentStatement } from "./frame.js";
import { StatementConnection } from "./statement-connection.js";

/** A statement that reads, with its parameters written into it. */
export interface ReadingStatement extends Omit<SentStatement, "inPieces"> {
  signal: AbortSignal | undefined;
}

/**
 * Statements that read, in less time than HTTP takes: 0.7 to 1.3 ms less. Rows are lines of JSON. Errors of the engine have its
 * text, `Code: 62. DB::Exception: …`, and those of connections the code of the operating system.
 */
export interface Statements {
  /** All lines of a result that is known to be small. */
  whole(statement: ReadingStatement): Promise<string>;
  /** Some whole lines at a time, with back-pressure. Leaving the loop stops the statement. */
  pieces(statement: ReadingStatement): AsyncIterable<string>;
  /** Ends the connections that no statement is using. */
  close(): void;
}

/** What may wait for a reader before the host has to. */
const mostPieces = 4;

/** Statements for the host with this socket. */
export function statementsAt(path: string): Statements {
  const idle: StatementConnection[] = [];
  const take = (): StatementConnection => {
    for (let kept = idle.pop(); kept !== undefined; kept = idle.pop()) if (!kept.isLost) return kept;
    return new StatementConnection(path);
  };

  return {
    whole: ({ signal, ...statement }) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted === true) {
          reject(asError(signal.reason));
          return;
        }
        const connection = take();
        const stop = () => {
          connection.destroy();
          reject(asError(signal?.reason));
        };
        signal?.addEventListener("abort", stop, { once: true });
        const chunks: Buffer[] = [];
        const settle = () => {
          signal?.removeEventListener("abort", stop);
          if (!connection.isLost) idle.push(connection);
        };
        connection.send(
          { ...statement, inPieces: false },
          {
            rows: (lines) => void chunks.push(lines),
            end: () => {
              settle();
              resolve(textOf(chunks));
            },
            fail: (error) => {
              settle();
              reject(error);
            },
          },
        );
      }),
    async *pieces({ signal, ...statement }) {
      signal?.throwIfAborted();
      const connection = take();
      const pieces = new Pieces(connection);
      const stop = () => {
        connection.destroy();
        pieces.fail(asError(signal?.reason));
      };
      signal?.addEventListener("abort", stop, { once: true });
      connection.send({ ...statement, inPieces: true }, pieces);
      try {
        for (let lines = await pieces.next(); lines !== undefined; lines = await pieces.next()) yield lines;
      } finally {
        signal?.removeEventListener("abort", stop);
        if (pieces.isOver) idle.push(connection);
        else connection.destroy();
      }
    },
    close() {
      for (const connection of idle.splice(0)) connection.destroy();
    },
  };
}

/** Pieces of a result between the connection and a reader. */
class Pieces {
  /** The connection can be used again. */
  isOver = false;
  readonly #connection: StatementConnection;
  readonly #ready: Buffer[] = [];
  #failure: Error | undefined;
  #wake: (() => void) | undefined;

  constructor(connection: StatementConnection) {
    this.#connection = connection;
  }

  rows(lines: Buffer): void {
    this.#ready.push(lines);
    if (this.#ready.length >= mostPieces) this.#connection.pause();
    this.#wake?.();
  }

  end(): void {
    this.isOver = true;
    this.#connection.resume();
    this.#wake?.();
  }

  fail(error: Error): void {
    this.isOver = !this.#connection.isLost;
    this.#connection.resume();
    this.#failure ??= error;
    this.#wake?.();
  }

  /** The rows before an error come before it. */
  async next(): Promise<string | undefined> {
    for (;;) {
      const lines = this.#ready.shift();
      if (lines !== undefined) {
        if (this.#ready.length === 0) this.#connection.resume();
        return lines.toString();
      }
      if (this.#failure !== undefined) throw this.#failure;
      if (this.isOver) return undefined;
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }
}

const textOf = (chunks: readonly Buffer[]): string =>
  chunks.length === 1 ? (chunks[0]?.toString() ?? "") : Buffer.concat(chunks).toString();

const asError = (reason: unknown): Error => (reason instanceof Error ? reason : new Error(String(reason)));
