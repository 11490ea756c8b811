import type { Transform } from "node:stream";
import type { Sharer } from "@heddle/concurrency";
import type { Sink } from "@heddle/server-stub";
import { compressInTurn } from "./compressing.js";
import type { ContentEncoding } from "./encodings.js";

/**
 * Compresses what is written to it, off the main thread, and passes it on at once. One write is compressed while the next is
 * made: a write waits for the one before it.
 */
export class CompressingSink implements Sink {
  readonly #sink: Sink;
  readonly #sharer: Sharer | undefined;
  readonly #stream: Transform;
  #compressed: Buffer[] = [];
  #last: Promise<void> = Promise.resolve();

  constructor(sink: Sink, encoding: ContentEncoding, sharer: Sharer | undefined) {
    this.#sink = sink;
    this.#sharer = sharer;
    this.#stream = encoding.open().on("data", (chunk: Buffer) => this.#compressed.push(chunk));
    sink.onClose(() => this.destroy());
  }

  get closed(): boolean {
    return this.#sink.closed;
  }

  onClose(callback: () => void): void {
    this.#sink.onClose(callback);
  }

  async write(chunk: string | Uint8Array): Promise<void> {
    const before = this.#last;
    this.#last = before.then(async () => await this.#send((done) => this.#stream.write(chunk, done)));
    // Who writes sees it with the next write, or at the end.
    this.#last.catch(() => undefined);
    await before;
  }

  /** Resolves when everything was passed on. */
  async end(): Promise<void> {
    await this.#last;
    await this.#send((done) => this.#stream.once("end", done).end());
  }

  destroy(): void {
    this.#stream.destroy();
  }

  async #send(compress: (done: (error?: Error | null) => void) => void): Promise<void> {
    await compressInTurn(this.#sharer, async () => await this.#compress(compress));
    const compressed = this.#compressed;
    this.#compressed = [];
    for (const chunk of compressed) await this.#sink.write(chunk);
  }

  /** Resolves, too, when the client leaves meanwhile. */
  async #compress(compress: (done: (error?: Error | null) => void) => void): Promise<void> {
    const stream = this.#stream;
    if (this.#sink.closed || stream.destroyed) return;
    await new Promise<void>((resolve, reject) => {
      const gone = () => resolve();
      stream.once("close", gone).once("error", reject);
      compress((error) => {
        stream.off("close", gone).off("error", reject);
        if (error && !stream.destroyed) reject(error);
        else resolve();
      });
    });
  }
}
