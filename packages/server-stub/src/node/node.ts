import { createServer } from "node:http";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { BodiesInFlight } from "./bodies-in-flight.js";
import type { BodyLimits } from "./bodies-in-flight.js";
import { Connections } from "./connections.js";
import type { HttpResponse, HttpServer, StreamBody } from "../http.js";
import { openNodeRequest } from "./request.js";
import { closeInOrder } from "./close.js";
import { refusalOf, refusalResponse, refuseUnreadable } from "./refusals.js";
import type { Refusal, RefusedRequest } from "./refusals.js";
import { NodeSink } from "./sink.js";
import { withId } from "../request-id.js";
import { cutOnStall, defaultStallMs } from "./stall-deadline.js";
import { piecesBody } from "../response/write-slices.js";

export { BodiesInFlight } from "./bodies-in-flight.js";
export { openNodeRequest } from "./request.js";
export type { NodeRequest, NodeResponse, OpenedRequest } from "./request.js";
export type { RefusedRequest } from "./refusals.js";

export interface NodeOptions extends BodyLimits {
  /**
   * Milliseconds that a client may take nothing of a response that waits to be sent; it is then disconnected, and a
   * stream ended. Default 30,000.
   */
  stallMs?: number;
}

export interface ListenOptions extends NodeOptions {
  /** The memory of bodies, where servers share it; {@link BodyLimits} are then its own. */
  bodies?: BodiesInFlight;
  /**
   * Most connections at once; default 4096. Beyond it those without a request in progress are closed, and new requests
   * get 503, on up to twice as many connections more. Choose a sixth of the files that the process may open.
   */
  maxConnections?: number;
  /** Milliseconds until the headers of a request must be complete; the connection is closed then. Default 10,000. */
  headersMs?: number;
  /** What the operator changes for more connections, for the message of the 503. Default: `maxConnections`. */
  connectionsSetting?: string;
  /** Called with each request that is refused because of its connection, before it reaches the server. */
  onRefused?: (request: RefusedRequest) => void;
  /** 0 picks a free one. */
  port?: number;
  /** Default: this machine only. */
  host?: string;
  /** Whether a process of `node:cluster` has the port alone; by default the others share it. */
  exclusive?: boolean;
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
  {
    port = 0,
    host = "127.0.0.1",
    exclusive = false,
    maxConnections = 4096,
    headersMs = 10_000,
    connectionsSetting = "maxConnections",
    stallMs = defaultStallMs,
    onRefused,
    bodies: shared,
    ...options
  }: ListenOptions = {},
): Promise<Listening> {
  const bodies = shared ?? new BodiesInFlight(options);
  const respondTo = nodeListener(server, bodies, stallMs);
  const tooMany: Refusal = {
    status: 503,
    reason: `Too many connections: at most ${maxConnections} at once (${connectionsSetting})`,
    headers: { "retry-after": "1" },
  };
  const refuse = (refusal: Refusal): NodeListener => {
    const { status, reason } = refusal;
    const refusing: HttpServer = async ({ id: requestId = "" }) => {
      onRefused?.({ requestId, status, reason });
      return refusalResponse(refusal);
    };
    return nodeListener(refusing, bodies, stallMs);
  };
  const running = new Set<ServerResponse>();
  /** With a request that is not valid: closed after its response. What follows it may be a part of its body. */
  const closing = new WeakSet<Socket>();
  const listener = (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const { socket } = incoming;
    if (closing.has(socket)) return;
    const isAccepted = connections.begin(socket);
    running.add(outgoing);
    outgoing.once(drainsBody, () => connections.responded(socket));
    outgoing.once("close", () => {
      running.delete(outgoing);
      connections.end(socket);
    });
    const refusal = isAccepted ? refusalOf(incoming) : tooMany;
    if (refusal?.status === 400) closing.add(socket);
    (refusal === undefined ? respondTo : refuse(refusal))(incoming, outgoing);
  };
  const http = createServer(
    // No time for whole requests: large bodies are read as they arrive, and others have their own (BodiesInFlight).
    {
      headersTimeout: headersMs,
      requestTimeout: 0,
      connectionsCheckingInterval: Math.min(1000, headersMs),
      requireHostHeader: false, // refusalOf requires it
    },
    listener,
  );
  const connections = new Connections(http, maxConnections, () => bodies.refuseOldest());
  // With a listener of our own `100 Continue` is sent only when the body is read: a 413 comes before the upload.
  http.on("checkContinue", listener);
  http.on("checkExpectation", listener);
  http.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    const refused = refuseUnreadable(error, socket, running);
    if (refused !== undefined) onRefused?.(refused);
  });
  await new Promise<void>((resolve, reject) => {
    http.once("error", reject);
    http.listen({ port, host, exclusive }, () => {
      http.off("error", reject);
      resolve();
    });
  });
  const address = http.address() as AddressInfo;
  const hostName = address.family === "IPv6" ? `[${address.address}]` : address.address;
  return {
    url: `http://${hostName}:${address.port}`,
    port: address.port,
    server: http,
    close: (grace = 5000) => closeInOrder(http, running, grace),
  };
}

/**
 * A listener for `node:http`, Express, Nest, hooks of Fastify and whatever else calls `(request, response)`. Behind a body
 * parser it takes what the parser has kept of a body where that is exact enough, and otherwise responds with 500.
 */
export function toNodeListener(
  server: HttpServer,
  { stallMs = defaultStallMs, ...limits }: NodeOptions = {},
): NodeListener {
  return nodeListener(server, new BodiesInFlight(limits), stallMs);
}

type NodeListener = (request: IncomingMessage, response: ServerResponse) => void;

function nodeListener(server: HttpServer, bodies: BodiesInFlight, stallMs: number): NodeListener {
  return (incoming, outgoing) => {
    const { request, release } = openNodeRequest(incoming, outgoing, bodies);
    server(request)
      .finally(release)
      .then(
        (response) => respond(incoming, outgoing, withId(response, request.id), stallMs),
        () => outgoing.destroy(),
      );
  };
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
    outgoing.emit(drainsBody);
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
/** Event of a response that is complete while the rest of the request's body is thrown away. */
const drainsBody = Symbol("drains body");

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
