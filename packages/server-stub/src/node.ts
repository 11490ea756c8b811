import { createServer } from "node:http";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { ClientDisconnected } from "./http.js";
import type { HttpRequest, HttpResponse, HttpServer, StreamBody } from "./http.js";
import { withSignal } from "./lazy-signal.js";
import { inflateBytes, readBytes } from "./node-body.js";
import { closeInOrder } from "./node-close.js";
import { NodeSink } from "./node-sink.js";
import { cutOnStall, defaultStallMs } from "./stall-deadline.js";
import { piecesBody } from "./write-slices.js";

export interface NodeOptions {
  /**
   * Milliseconds that a client may take nothing of a response that waits to be sent; it is then disconnected, and a
   * stream ended. Default 30,000.
   */
  stallMs?: number;
}

export interface ListenOptions extends NodeOptions {
  /** 0 picks a free one. */
  port?: number;
  /** Default: this machine only. */
  host?: string;
}

export interface Listening {
  /** `http://127.0.0.1:4680`, without a slash at the end. */
  url: string;
  port: number;
  server: Server;
  /**
   * Stops accepting, lets running requests finish for `grace` milliseconds (default 5000), then cuts them. Clients
   * that have connected before get a response.
   */
  close(grace?: number): Promise<void>;
}

/** Serves over `node:http`. Rejects when the port is taken. */
export async function listen(
  server: HttpServer,
  { port = 0, host = "127.0.0.1", ...options }: ListenOptions = {},
): Promise<Listening> {
  const respondTo = toNodeListener(server, options);
  const running = new Set<ServerResponse>();
  const listener = (incoming: IncomingMessage, outgoing: ServerResponse) => {
    running.add(outgoing);
    outgoing.once("close", () => running.delete(outgoing));
    respondTo(incoming, outgoing);
  };
  const http = createServer(listener);
  // With a listener of our own `100 Continue` is sent only when the body is read: a 413 comes before the upload.
  http.on("checkContinue", listener);
  await new Promise<void>((resolve, reject) => {
    http.once("error", reject);
    http.listen(port, host, () => {
      http.off("error", reject);
      resolve();
    });
  });
  const address = http.address() as AddressInfo;
  const shown = address.family === "IPv6" ? `[${address.address}]` : address.address;
  return {
    url: `http://${shown}:${address.port}`,
    port: address.port,
    server: http,
    close: (grace = 5000) => closeInOrder(http, running, grace),
  };
}

/** A listener for `node:http`, Express, Fastify and whatever else calls `(request, response)`. */
export function toNodeListener(
  server: HttpServer,
  { stallMs = defaultStallMs }: NodeOptions = {},
): (request: IncomingMessage, response: ServerResponse) => void {
  return (incoming, outgoing) => {
    server(requestOf(incoming, outgoing)).then(
      (response) => respond(incoming, outgoing, response, stallMs),
      () => outgoing.destroy(),
    );
  };
}

function requestOf(incoming: IncomingMessage, outgoing: ServerResponse): HttpRequest {
  let controller: AbortController | undefined;
  const request = {
    method: incoming.method ?? "GET",
    target: incoming.url ?? "/",
    // An IPv4 peer of a socket for both families is shown as such.
    remoteAddress: incoming.socket.remoteAddress?.replace(/^::ffff:(?=\d+\.)/, ""),
    header: (name: string) => {
      const value = incoming.headers[name];
      return Array.isArray(value) ? value.join(", ") : value;
    },
    bytes: (limit: number) => readBytes(incoming, outgoing, limit),
    inflate: inflateBytes,
  };
  return withSignal(request, () => (controller ??= abortWithClient(outgoing)).signal);
}

function abortWithClient(outgoing: ServerResponse): AbortController {
  const controller = new AbortController();
  const abort = () => {
    if (!outgoing.writableFinished) controller.abort(new ClientDisconnected("the client disconnected"));
  };
  if (outgoing.closed) abort();
  else outgoing.once("close", abort);
  return controller;
}

function respond(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  { status, headers, body, drain }: HttpResponse,
  stallMs: number,
): void {
  if (outgoing.destroyed) {
    if (typeof body === "function") void body(new NodeSink(outgoing, stallMs)).catch(() => {});
    return;
  }
  if (typeof body === "function") {
    outgoing.writeHead(status, headers);
    outgoing.flushHeaders();
    send(outgoing, body, stallMs);
    return;
  }
  outgoing.writeHead(status, body === undefined ? headers : withLength(headers, body));
  if (body !== undefined && body.length > wholeLength && !drain) send(outgoing, piecesBody([body]), stallMs);
  else if (!drain || incoming.complete) outgoing.end(body, cutOnStall(outgoing, stallMs));
  else {
    outgoing.write(body ?? "");
    endAfterDraining(incoming, outgoing);
  }
}

/** Beyond this many UTF-16 units or bytes, a body is sent in slices. */
const wholeLength = 65_536;

function send(outgoing: ServerResponse, body: StreamBody, stallMs: number): void {
  body(new NodeSink(outgoing, stallMs)).then(
    () => outgoing.end(cutOnStall(outgoing, stallMs)),
    () => outgoing.destroy(),
  );
}

function withLength(headers: Record<string, string>, body: string | Uint8Array): Record<string, string | number> {
  const length = typeof body === "string" ? Buffer.byteLength(body) : body.length;
  return Object.assign({ "content-length": length }, headers);
}

const drainMs = 10_000;

/**
 * The response is complete for a client that listens while it sends. Closing now would reset the connection under one
 * that sends first and reads later, so the rest of its body is thrown away first, for a limited time.
 */
function endAfterDraining(incoming: IncomingMessage, outgoing: ServerResponse): void {
  const timer = setTimeout(() => outgoing.destroy(), drainMs);
  const end = () => {
    clearTimeout(timer);
    outgoing.end();
  };
  incoming.once("end", end);
  incoming.once("close", end);
  incoming.resume();
}
