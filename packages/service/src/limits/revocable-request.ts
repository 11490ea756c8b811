import { FairShare, mainThread } from "@heddle/concurrency";
import type { Sharer } from "@heddle/concurrency";
import { BodyTooLarge } from "@heddle/server-stub";
import type { BodyForm, Encoding, HttpRequest, Problem, Sink, StreamBody } from "@heddle/server-stub";
import { WrappedRequest } from "./wrapped-request.js";

/** Bytes that are parsed, or made and written, in a millisecond or less. */
const fewBytes = 65_536;
/** What inflates to more waits for its turn: it takes a core for some 100 ms, and its memory until it is parsed. */
const mostInflatedAtOnce = 1_048_576;
const tooManyInflate = "too many large compressed bodies at once: try again later";

/** Of the process. One entity inflates one large body at a time. */
const inflating = new FairShare({
  capacity: 2,
  perEntity: 1,
  messages: { key: tooManyInflate, entity: tooManyInflate, all: tooManyInflate },
});

/**
 * A request that can be ended before its response is complete. What takes the main thread for long, parsing its body and
 * making its response, takes turns with that of others.
 */
export class RevocableRequest extends WrappedRequest {
  readonly #sharer: () => Sharer | undefined;
  #controller: AbortController | undefined;
  #reason: Problem | undefined;

  /** `sharer` says for whom the request is, once its key is known. */
  constructor(request: HttpRequest, sharer: () => Sharer | undefined) {
    super(request);
    this.#sharer = sharer;
  }

  /** Aborts when the client disconnects, and when the request is revoked. */
  override get signal(): AbortSignal {
    return (this.#controller ??= this.#abortWithRequest()).signal;
  }

  override async bytes(limit: number, form?: BodyForm): Promise<Uint8Array> {
    const bytes = await super.bytes(limit, form);
    if (bytes.length > fewBytes) await this.giveWay();
    else this.#check();
    return bytes;
  }

  async giveWay(): Promise<void> {
    await mainThread.giveWay(this.#sharer());
    this.#check();
  }

  override async *stream(limit: number): AsyncGenerator<Uint8Array> {
    let read = 0;
    for await (const chunk of super.stream(limit)) {
      this.#check();
      yield chunk;
      read += chunk.length;
      if (read < fewBytes) continue;
      read = 0;
      await mainThread.giveWay(this.#sharer());
    }
  }

  override async inflate(encoding: Encoding, bytes: Uint8Array, limit: number): Promise<Uint8Array> {
    if (limit > mostInflatedAtOnce) {
      try {
        return await this.#inflate(encoding, bytes, mostInflatedAtOnce);
      } catch (error) {
        if (!(error instanceof BodyTooLarge)) throw error;
      }
    }
    const end = await inflating.acquire(this.#sharer(), 1, this.signal);
    try {
      return await this.#inflate(encoding, bytes, limit);
    } finally {
      end();
    }
  }

  async #inflate(encoding: Encoding, bytes: Uint8Array, limit: number): Promise<Uint8Array> {
    const inflated = await super.inflate(encoding, bytes, limit);
    if (inflated.length > fewBytes) await mainThread.giveWay(this.#sharer());
    return inflated;
  }

  /** Nothing more of the body is read and nothing more of the response is sent. */
  revoke(reason: Problem): void {
    this.#reason ??= reason;
    this.#controller?.abort(reason);
  }

  /** A body of the response that is cut off when the request is revoked. */
  cutOff(body: StreamBody): StreamBody {
    return async (sink) => {
      let written = 0;
      const write = (chunk: string | Uint8Array) => {
        this.#check();
        const drained = sink.write(chunk);
        written += chunk.length;
        if (written < fewBytes) return drained;
        written = 0;
        return drained === undefined
          ? mainThread.giveWay(this.#sharer())
          : drained.then(() => mainThread.giveWay(this.#sharer()));
      };
      await body(new CheckedSink(sink, write, () => this.giveWay()));
    };
  }

  #check(): void {
    if (this.#reason !== undefined) throw this.#reason;
  }

  #abortWithRequest(): AbortController {
    const controller = new AbortController();
    const signal = super.signal;
    const abort = () => controller.abort(signal.reason);
    if (signal.aborted) abort();
    else signal.addEventListener("abort", abort, { once: true });
    if (this.#reason !== undefined) controller.abort(this.#reason);
    return controller;
  }
}

class CheckedSink implements Sink {
  readonly #sink: Sink;
  readonly write: Sink["write"];
  readonly giveWay: () => Promise<void>;

  constructor(sink: Sink, write: Sink["write"], giveWay: () => Promise<void>) {
    this.#sink = sink;
    this.write = write;
    this.giveWay = giveWay;
  }

  get closed(): boolean {
    return this.#sink.closed;
  }

  onClose(callback: () => void): void {
    this.#sink.onClose(callback);
  }
}
