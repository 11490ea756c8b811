import type { IncomingMessage } from "node:http";
import type { Writable } from "node:stream";
import type { BodiesInFlight } from "./bodies-in-flight.js";
import { ClientDisconnected } from "../http.js";
import type { BodyForm, Encoding, HttpRequest } from "../http.js";
import { withSignal } from "../lazy-signal.js";
import { NodeBody } from "./body.js";
import type { IncomingBody } from "./body.js";
import { requestIdHeader, requestIdOf } from "../request-id.js";

/** What a request of `node:http` has; requests of the same interface of `node:http2` have it, too. */
export type NodeRequest = IncomingBody &
  Pick<IncomingMessage, "method" | "url"> & { socket: { remoteAddress?: string | undefined } };

/** What is written to a client: its end is that of the request. */
export type NodeResponse = Pick<Writable, "closed" | "writableFinished" | "once"> & { writeContinue?: () => void };

/** A request with an id whose body is not read yet. The memory of its body counts until it is released. */
export interface OpenedRequest {
  request: HttpRequest & { readonly id: string };
  release: () => void;
}

/** What a server gets of a request of Node, for adapters of other protocols than HTTP/1.1. */
export function openNodeRequest(incoming: NodeRequest, outgoing: NodeResponse, bodies: BodiesInFlight): OpenedRequest {
  const body = new NodeBody(incoming, outgoing, bodies);
  let controller: AbortController | undefined;
  const header = (name: string) => {
    const value = incoming.headers[name];
    return Array.isArray(value) ? value.join(", ") : value;
  };
  const request = {
    id: requestIdOf(header(requestIdHeader)),
    method: incoming.method ?? "GET",
    target: incoming.url ?? "/",
    // An IPv4 peer of a socket for both families is shown as such.
    remoteAddress: incoming.socket.remoteAddress?.replace(/^::ffff:(?=\d+\.)/, ""),
    header: (name: string) => (body.isAlreadyRead && name === "content-encoding" ? undefined : header(name)),
    headers: () => Object.fromEntries(Object.keys(incoming.headers).map((name) => [name, header(name) ?? ""])),
    bytes: (limit: number, form?: BodyForm) => body.read(limit, form),
    stream: (limit: number) => body.stream(limit),
    inflate: (encoding: Encoding, bytes: Uint8Array, limit: number) => body.inflate(encoding, bytes, limit),
    parsed: (bytes: number) => body.parsed(bytes),
  };
  return {
    request: withSignal(request, () => (controller ??= abortWithClient(outgoing)).signal),
    release: () => body.release(),
  };
}

function abortWithClient(outgoing: NodeResponse): AbortController {
  const controller = new AbortController();
  const abort = () => {
    if (!outgoing.writableFinished) controller.abort(new ClientDisconnected("the client disconnected"));
  };
  if (outgoing.closed) abort();
  else outgoing.once("close", abort);
  return controller;
}
