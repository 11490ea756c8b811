import type { IncomingMessage } from "node:http";
import { readBody, startServer } from "../http-server.js";

export interface Recorded {
  id: string;
  op_name: string;
  trace_id: string;
  parent_id?: string;
  thread_id?: string;
  turn_id?: string;
  project_id: string;
  attributes: Record<string, unknown>;
  inputs: Record<string, unknown>;
  started_at: string;
  ended_at?: string;
  output?: unknown;
  exception?: string;
  summary?: Record<string, unknown>;
}

/**
 * A server that keeps the calls of `/call/upsert_batch`; it answers with the statuses given first, an object being the headers
 * of a 503, then with 200.
 */
export async function startTraceServer(...statuses: (number | Record<string, string>)[]) {
  const calls = new Map<string, Recorded>();
  const requests: IncomingMessage[] = [];
  const server = await startServer(async (request, response) => {
    requests.push(request);
    const body = await readBody(request);
    const next = statuses.shift() ?? 200;
    const [status, headers] = typeof next === "number" ? [next, {}] : [503, next];
    if (status === 200) {
      const { batch } = JSON.parse(String(body)) as { batch: { req: { start?: Recorded; end?: Recorded } }[] };
      for (const { req } of batch) {
        const part = (req.start ?? req.end)!;
        calls.set(part.id, { ...calls.get(part.id), ...part });
      }
    }
    response.writeHead(status, { "content-type": "application/json", ...headers }).end('{"res":[]}');
  });
  const all = () => [...calls.values()];
  const named = (name: string): Recorded => {
    const call = all().find(({ op_name }) => op_name === name);
    if (!call)
      throw new Error(
        `no call ${name} among ${all()
          .map(({ op_name }) => op_name)
          .join()}`,
      );
    return call;
  };
  return { ...server, requests, all, named };
}
