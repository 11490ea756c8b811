import { Agent, request } from "node:http";
import type { IncomingMessage } from "node:http";

/** What is attacked, with which key, and the data of that key which the attacks use. */
export interface Target {
  url: string;
  key: string;
  /** Of an object of 6 MB. */
  ref: string;
  /** Digest of a table with rows of 6 MB. */
  table: string;
  /** Id of a model to be trained. */
  modelId: string;
  /** An evaluation without an end, and the model that it runs. */
  evaluation: { evaluation_ref: string; model_ref: string };
}

/** How often the attacker got each status; `cut` for connections that the service closed. */
export type AttackReport = Record<string, number>;

/** One request, or what belongs together. */
type Attack = (target: Target) => Promise<void>;

/** Run by so many workers at once, again and again. */
export interface AttackShape {
  workers: number;
  run: Attack;
}

export const report: AttackReport = {};
export const attackedProject = "attacker/app";
const agent = new Agent({ keepAlive: true });

export function count(status: number | string): void {
  report[status] = (report[status] ?? 0) + 1;
}

/** Sends a request and resolves with its response, whose body nobody reads; undefined when the connection is cut. */
export function post(
  { url, key }: Pick<Target, "url" | "key">,
  path: string,
  body: Uint8Array | object,
  headers: Record<string, string> = {},
): Promise<IncomingMessage | undefined> {
  const bytes =
    body instanceof Uint8Array ? body : Buffer.from(JSON.stringify({ project_id: attackedProject, ...body }));
  return new Promise((resolve) => {
    const all = { authorization: `Bearer ${key}`, "content-type": "application/json", ...headers };
    const outgoing = request(`${url}${path}`, { method: "POST", agent, headers: all }, (response) => {
      count(response.statusCode ?? 0);
      response.on("error", () => count("cut"));
      resolve(response);
    });
    outgoing.on("error", () => {
      count("cut");
      resolve(undefined);
    });
    outgoing.end(bytes);
  });
}

export async function readAll(response: IncomingMessage | undefined): Promise<void> {
  if (response === undefined) return;
  await new Promise<void>((resolve) => response.on("close", resolve).resume());
}
