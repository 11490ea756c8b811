import type { IncomingHttpHeaders } from "node:http";
import type { Readable } from "node:stream";
import { promisify } from "node:util";
import { gunzip, inflate, inflateRaw } from "node:zlib";
import type { BodiesInFlight, Body } from "./bodies-in-flight.js";
import { BodyTooLarge, ClientDisconnected } from "../http.js";
import type { BodyForm, Encoding } from "../http.js";
import { isAlreadyRead, keptBody } from "./kept-body.js";

/** A request of `node:http`, or of the same interface of `node:http2`. */
export type IncomingBody = Readable & { headers: IncomingHttpHeaders };

/** The body of one request, as it arrives and is inflated. Its memory counts until it is released. */
export class NodeBody {
  readonly #incoming: IncomingBody;
  readonly #outgoing: { writeContinue?: () => void };
  readonly #bodies: BodiesInFlight;
  /** A framework has read the body, and what it has kept is inflated. */
  readonly isAlreadyRead: boolean;
  #body: Body | undefined;

  constructor(incoming: IncomingBody, outgoing: { writeContinue?: () => void }, bodies: BodiesInFlight) {
    this.#incoming = incoming;
    this.#outgoing = outgoing;
    this.#bodies = bodies;
    this.isAlreadyRead = isAlreadyRead(incoming);
  }

  /** `data` and `end` events: `for await` on the message costs 7 µs more per request. */
  read(limit: number, form: BodyForm = "bytes"): Promise<Uint8Array> {
    const incoming = this.#incoming;
    return new Promise((resolve, reject) => {
      if (this.isAlreadyRead) return resolve(this.#kept(limit, form));
      // Its events have gone by.
      if (incoming.destroyed) return reject(disconnected());
      if (Number(incoming.headers["content-length"] ?? 0) > limit) return reject(new BodyTooLarge());
      if (incoming.headers.expect?.toLowerCase() === "100-continue") this.#outgoing.writeContinue?.();
      let chunks: Buffer[] | undefined = [];
      const drop = (reason: Error): void => {
        chunks = undefined;
        reject(reason);
      };
      const body = this.#bodies.open(drop);
      this.#body = body;
      incoming.on("data", (chunk: Buffer) => {
        if (chunks === undefined) return;
        chunks.push(chunk);
        this.#bodies.arrived(body, chunk.length);
        if (body.bytes <= limit) return;
        this.release();
        drop(new BodyTooLarge());
      });
      incoming.on("end", () => {
        this.#bodies.complete(body);
        if (chunks !== undefined) resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks));
        chunks = undefined;
      });
      const lost = () => {
        // Every request closes; an error made for each would cost more than all the rest here.
        if (!incoming.readableEnded) drop(disconnected());
      };
      incoming.on("error", lost);
      incoming.on("close", lost);
    });
  }

  #kept(limit: number, form: BodyForm): Uint8Array {
    const bytes = keptBody(this.#incoming, form);
    if (bytes.length > limit) throw new BodyTooLarge();
    return bytes;
  }

  async *stream(limit: number): AsyncGenerator<Uint8Array> {
    const incoming = this.#incoming;
    if (this.isAlreadyRead) {
      yield this.#kept(limit, "bytes");
      return;
    }
    if (Number(incoming.headers["content-length"] ?? 0) > limit) throw new BodyTooLarge();
    if (incoming.headers.expect?.toLowerCase() === "100-continue") this.#outgoing.writeContinue?.();
    const chunks: AsyncIterator<Uint8Array, undefined> = incoming.iterator({ destroyOnReturn: false });
    let size = 0;
    try {
      for (;;) {
        const { value: chunk, done } = await this.#arrival(chunks.next());
        if (done === true || chunk === undefined) return;
        size += chunk.length;
        if (size > limit) throw new BodyTooLarge();
        yield chunk;
      }
    } finally {
      // Not awaited: it would wait for the part that a stalled sender does not send.
      void chunks.return?.().catch(() => undefined);
    }
  }

  /** Waits for the next part of a body that is read as it arrives: only the wait counts as a stall of the sender. */
  async #arrival<T>(next: Promise<T>): Promise<T> {
    let refuse: (reason: Error) => void = () => undefined;
    const refused = new Promise<never>((_resolve, reject) => {
      refuse = reject;
    });
    const body = this.#bodies.open(refuse);
    this.#body = body;
    const arrived = next.catch(() => {
      throw disconnected();
    });
    try {
      return await Promise.race([arrived, refused]);
    } finally {
      this.#bodies.release(body);
      this.#body = undefined;
    }
  }

  async inflate(encoding: Encoding, bytes: Uint8Array, limit: number): Promise<Uint8Array> {
    const inflated = await inflateBytes(encoding, bytes, limit);
    if (this.#body !== undefined) this.#bodies.inflated(this.#body, inflated.length);
    return inflated;
  }

  /** Counts what the body takes beyond its bytes. Throws `Overloaded` when there is no memory for it. */
  parsed(bytes: number): void {
    if (this.#body !== undefined) this.#bodies.inflated(this.#body, bytes);
  }

  release(): void {
    if (this.#body !== undefined) this.#bodies.release(this.#body);
  }
}

function disconnected(): ClientDisconnected {
  return new ClientDisconnected("the client disconnected");
}

const leastInChunk = 16_384;
const mostInChunk = 1_048_576;
const decoders = { gzip: promisify(gunzip), zlib: promisify(inflate), "deflate-raw": promisify(inflateRaw) };

/** Undoes a content encoding with zlib, off the main thread. */
async function inflateBytes(encoding: Encoding, bytes: Uint8Array, limit: number): Promise<Uint8Array> {
  try {
    // Each chunk is a turn of the main thread.
    const chunkSize = Math.min(mostInChunk, Math.max(leastInChunk, 4 * bytes.length));
    return await decoders[encoding](bytes, { maxOutputLength: limit, chunkSize });
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE" ? new BodyTooLarge() : error;
  }
}
