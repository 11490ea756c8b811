import { connect } from "node:net";
import type { Socket } from "node:net";
import { frame, FrameReader, kinds, protocol } from "./frame.js";
import type { SentStatement } from "./frame.js";

/** Gets the response to one statement. */
export interface Receiver {
  rows(lines: Buffer): void;
  /** The statement has ended, and another one may be sent. */
  end(): void;
  fail(error: Error): void;
}

/** Until the first piece of a response; then its reader decides how long it takes. */
const timeoutMs = 60_000;

const upgrade = `GET / HTTP/1.1\r\nHost: engine\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\n\r\n`;
const endOfHead = "\r\n\r\n";

/** A connection to the host, for one statement at a time. It keeps the process alive only while one is running. */
export class StatementConnection {
  readonly #socket: Socket;
  readonly #frames = new FrameReader((content) => this.#receive(content));
  #head: string | undefined = "";
  #receiver: Receiver | undefined;
  #lost: Error | undefined;

  constructor(path: string) {
    this.#socket = connect(path);
    this.#socket.write(upgrade);
    this.#socket.on("data", (chunk: Buffer) => this.#read(chunk));
    this.#socket.on("error", (error) => this.#lose(error));
    this.#socket.on("close", () => this.#lose(lostConnection()));
    this.#socket.on("timeout", () => this.#socket.destroy(new Error("The engine did not respond in time")));
  }

  get isLost(): boolean {
    return this.#lost !== undefined;
  }

  send(statement: SentStatement, receiver: Receiver): void {
    if (this.#lost !== undefined) {
      receiver.fail(this.#lost);
      return;
    }
    this.#receiver = receiver;
    this.#socket.ref();
    this.#socket.setTimeout(timeoutMs);
    this.#socket.write(frame(Buffer.from(JSON.stringify(statement))));
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  /** Stops what is running. */
  destroy(): void {
    this.#lost ??= lostConnection();
    this.#receiver = undefined;
    this.#socket.destroy();
  }

  #read(chunk: Buffer): void {
    if (this.#head === undefined) {
      this.#frames.push(chunk);
      return;
    }
    this.#head += chunk.toString("latin1");
    const end = this.#head.indexOf(endOfHead);
    if (end < 0) return;
    const after = this.#head.slice(end + endOfHead.length);
    if (!this.#head.startsWith("HTTP/1.1 101 ")) {
      this.#socket.destroy(new Error(`The engine refused a connection: ${this.#head.split("\r\n")[0]}`));
      return;
    }
    this.#head = undefined;
    if (after !== "") this.#frames.push(Buffer.from(after, "latin1"));
  }

  #receive(content: Buffer): void {
    this.#socket.setTimeout(0);
    const receiver = this.#receiver;
    const [kind] = content;
    if (kind !== kinds.rows) this.#rest();
    if (kind === kinds.error) receiver?.fail(new Error(content.toString("utf8", 1)));
    else if (content.length > 1) receiver?.rows(content.subarray(1));
    if (kind === kinds.last) receiver?.end();
  }

  #rest(): void {
    this.#receiver = undefined;
    this.#socket.unref();
  }

  #lose(error: Error): void {
    this.#lost ??= error;
    const receiver = this.#receiver;
    this.#receiver = undefined;
    receiver?.fail(this.#lost);
  }
}

function lostConnection(): Error {
  return Object.assign(new Error("The engine closed the connection"), { code: "ECONNRESET" });
}
