import { join } from "node:path";
import { toFetch } from "@heddle/server-stub/fetch";
import { createTracingServer } from "@heddle/server-stub/tracing";
import { createTrainingServer } from "@heddle/server-stub/training";
import type { Operation } from "@heddle/tools/model";
import { readModel } from "@heddle/tools/model";
import { describe, expect, test } from "vitest";
import { createTracingClient, createTrainingClient } from "../src/index.js";

const spec = join(import.meta.dirname, "../../../spec/dist");
const baseUrl = "http://in-process";
const apiKey = "k".repeat(40);
const bytes = Uint8Array.of(0, 10, 13, 255);

interface Seen {
  params: object;
  query: object;
  headers: object;
  body: unknown;
  secret: string;
}

type Method = (...args: unknown[]) => unknown;

const interfaces = {
  tracing: { createServer: createTracingServer, createClient: createTracingClient },
  training: { createServer: createTrainingServer, createClient: createTrainingClient },
};

// The samples of the spec are sent by the generated client to the generated server and come back as they were given.
describe.each(["tracing", "training"] as const)("%s", (name) => {
  const { operations, document } = readModel(join(spec, `${name}.json`));
  const { createServer, createClient } = interfaces[name];
  const samples = document.components?.examples as Record<string, { value: unknown }>;

  test.each(operations)("$id goes there and back", async (operation) => {
    const { id, group, success } = operation;
    const kind = success.contents[0]?.kind;
    const sample = kind === "bytes" ? bytes : samples[`${id}Response`]?.value;
    const isStream = kind === "jsonl" || kind === "sse";
    const seen: Seen[] = [];
    const handler = async ({ params, query, headers, body }: Seen, caller: { secret: string }) => {
      seen.push({ params, query, headers, body: await received(body), secret: caller?.secret });
      return isStream ? [sample, sample].values() : sample;
    };
    const server = createServer({ [group]: { [id]: handler } }, { authenticate: asCaller, validateResponses: true });
    const client = createClient({ baseUrl, apiKey, fetch: toFetch(server), retries: 0 });

    const { input, body, params } = inputOf(operation, samples[`${id}Request`]?.value);
    const method = (client as unknown as Record<string, Method>)[id]!;
    const result = input ? method(input) : method();
    expect(await collected(result)).toEqual(isStream ? [sample, sample] : itemsOf(operation, sample));

    expect(seen).toHaveLength(1);
    expect({ ...seen[0]!.params, ...seen[0]!.query, ...seen[0]!.headers }).toMatchObject(params);
    if (body) expect(JSON.parse(JSON.stringify(seen[0]!.body))).toMatchObject(withoutNulls(body));
    expect(seen[0]!.secret).toBe(operation.public ? undefined : apiKey);
  });
});

function asCaller(credentials: { secret: string }): { secret: string } {
  return credentials;
}

/** A page is read as its items. */
function itemsOf({ params }: Operation, sample: unknown): unknown {
  const isPage = typeof sample === "object" && sample !== null && "data" in sample && "has_more" in sample;
  return isPage && params.some(({ name }) => name === "after") ? sample.data : (sample ?? undefined);
}

/** The value of a body that arrives as a stream of JSON; other bodies as they are. */
async function received(body: unknown): Promise<unknown> {
  const { stream } = (body ?? {}) as { stream?: unknown };
  if (typeof stream !== "object" || stream === null) return body;
  const chunks: Uint8Array[] = [];
  for await (const chunk of stream as AsyncIterable<Uint8Array>) chunks.push(chunk);
  const whole = Buffer.concat(chunks);
  return whole.equals(bytes) ? bytes : (JSON.parse(whole.toString()) as unknown);
}

/** The one input object of an operation, made of the samples of its parts. */
function inputOf({ params, body }: Operation, sample: unknown) {
  const values = Object.fromEntries(
    params.filter(({ name }) => name !== "X-Weave-Retry-Id").map(({ name, example }) => [name, example]),
  );
  if (body?.kind === "raw") return { input: { ...values, body: bytes }, params: values };
  if (body?.kind === "multipart") return { input: { project_id: "acme/demo", file: bytes }, params: values };
  const input = { ...values, ...(sample as object | undefined) };
  return { input: params.length > 0 || body ? input : undefined, body: sample, params: values };
}

/** Optional properties may be sent as null and arrive as absent. */
function withoutNulls(sample: unknown): object {
  return JSON.parse(JSON.stringify(sample), (_, value: unknown) => value ?? undefined) as object;
}

async function collected(result: unknown): Promise<unknown> {
  if (!(Symbol.asyncIterator in (result as object))) return result;
  const items = [];
  for await (const item of result as AsyncIterable<unknown>) items.push(item);
  return items;
}
