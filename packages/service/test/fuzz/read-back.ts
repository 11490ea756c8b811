import { valueDigest } from "@heddle/trace-model";
import { RawJson } from "@heddle/server-stub";
import { expect } from "vitest";
import { operations, toRequest, type RequestParts } from "../spec-requests.js";
import type { TestService } from "../test-service.js";
import { sharedIds } from "./words.js";

type Fields = Record<string, unknown>;

/** Reads what a write answered with 2xx, and compares it with what was sent. Other operations pass. */
export async function expectReadable(
  service: TestService,
  operation: string,
  { params = {}, body }: RequestParts,
  answer: string,
): Promise<void> {
  const read = readerOf(service);
  const sent = body as Fields;
  switch (operation) {
    case "callStart":
    case "callStartV2":
      return expectCalls(read, [[JSON.parse(answer), sent["start"]]], params);
    case "callStartBatch": {
      const { res } = JSON.parse(answer) as { res: Fields[] };
      const batch = listOf(sent["batch"]) as { req?: Fields }[];
      const made = res.flatMap((entry, index) =>
        "id" in entry ? [[entry, batch[index]?.req?.["start"]] as const] : [],
      );
      return expectCalls(read, made, params);
    }
    case "callsComplete": {
      const { errors = [] } = JSON.parse(answer) as { errors?: { index: number }[] };
      const bad = new Set(errors.map(({ index }) => index));
      const stored = listOf(sent["batch"]).filter((_, index) => !bad.has(index));
      return expectCalls(
        read,
        stored.map((item) => [item, item]),
        params,
      );
    }
    case "objCreate": {
      const { project_id, val, builtin_object_class, set_base_object_class } = sent["obj"] as Fields;
      const { digest, object_id } = JSON.parse(answer) as Fields;
      const text = await read("objRead", { project_id, object_id, digest });
      if (!given(builtin_object_class) && !given(set_base_object_class)) {
        expectContent(text, val, [digest]);
      }
      return;
    }
    case "tableCreate": {
      const { project_id, rows: listed } = sent["table"] as { project_id: string; rows: unknown };
      const rows = listOf(listed);
      const { digest } = JSON.parse(answer) as Fields;
      const text = await read("tableQuery", { project_id, digest });
      const stored = (JSON.parse(text) as { rows: Fields[] }).rows;
      expect(stored).toHaveLength(rows.length);
      const digests = stored.map((row) => row["digest"]);
      for (const row of rows) expectContent(text, row, digests);
      return;
    }
    case "fileCreate": {
      const { digest } = JSON.parse(answer) as Fields;
      const bytes = await readerOf(service, "latin1")("fileContent", { project_id: sent["project_id"], digest });
      const file = sent["file"] as string | Uint8Array;
      expect(bytes).toBe(Buffer.from(file).toString("latin1"));
      return;
    }
    default:
  }
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

type Read = (operation: string, body: Fields) => Promise<string>;

function readerOf(service: TestService, encoding: "utf8" | "latin1" = "utf8"): Read {
  return async (id, body) => {
    const operation = operations.find((candidate) => candidate.id === id);
    if (operation === undefined) throw new Error(id);
    const headers = { authorization: `Bearer ${service.owner_key}` };
    const response = await service.fetch(...toRequest(operation, { body }, headers));
    const text = Buffer.from(await response.arrayBuffer()).toString(encoding);
    expect([id, body, response.status, response.status === 200 ? "" : text]).toEqual([id, body, 200, ""]);
    return text;
  };
}

/** `made`: what the answer says of a call, and the start that was sent. */
async function expectCalls(
  read: Read,
  made: readonly (readonly [answer: unknown, start: unknown])[],
  { entity, project }: Fields,
): Promise<void> {
  // Other requests, and items of the same one, may have deleted, moved, replaced or finished a call whose id they share:
  // one of the shared ones, or one of the few odd texts. Only a UUID is a call's own.
  const ids = made.map(([answer]) => idOf(answer));
  const own = made.filter((_, index) => {
    const id = ids[index] ?? "";
    return uuid.test(id) && !sharedIds.includes(id) && ids.indexOf(id) === ids.lastIndexOf(id);
  });
  const byProject = groupBy(own, ([, start]) =>
    typeof entity === "string" ? `${entity}/${String(project)}` : String((start as Fields)["project_id"]),
  );
  for (const [project_id, calls] of byProject) {
    const call_ids = calls.map(([answer]) => idOf(answer));
    const text = await read("callsQuery", { project_id, filter: { call_ids } });
    const found = (JSON.parse(text) as { calls: { id: string }[] }).calls.map(({ id }) => id);
    expect(found.toSorted()).toEqual(call_ids.toSorted());
    for (const [, start] of calls) {
      const { inputs, output, attributes, otel_dump, ended_at } = start as Fields;
      expectText(text, inputs);
      if (!given(otel_dump)) expectText(text, attributes);
      if (given(ended_at)) expectText(text, output);
    }
  }
}

/** Where the answer tells no ids it is the item that was sent, and its id any spelling of a text. */
function idOf(answer: unknown): string {
  const { id } = answer as { id: unknown };
  return String(id instanceof RawJson ? id.value : id);
}

/** `Map.groupBy`, which comes with a later Node. */
function groupBy<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item]);
  return groups;
}

/** Null means absent. */
function given(value: unknown): boolean {
  return value !== undefined && value !== null;
}

/** Bare NaN and infinities come back as null, and refs with internal project ids as external ones. */
function expectText(answer: string, sent: unknown): void {
  if (!(sent instanceof RawJson) || /NaN|Infinity|weave-trace-internal/.test(sent.text)) return;
  expect(answer).toContain(sent.text);
}

/** Content is kept by digest: of two spellings of one value, as `[]` and `[ ]`, the first stays. */
function expectContent(answer: string, sent: unknown, digests: readonly unknown[]): void {
  if (sent instanceof RawJson && !answer.includes(sent.text) && digests.includes(valueDigest(sent.text))) return;
  expectText(answer, sent);
}

/** A list, also where a text stands for it. */
function listOf(sent: unknown): unknown[] {
  return (sent instanceof RawJson ? sent.value : sent) as unknown[];
}
