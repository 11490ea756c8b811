import { BodyTooLarge, ClientDisconnected } from "./http.js";
import type { Encoding, HttpRequest, HttpResponse, HttpServer, StreamBody } from "./http.js";
import { requestIdHeader, requestIdOf, withId } from "./request-id.js";

/**
 * A server as a function from `Request` to `Response`, for Bun, Deno, Workers, Hono and route handlers of Next. Whatever
 * they give it besides the request has no effect. As the `fetch` of a client it makes both talk in one process without
 * a port.
 */
export function toFetch(server: HttpServer): (request: Request) => Promise<Response> {
  return async (request) => {
    request.signal.throwIfAborted();
    const disconnect = new AbortController();
    const leave = () => disconnect.abort(request.signal.reason);
    request.signal.addEventListener("abort", leave, { once: true });
    const id = requestIdOf(request.headers.get(requestIdHeader) ?? undefined);
    const response = await Promise.race([server(requestOf(request, id, disconnect)), aborted(disconnect.signal)]);
    return toFetchResponse(withId(response, id), disconnect);
  };
}

function requestOf(request: Request, id: string, disconnect: AbortController): HttpRequest {
  const { pathname, search } = new URL(request.url);
  return {
    id,
    method: request.method,
    target: pathname + search,
    header: (name) => request.headers.get(name) ?? undefined,
    signal: disconnect.signal,
    bytes: (limit) =>
      Number(request.headers.get("content-length") ?? 0) > limit
        ? Promise.reject(new BodyTooLarge())
        : readBytes(request.body, limit),
    stream: (limit) => streamBytes(request, limit),
    inflate: (encoding, bytes, limit) => readBytes(inflated(encoding, bytes), limit),
  };
}

async function* streamBytes(request: Request, limit: number): AsyncGenerator<Uint8Array> {
  if (Number(request.headers.get("content-length") ?? 0) > limit) throw new BodyTooLarge();
  let size = 0;
  for await (const chunk of request.body ?? []) {
    size += chunk.length;
    if (size > limit) throw new BodyTooLarge();
    yield chunk;
  }
}

async function readBytes(stream: ReadableStream<Uint8Array> | null, limit: number): Promise<Uint8Array> {
  if (stream === null) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of stream) {
    size += chunk.length;
    if (size > limit) throw new BodyTooLarge();
    chunks.push(chunk);
  }
  const [only] = chunks;
  if (chunks.length === 1 && only) return only;
  const whole = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}

function inflated(encoding: Encoding, bytes: Uint8Array): ReadableStream<Uint8Array> {
  const format = encoding === "zlib" ? "deflate" : encoding;
  return new Blob([bytes]).stream().pipeThrough(new DecompressionStream(format));
}

function toFetchResponse({ status, headers, body }: HttpResponse, disconnect: AbortController): Response {
  // There is no connection to close here.
  const { connection: _, ...rest } = headers;
  const bare = status === 204 || status === 304;
  return new Response(typeof body === "function" ? streamOf(body, disconnect) : bare ? null : body, {
    status,
    headers: rest,
  });
}

function streamOf(body: StreamBody, disconnect: AbortController): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let wanted: (() => void) | undefined;
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        disconnect.signal.addEventListener("abort", () => {
          sink.closed = true;
          controller.error(disconnect.signal.reason);
          wanted?.();
        });
        const sink = {
          closed: disconnect.signal.aborted,
          write: (chunk: string | Uint8Array) => {
            if (disconnect.signal.aborted) return undefined;
            controller.enqueue(typeof chunk === "string" ? encoder.encode(chunk) : chunk);
            return (controller.desiredSize ?? 1) > 0 ? undefined : new Promise<void>((resolve) => (wanted = resolve));
          },
          onClose: (callback: () => void) => {
            if (disconnect.signal.aborted) callback();
            else disconnect.signal.addEventListener("abort", callback, { once: true });
          },
        };
        body(sink).then(
          () => disconnect.signal.aborted || controller.close(),
          (error: unknown) => disconnect.signal.aborted || controller.error(error),
        );
      },
      pull: () => wanted?.(),
      cancel: (reason) => disconnect.abort(reason ?? new ClientDisconnected("the reader cancelled the stream")),
    },
    { highWaterMark: 1 },
  );
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}
