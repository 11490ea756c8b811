/** What an adapter hands to a server: one HTTP request, with nothing read that was not asked for. */
export interface HttpRequest {
  /** What the adapter sends as `x-request-id` of the response: the client's, or one of its own. */
  readonly id?: string;
  readonly method: string;
  /** Path and query as sent, beginning with "/". */
  readonly target: string;
  /** Network address of the peer, where the adapter knows it. */
  readonly remoteAddress?: string | undefined;
  /** Value of a header by its lower-case name; repeated headers are joined by ", ". */
  header(name: string): string | undefined;
  /** All headers, by lower-case name, where the adapter can list them. */
  headers?(): Readonly<Record<string, string>>;
  /** Aborts when the client disconnects before the response is complete. Made at the first access. */
  readonly signal: AbortSignal;
  /**
   * The whole body as sent. Rejects with `BodyTooLarge` beyond `limit` bytes; may be called once. Where a framework has
   * read the body before, `form` is what has to be left of it, by default the bytes; rejects with `BodyAlreadyRead`
   * otherwise.
   */
  bytes(limit: number, form?: BodyForm): Promise<Uint8Array>;
  /**
   * The body as it arrives, instead of `bytes`. Throws `BodyTooLarge` beyond `limit` bytes, as soon as they are known. The
   * sender waits while nothing is read.
   */
  stream(limit: number): AsyncIterable<Uint8Array>;
  /** Undoes a content encoding. Rejects with `BodyTooLarge` beyond `limit` bytes of output. */
  inflate(encoding: Encoding, bytes: Uint8Array, limit: number): Promise<Uint8Array>;
  /** Counts what the body takes in memory beyond its bytes, as values. Throws `Overloaded` when there is no memory for it. */
  parsed?(bytes: number): void;
  /** Resolves when work on the request may go on that has taken a few milliseconds. Without it, nothing waits for others. */
  giveWay?(): Promise<void>;
}

/** A body as its bytes, as its text, or as the JSON value of it, which has lost how numbers were written. */
export type BodyForm = "bytes" | "text" | "value";

/** `deflate` on the wire is `zlib` by the book and `deflate-raw` from some clients. */
export type Encoding = "gzip" | "zlib" | "deflate-raw";

export interface HttpResponse {
  status: number;
  /** Lower-case names. Adapters add `content-length` where they know it. */
  headers: Record<string, string>;
  body?: string | Uint8Array | StreamBody;
  /** UTF-16 units that a `StreamBody` holds in memory until it is written; absent for streams. */
  held?: number;
  /**
   * Read and discard the rest of the request before the connection closes, so that the client can read the response.
   */
  drain?: boolean;
}

/** Writes a body piece by piece. Resolves when it is complete; rejects when the connection has to be cut. */
export type StreamBody = (sink: Sink) => Promise<void>;

export interface Sink {
  /** A promise means: wait for it before writing more. */
  write(chunk: string | Uint8Array): Promise<void> | undefined;
  /**
   * Resolves when it is the turn of this response to compute. `write` does the same after every 64 KiB. Absent: what computes
   * for long lets the event loop run now and then.
   */
  giveWay?(): Promise<void>;
  /** The client disconnected or the response was aborted; nothing written is sent any more. */
  readonly closed: boolean;
  /** Calls back once when `closed` becomes true, at once if it already is. */
  onClose(callback: () => void): void;
}

/** A server: one function. What it does not know it may hand to the next (`fallback` of `createTracingServer`). */
export type HttpServer = (request: HttpRequest) => Promise<HttpResponse>;

/** Thrown by adapters; the server responds with 413. */
export class BodyTooLarge extends Error {
  override readonly name = "BodyTooLarge";
}

/** A response that is not streamed is longer than `maxResponseLength`; the server responds with 413. */
export class ResponseTooLarge extends Error {
  override readonly name = "ResponseTooLarge";
  /** In UTF-16 units, of which ASCII takes one for each byte. */
  readonly maxLength: number;

  constructor(maxLength: number) {
    super(`Response too large: more than ${maxLength} characters; ask for less at once, or use a stream`);
    this.maxLength = maxLength;
  }
}

/** Thrown by adapters when the client disconnects before its request is complete. */
export class ClientDisconnected extends Error {
  override readonly name = "ClientDisconnected";
}

/** Thrown by adapters when a framework has read the body before; the server responds with 500 and the message. */
export class BodyAlreadyRead extends Error {
  override readonly name = "BodyAlreadyRead";
}

/** Thrown by adapters that have no memory left for a body; the server responds with 503, and the client may try again. */
export class Overloaded extends Error {
  override readonly name = "Overloaded";
}

/** Thrown by adapters when no byte of a body, or not the whole, has come in time; the server responds with 408. */
export class BodyStalled extends Error {
  override readonly name = "BodyStalled";

  constructor(ms: number, missing: "no byte" | "not all of it" = "no byte") {
    super(`The rest of the body did not come: ${missing} within ${ms / 1000} s`);
  }
}
