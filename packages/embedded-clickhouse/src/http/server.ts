import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import type { EmbeddedEngine } from "../engine/engine.js";
import { onThread } from "../engine/on-thread.js";
import { ServerError } from "../engine/server-error.js";
import { protocol } from "../frames/frame.js";
import type { StatementServer } from "../frames/statement-server.js";
import { authenticate } from "./authentication.js";
import { execute } from "./execute.js";
import { defaultFormat, prepare } from "./execution.js";
import type { Execution } from "./execution.js";
import { readMultipart } from "./multipart.js";
import { addField, isOn, readQueryRequest } from "./query-request.js";
import { createQueryResponse } from "./query-response.js";
import { decodedBody, readWhole } from "./request-body.js";

/** Long lists arrive as parameters in the URL; Node's own limit is 16 KB. */
const maxHeaderBytes = 1024 * 1024 + 64 * 1024;

/**
 * Serves the ClickHouse HTTP interface from the engine, and hands connections over to `statements` that are to be upgraded.
 * Both need the password when one is given.
 */
export function createEngineServer(
  engine: EmbeddedEngine,
  statements: StatementServer,
  password: string | undefined,
): Server {
  const server = createServer(
    { maxHeaderSize: maxHeaderBytes, keepAliveTimeout: 30_000, requestTimeout: 0 },
    (request, response) => {
      respond(engine, password, request, response).catch(() => response.destroy());
    },
  );
  server.on("upgrade", (request, socket, head) => {
    if (request.headers.upgrade === protocol && isAllowed(request, password)) statements.accept(socket, head);
    else socket.end("HTTP/1.1 403 Forbidden\r\nConnection: close\r\n\r\n");
  });
  return server;
}

async function respond(
  engine: EmbeddedEngine,
  password: string | undefined,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const target = request.url ?? "/";
  const url = new URL(target.startsWith("/") ? `http://engine${target}` : "http://engine/unknown");
  if (url.pathname === "/ping" || url.pathname === "/replicas_status") {
    response.end("Ok.\n");
    return;
  }
  // A connection that breaks must not end the host.
  request.on("error", () => undefined);
  response.on("error", () => undefined);
  const disconnect = new AbortController();
  response.on("close", () => {
    if (!response.writableFinished) disconnect.abort(new Error("the client disconnected"));
  });
  let reply = createQueryResponse(request, response, {
    queryId: url.searchParams.get("query_id") || randomUUID(),
    format: defaultFormat,
    compress: false,
    timezone: engine.timezone,
  });
  try {
    authenticate(request, url.searchParams, password);
    if (url.pathname !== "/") {
      response.statusCode = 404;
      response.end(`There is no handle ${url.pathname}\n`);
      return;
    }
    const execution = await readExecution(request, url.searchParams);
    if (execution.sql.trim() === "" && request.method === "GET") {
      response.end("Ok.\n");
      return;
    }
    reply = createQueryResponse(request, response, {
      queryId: execution.request.queryId,
      format: execution.format,
      compress: isOn(execution.request.settings.get("enable_http_compression")),
      timezone: engine.timezone,
    });
    const { signal } = disconnect;
    await onThread(engine, signal, async (thread) => await execute(thread, execution, reply, signal));
  } catch (error) {
    if (!disconnect.signal.aborted) reply.fail(ServerError.fromUnknown(error));
    // The rest of the body is read and discarded, so that the connection can be used again.
    request.resume();
  }
}

async function readExecution(request: IncomingMessage, parameters: URLSearchParams): Promise<Execution> {
  const query = readQueryRequest(request, parameters);
  const body = decodedBody(request);
  const contentType = request.headers["content-type"] ?? "";
  if (/^multipart\/form-data\b/i.test(contentType)) {
    for (const [name, value] of readMultipart(contentType, await readWhole(body))) {
      if (name === "query") query.query += value;
      else addField(query, name, value);
    }
    return prepare(query, query.query, undefined);
  }
  if (query.query === "") {
    const text = await readWhole(body);
    const execution = prepare(query, text.toString(), undefined);
    if (execution.statement.kind !== "insert") return execution;
    return prepareInlineInsert(execution, text);
  }
  const execution = prepare(query, query.query, body);
  if (execution.statement.kind === "insert") return execution;
  const rest = await readWhole(body);
  return rest.length === 0 ? execution : prepare(query, `${query.query}\n${rest.toString()}`, undefined);
}

/** Data after the statement, in the same body, stays bytes: it need not be text. */
function prepareInlineInsert(execution: Execution, text: Buffer): Execution {
  const { dataStart } = execution.statement;
  if (dataStart === undefined) return execution;
  const sql = execution.sql.slice(0, dataStart);
  const data = text.subarray(Buffer.byteLength(sql));
  return { ...execution, sql, data: Readable.from([data]) };
}

function isAllowed(request: IncomingMessage, password: string | undefined): boolean {
  try {
    authenticate(request, new URLSearchParams(), password);
    return true;
  } catch {
    return false;
  }
}
