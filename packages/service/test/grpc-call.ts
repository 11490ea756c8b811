import { connect } from "node:http2";
import type { ClientHttp2Session, IncomingHttpHeaders, OutgoingHttpHeaders } from "node:http2";

/** How a call of gRPC ended; `code` is undefined where the stream was cut, or the response is not one of gRPC. */
export interface GrpcOutcome {
  httpStatus?: number | undefined;
  code?: number | undefined;
  message: string;
  details: string;
  /** Without its prefix. */
  response: Buffer;
}

const traceMethod = "/opentelemetry.proto.collector.trace.v1.TraceService/Export";

/** A message as it is sent: a byte that says whether it is compressed, and its length. */
export function framed(message: Uint8Array, isCompressed = false): Buffer {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt8(Number(isCompressed));
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

/** A connection whose errors are those of its calls; what is large waits in it to be sent. */
export function openSession(url: string): ClientHttp2Session {
  const session = connect(url, { maxSessionMemory: 1000 });
  session.on("error", () => undefined);
  return session;
}

export interface CallOptions {
  path?: string;
  headers?: OutgoingHttpHeaders;
  /** Sends no more than the body, and does not end. */
  unfinished?: boolean;
}

/** Calls a method with the bytes of a body as they are. */
export async function call(
  session: ClientHttp2Session,
  body: Uint8Array,
  { path = traceMethod, headers = {}, unfinished = false }: CallOptions = {},
): Promise<GrpcOutcome> {
  const stream = session.request({
    ":method": "POST",
    ":path": path,
    "content-type": "application/grpc",
    te: "trailers",
    ...headers,
  });
  const outcome: GrpcOutcome = { message: "", details: "", response: Buffer.alloc(0) };
  const note = (received: IncomingHttpHeaders) => {
    if (received["grpc-status"] === undefined) return;
    outcome.code = Number(received["grpc-status"]);
    outcome.message = decodeURIComponent(textOf(received["grpc-message"]));
    outcome.details = Buffer.from(textOf(received["grpc-status-details-bin"]), "base64").toString("latin1");
  };
  stream.on("response", (received) => {
    outcome.httpStatus = received[":status"];
    note(received);
  });
  stream.on("trailers", note);
  const chunks: Buffer[] = [];
  stream.on("data", (chunk: Buffer) => chunks.push(chunk));
  stream.on("error", () => undefined);
  if (unfinished) stream.write(body);
  else stream.end(body);
  await new Promise((resolve) => stream.once("close", resolve));
  outcome.response = Buffer.concat(chunks).subarray(5);
  return outcome;
}

function textOf(value: string | string[] | undefined): string {
  return typeof value === "string" ? value : "";
}
