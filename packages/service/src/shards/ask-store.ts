import { once } from "node:events";
import http from "node:http";
import type { IncomingMessage } from "node:http";
import { connected, NotSent, Unanswered } from "../replicas/forward.js";
import { notHereHeader } from "./store-wire.js";

/** The other replica does not have the shard, or the project is not in it: nothing was done. */
export class NotHere extends Error {
  override readonly name = "NotHere";
  /** Whether it has the shard, and the project is in another one. */
  readonly isMoved: boolean;

  constructor(isMoved: boolean) {
    super("another replica works on this");
    this.isMoved = isMoved;
  }
}

/** The other replica has no room for what was sent: nothing was done. */
export class Refused extends Error {
  override readonly name = "Refused";
}

interface AskOptions {
  /** Origin of the other replica. */
  url: URL;
  path: string;
  headers: Record<string, string>;
  agent: http.Agent;
  signal: AbortSignal;
}

const connectMs = 3000;

/** Sends a call of a store and returns its response. Throws {@link NotSent}, {@link NotHere}, {@link Unanswered}. */
export async function askStore(
  body: Buffer,
  { url, path, headers, agent, signal }: AskOptions,
): Promise<IncomingMessage> {
  if (signal.aborted) throw new NotSent("the request has ended");
  const sent = http.request({
    agent,
    hostname: url.hostname.replace(/^\[|\]$/g, ""),
    port: url.port || 80,
    method: "POST",
    path,
    headers: { ...headers, "content-type": "application/octet-stream", "content-length": body.length },
    signal,
  });
  // Every error is seen by who waits for the connection or the response.
  sent.on("error", () => {});
  await connected(sent, connectMs);
  const answered = once(sent, "response") as Promise<[IncomingMessage]>;
  sent.end(body);
  const [response] = await answered.catch((error: unknown) => {
    throw new Unanswered("the other replica ended the connection", { cause: error });
  });
  if (response.statusCode === 200) return response;
  response.resume();
  const notHere = response.headers[notHereHeader];
  if (notHere !== undefined) throw new NotHere(notHere === "moved");
  throw new Refused(`another replica responded with ${response.statusCode}`);
}
