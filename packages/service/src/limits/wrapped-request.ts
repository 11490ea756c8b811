import type { BodyForm, Encoding, HttpRequest } from "@heddle/server-stub";

/** A request that is another one in everything that a subclass does not say otherwise. */
export class WrappedRequest implements HttpRequest {
  readonly #request: HttpRequest;

  constructor(request: HttpRequest) {
    this.#request = request;
  }

  get id(): string {
    return this.#request.id ?? "";
  }

  get method(): string {
    return this.#request.method;
  }

  get target(): string {
    return this.#request.target;
  }

  get remoteAddress(): string | undefined {
    return this.#request.remoteAddress;
  }

  get signal(): AbortSignal {
    return this.#request.signal;
  }

  header(name: string): string | undefined {
    return this.#request.header(name);
  }

  headers(): Readonly<Record<string, string>> {
    return this.#request.headers?.() ?? {};
  }

  bytes(limit: number, form?: BodyForm): Promise<Uint8Array> {
    return this.#request.bytes(limit, form);
  }

  stream(limit: number): AsyncIterable<Uint8Array> {
    return this.#request.stream(limit);
  }

  inflate(encoding: Encoding, bytes: Uint8Array, limit: number): Promise<Uint8Array> {
    return this.#request.inflate(encoding, bytes, limit);
  }

  parsed(bytes: number): void {
    this.#request.parsed?.(bytes);
  }
}
