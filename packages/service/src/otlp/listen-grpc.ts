import { constants, createServer } from "node:http2";
import type { Http2ServerRequest, Http2ServerResponse, ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import type { HttpServer } from "@heddle/server-stub";
import { openNodeRequest } from "@heddle/server-stub/node";
import type { BodiesInFlight } from "@heddle/server-stub/node";
import { GrpcRequest } from "./grpc-request.js";
import { GrpcSessions } from "./grpc-sessions.js";
import { grpcStatusOf, ok, statusHeaders } from "./grpc-status.js";
import type { GrpcStatus } from "./grpc-status.js";

export interface GrpcOptions {
  host: string;
  /** 0 picks a free one. */
  port: number;
  /** The path of the operation that does what a method does, by the path of the method. */
  methods: Readonly<Record<string, string>>;
  /** Shared with the other servers of the process. */
  bodies: BodiesInFlight;
  maxConnections: number;
  /** Calls of all connections at once; further ones get UNAVAILABLE. */
  maxCalls: number;
  /** Milliseconds until the first call of a connection must come. */
  headersMs: number;
  /** Milliseconds that a client may take nothing of a response; it is then cut off. */
  stallMs: number;
}

export interface ListeningGrpc {
  url: string;
  /** Takes no more connections and calls; cuts those that run after `grace` milliseconds. */
  close(grace: number): Promise<void>;
}

/** Calls of one connection at once; a Collector sends ten. */
const callsPerConnection = 32;

/**
 * Serves unary methods of gRPC as operations of an HTTP server, over HTTP/2 without TLS. Rejects when the port is taken.
 *
 * Not by @grpc/grpc-js: what it receives does not count as memory before it is read whole, and it inflates the messages
 * of a call all at once.
 */
export async function listenForGrpc(server: HttpServer, options: GrpcOptions): Promise<ListeningGrpc> {
  const { bodies, maxCalls, stallMs } = options;
  let running = 0;
  const http = createServer({
    settings: { enablePush: false, maxConcurrentStreams: callsPerConnection, maxHeaderListSize: 16_384 },
    maxHeaderListPairs: 100,
  });
  const limits = { maxSessions: options.maxConnections, firstCallMs: options.headersMs };
  const sessions = new GrpcSessions(http, limits, () => bodies.refuseOldest());

  async function statusOf(incoming: Http2ServerRequest, stream: ServerHttp2Stream): Promise<Result> {
    const target = options.methods[incoming.url];
    if (target === undefined) return failed(12, `There is no method ${incoming.url.slice(0, 200)}`);
    if (running > maxCalls) {
      bodies.refuseOldest();
      return { status: { code: 14, message: `Too many calls: at most ${maxCalls} at once`, retryAfter: 1 } };
    }
    const { request, release } = openNodeRequest(incoming, stream, bodies);
    const called = new GrpcRequest(request, target);
    try {
      const response = await server(called);
      const { status, body = "" } = response;
      if (status !== 200) return { status: grpcStatusOf(response), id: called.id };
      if (typeof body === "function") throw new TypeError(`${target} responds with a stream`);
      return { status: ok, id: called.id, message: Buffer.from(body) };
    } finally {
      release();
    }
  }

  async function respondTo(incoming: Http2ServerRequest, outgoing: Http2ServerResponse): Promise<void> {
    if (
      !/^application\/grpc(\+proto)?(;|$)/.test(incoming.headers["content-type"] ?? "") ||
      incoming.method !== "POST"
    ) {
      outgoing.writeHead(415).end();
      return;
    }
    const deadline = withDeadline(incoming.headers["grpc-timeout"]);
    const result = await Promise.race([statusOf(incoming, outgoing.stream), deadline.passed]).catch(() =>
      failed(13, ""),
    );
    deadline.cancel();
    if (!outgoing.stream.destroyed) send(outgoing, result, stallMs);
  }

  http.on("request", (incoming, outgoing) => {
    const { stream } = outgoing;
    // Of a client that disconnects.
    incoming.on("error", () => undefined);
    if (stream.session === undefined) return;
    const end = sessions.begin(stream.session);
    running += 1;
    stream.once("close", () => {
      running -= 1;
      end();
    });
    void respondTo(incoming, outgoing);
  });
  await new Promise<void>((resolve, reject) => {
    http.once("error", reject);
    http.listen(options.port, options.host, () => {
      http.off("error", reject);
      resolve();
    });
  });
  const { address, family, port } = http.address() as AddressInfo;
  return {
    url: `http://${family === "IPv6" ? `[${address}]` : address}:${port}`,
    async close(grace) {
      const closed = new Promise<void>((resolve) => http.close(() => resolve()));
      sessions.close(grace);
      await closed;
    },
  };
}

/** How a call ended, and the message of one that succeeded. */
interface Result {
  status: GrpcStatus;
  id?: string;
  message?: Buffer;
}

const failed = (code: number, message: string): Result => ({ status: { code, message } });

/** Milliseconds that a client may go on sending what is not read any more; it has the status long before. */
const sendOnMs = 1000;

const head = { "content-type": "application/grpc+proto", "grpc-accept-encoding": "identity,gzip,deflate" };

function send(outgoing: Http2ServerResponse, { status, id, message }: Result, stallMs: number): void {
  const { stream } = outgoing;
  // Of a client that sends on after the response, or takes none of it.
  const close = () => stream.close(stream.writableFinished ? constants.NGHTTP2_NO_ERROR : constants.NGHTTP2_CANCEL);
  const closing = setTimeout(close, stream.readableEnded ? stallMs : Math.min(stallMs, sendOnMs));
  stream.once("close", () => clearTimeout(closing));
  const headers = { ...head, ...(id !== undefined && { "x-request-id": id }) };
  if (message === undefined) {
    // `writeHead` would not end the stream with the headers, which are then no trailers.
    stream.respond({ ":status": 200, ...headers, ...statusHeaders(status) }, { endStream: true });
    return;
  }
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.length, 1);
  outgoing.writeHead(200, headers);
  outgoing.addTrailers(statusHeaders(status));
  outgoing.end(Buffer.concat([prefix, message]));
}

const units: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1000, m: 1, u: 0.001, n: 0.000_001 };
const longestTimer = 2 ** 31 - 1;

/** The time that the client waits (`grpc-timeout`). The work of a call that nobody waits for ends as it does over HTTP. */
function withDeadline(timeout: unknown): { passed: Promise<Result>; cancel: () => void } {
  const [, digits, unit = ""] = /^(\d{1,8})([HMSmun])$/.exec(String(timeout)) ?? [];
  let timer: NodeJS.Timeout | undefined;
  const passed = new Promise<Result>((resolve) => {
    if (digits === undefined) return;
    const ms = Math.min(Number(digits) * (units[unit] ?? 0), longestTimer);
    timer = setTimeout(() => resolve(failed(4, "The deadline has passed")), ms);
  });
  return { passed, cancel: () => clearTimeout(timer) };
}
