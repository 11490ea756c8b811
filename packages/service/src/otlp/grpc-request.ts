import { BodyTooLarge, Problem } from "@heddle/server-stub";
import type { Encoding, HttpRequest } from "@heddle/server-stub";

/** A byte that says whether the message is compressed, and four of its length. */
const prefixLength = 5;

/**
 * A call of a unary method of gRPC as the request of HTTP with the same body: its message is the body, its metadata are
 * the headers. The server that gets it authenticates, limits, inflates and decodes as it does for HTTP.
 */
export class GrpcRequest implements HttpRequest {
  readonly #request: HttpRequest;
  readonly id: string;
  readonly target: string;
  readonly method = "POST";
  #isCompressed = false;

  constructor(request: HttpRequest & { readonly id: string }, target: string) {
    this.#request = request;
    this.id = request.id;
    this.target = target;
  }

  get remoteAddress(): string | undefined {
    return this.#request.remoteAddress;
  }

  get signal(): AbortSignal {
    return this.#request.signal;
  }

  header(name: string): string | undefined {
    if (name === "content-type") return "application/x-protobuf";
    // Of responses over HTTP; gRPC has a header of its own.
    if (name === "accept-encoding") return undefined;
    return this.#request.header(name === "content-encoding" ? "grpc-encoding" : name);
  }

  headers(): Readonly<Record<string, string>> {
    return { ...this.#request.headers?.(), "content-type": "application/x-protobuf" };
  }

  async bytes(limit: number): Promise<Uint8Array> {
    const framed = await this.#request.bytes(limit + prefixLength);
    if (framed.length < prefixLength) throw new Problem(400, "The call has no message");
    const { buffer, byteOffset, byteLength } = framed;
    const prefix = new DataView(buffer, byteOffset, byteLength);
    const length = prefix.getUint32(1);
    if (length > limit) throw new BodyTooLarge();
    if (length !== framed.length - prefixLength) {
      throw new Problem(400, "The call has a part of a message, or more than one: this method takes one");
    }
    this.#isCompressed = prefix.getUint8(0) === 1;
    const encoding = this.#request.header("grpc-encoding") ?? "identity";
    if (this.#isCompressed && encoding === "identity")
      throw new Problem(400, "The message is compressed without grpc-encoding");
    return framed.subarray(prefixLength);
  }

  async *stream(limit: number): AsyncGenerator<Uint8Array> {
    yield await this.bytes(limit);
  }

  /** A client that compresses does not compress every message. */
  async inflate(encoding: Encoding, bytes: Uint8Array, limit: number): Promise<Uint8Array> {
    return this.#isCompressed ? await this.#request.inflate(encoding, bytes, limit) : bytes;
  }

  parsed(bytes: number): void {
    this.#request.parsed?.(bytes);
  }
}
