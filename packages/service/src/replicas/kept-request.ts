import { readBody } from "@heddle/server-stub";
import type { HttpRequest, HttpServer } from "@heddle/server-stub";
import { WrappedRequest } from "../limits/wrapped-request.js";

/** A body that is longer goes on as it comes, and can be sent once only. */
const mostKeptBytes = 1_048_576;
/** As much as an operation reads of a body at once. */
const mostWholeBytes = 64 * 1024 * 1024;

/** A request whose body was read: it can be sent more than once. */
class KeptRequest extends WrappedRequest {
  readonly #body: Uint8Array;

  constructor(request: HttpRequest, body: Uint8Array) {
    super(request);
    this.#body = body;
  }

  override header(name: string): string | undefined {
    return name === "content-length" ? String(this.#body.length) : super.header(name);
  }

  override headers(): Record<string, string> {
    return { ...super.headers(), "content-length": String(this.#body.length) };
  }

  override async bytes(): Promise<Uint8Array> {
    return this.#body;
  }

  override async *stream(): AsyncGenerator<Uint8Array> {
    yield this.#body;
  }
}

/** The request itself where its body is long, or of unknown length; it can then be sent once. */
export async function keepShort(request: HttpRequest): Promise<{ request: HttpRequest; isRepeatable: boolean }> {
  const length = request.header("content-length");
  if (length === undefined) return { request, isRepeatable: request.header("transfer-encoding") === undefined };
  if (Number(length) > mostKeptBytes) return { request, isRepeatable: false };
  return { request: new KeptRequest(request, await request.bytes(mostKeptBytes)), isRepeatable: true };
}

/** Of messages of gRPC, which are framed and may be compressed each. */
const ofMessages = new Set(["content-encoding", "grpc-encoding", "grpc-accept-encoding", "accept-encoding"]);

/** A message of gRPC, inflated: only its adapter can read it as it came. */
class MessageRequest extends KeptRequest {
  override header(name: string): string | undefined {
    return ofMessages.has(name) ? undefined : super.header(name);
  }

  override headers(): Record<string, string> {
    const isKept = ([name]: [string, string]) => !ofMessages.has(name) && !name.startsWith(":");
    return Object.fromEntries(Object.entries(super.headers()).filter(isKept));
  }
}

/** A server that gets requests of gRPC as those of HTTP which any other server can read. */
export function wholeMessages(server: HttpServer): HttpServer {
  return async (request) => await server(new MessageRequest(request, await readBody(request, mostWholeBytes)));
}
