import type { Session } from "chdb";
import { endOnFailedWrites, failedWritesSql } from "./failed-writes.js";
import type { EngineLibrary } from "./library.js";
import { OpenSessions } from "./open-sessions.js";
import type { WholeRequest, WorkerData, WorkerValue } from "./worker-protocol.js";

/**
 * Runs statements whose data and result are in memory as a whole, one at a time. The engine does all of it on threads of
 * Node's pool: the thread of the sockets may ask for it, which saves the way through another one.
 */
export class WholeStatements {
  readonly #library: EngineLibrary;
  readonly #sessions: OpenSessions;
  readonly #failedWrites: number;

  constructor(library: EngineLibrary, { directory, engineArguments, failedWrites }: WorkerData) {
    this.#library = library;
    this.#sessions = new OpenSessions(() => new library.Session(directory, { connectionArgs: engineArguments }));
    this.#failedWrites = failedWrites;
  }

  /** A session whose statement failed is closed: nothing of it may reach the next statement. */
  async run(request: WholeRequest): Promise<WorkerValue> {
    const session = await this.#sessions.take(request.session);
    let value: WorkerValue;
    try {
      value = request.do === "insert" ? await this.#insert(session, request) : await this.#query(session, request);
    } catch (error) {
      session.close();
      await this.#library.drainPending();
      throw error;
    }
    this.#sessions.giveBack(request.session, session);
    return value;
  }

  async #query(session: Session, { sql, format, changes }: Extract<WholeRequest, { do: "run" }>): Promise<WorkerValue> {
    // A synchronous query takes its result as text up to a zero, which only formatting by several threads ends with.
    const result = await session.queryAsync(sql, { format });
    if (changes) await this.#checkWrites(session);
    return { bytes: result.bytes(), rows: result.rowsRead, readBytes: result.bytesRead };
  }

  async #insert(session: Session, { sql, bytes }: Extract<WholeRequest, { do: "insert" }>): Promise<WorkerValue> {
    const written = await this.#library.insert(session, sql, bytes);
    await this.#checkWrites(session);
    return { written };
  }

  /** Before a statement that may have written is responded to. */
  async #checkWrites(session: Session): Promise<void> {
    const count = await session.queryAsync(failedWritesSql, { format: "TabSeparated" });
    endOnFailedWrites(count.text(), this.#failedWrites);
  }

  close(): void {
    this.#sessions.close();
  }
}
