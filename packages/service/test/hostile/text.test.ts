import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { operations, sampleRequest, toRequest, writes } from "../spec-requests.js";
import type { RequestParts } from "../spec-requests.js";
import { isDeep, shareOf } from "../search-depth.js";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";
import { hostileTexts, loneSurrogate, withText } from "./hostile-texts.js";

let service: TestService;
beforeAll(async () => {
  service = await openTestService();
});
afterAll(() => service.close());
afterEach(() => expect(service.unexpected.splice(0)).toEqual([]));

/** All at once: it does not matter which of them breaks something. */
const together = Object.values(hostileTexts).join(" ");
/** Texts that mean something only when they are all of a value. */
const alone = ["", "a\0b", "__proto__", loneSurrogate];
const huge = "x".repeat(1_000_000);
/** Operations whose strings are replaced by the huge text: the first that writes and the first that reads of each group. */
const sentHuge = new Set(
  [true, false].flatMap((writing) => {
    const some = operations.filter((operation) => writes(operation) === writing);
    return some.filter(({ group }, at) => some.findIndex((other) => other.group === group) === at);
  }),
);
const startedAt = "2026-04-10T09:00:00Z";

async function send(path: string, body: unknown): Promise<{ status: number; body: Record<string, unknown> }> {
  const answer = await service.fetch(`http://in-process${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${service.owner_key}` },
    body: JSON.stringify(body),
  });
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
}

describe("any string of any request may be hostile: it is stored or refused, and nothing breaks", () => {
  test.each(shareOf(operations, 1))("$id", async (operation) => {
    const projectId = newProject();
    const sample = JSON.parse(
      JSON.stringify(sampleRequest(operation)).replaceAll('"acme/demo"', JSON.stringify(projectId)),
    ) as RequestParts;
    const requests = requestsOf(sample, isDeep || sentHuge.has(operation));
    const broken: unknown[] = [];
    for (let at = 0; at < requests.length; at += 16) {
      await Promise.all(
        requests.slice(at, at + 16).map(async ([path, parts]) => {
          const headers = { authorization: `Bearer ${service.owner_key}` };
          const request = attempt(() => new Request(...toRequest(operation, parts, headers)));
          // Header values and addresses that no HTTP client can send.
          if (request === undefined) return;
          const answer = await service.fetch(request);
          const text = await answer.text();
          if (answer.status >= 500) broken.push([path, answer.status, text.slice(0, 200)]);
        }),
      );
    }
    expect(broken).toEqual([]);
  });
});

/**
 * The sample with one of its strings replaced: each string by all texts together, and by those that stand alone, which
 * take turns unless the search is deep.
 */
function requestsOf(sample: RequestParts, withHuge: boolean): [path: string, parts: RequestParts][] {
  const replaced = (text: string) => [...withText(sample, text)] as [string, RequestParts][];
  const each = alone.map(replaced);
  const count = Math.max(each[0]?.length ?? 0, alone.length);
  const inTurn = Array.from({ length: count }, (_, at) => {
    const requests = each[at % alone.length] ?? [];
    return requests[at % requests.length] ?? [];
  }).filter((request): request is [string, RequestParts] => request.length > 0);
  return [...replaced(together), ...(isDeep ? each.flat() : inTurn), ...(withHuge ? replaced(huge) : [])];
}

describe.concurrent("the text of a call comes back as it was sent", () => {
  test.each(Object.entries(hostileTexts))("%s", async (_, text) => {
    const projectId = newProject();
    const start = {
      project_id: projectId,
      id: text || "id",
      trace_id: `${text}t`,
      parent_id: `${text}p`,
      op_name: text || "op",
      thread_id: text,
      turn_id: text,
      display_name: text,
      wb_run_id: text,
      started_at: startedAt,
      attributes: { [text]: text, nested: [{ [text]: [text] }] },
      inputs: { [text]: text },
    };
    const end = {
      project_id: projectId,
      id: start.id,
      ended_at: startedAt,
      exception: text,
      output: text,
      summary: { [text]: text },
    };
    expect((await send("/call/start", { start })).status).toBe(200);
    expect((await send("/call/end", { end })).status).toBe(200);

    const { body } = await send("/calls/query", { project_id: projectId });
    const [call] = body["calls"] as Record<string, unknown>[];
    const orNull = (value: string) => (value === "" ? null : value);
    expect(call).toMatchObject({
      id: start.id,
      trace_id: start.trace_id,
      parent_id: start.parent_id,
      op_name: start.op_name,
      display_name: orNull(text),
      thread_id: orNull(text),
      turn_id: orNull(text),
      wb_run_id: orNull(text),
      exception: orNull(text),
      output: text,
    });
    expect(JSON.stringify(call?.["attributes"])).toBe(JSON.stringify(start.attributes));
    expect(JSON.stringify(call?.["inputs"])).toBe(JSON.stringify(start.inputs));
    expect(call?.["summary"]).toMatchObject({ [text]: text });
  });
});

describe.concurrent("every part of the query language compares hostile text as text", () => {
  test.each(Object.entries(hostileTexts))("%s", async (_, text) => {
    const projectId = newProject();
    const call = (id: string, value: string) => ({
      project_id: projectId,
      id,
      trace_id: id,
      op_name: value || "op",
      thread_id: value,
      started_at: startedAt,
      ended_at: startedAt,
      attributes: {},
      inputs: { [value]: value, text: value },
      summary: {},
    });
    const [entity = "", project = ""] = projectId.split("/");
    const batch = [call("hit", text), call("other", "something else")];
    expect(await send(`/v2/${entity}/${project}/calls/complete`, { batch })).toEqual({ status: 200, body: {} });

    const literal = { $literal: text };
    const field = { $getField: "inputs.text" };
    const key = { $getField: `inputs.${text.replaceAll(".", "\\.")}` };
    const conditions: Record<string, unknown> = {
      "$eq with a literal": { $eq: [field, literal] },
      "$eq with the literal in front": { $eq: [literal, field] },
      $in: { $in: [field, [literal]] },
      $contains: { $contains: { input: field, substr: literal } },
      "$contains, any case": { $contains: { input: field, substr: literal, case_insensitive: true } },
      "$convert of a literal": { $eq: [field, { $convert: { input: literal, to: "string" } }] },
      "$gte and $lte": { $and: [{ $gte: [field, literal] }, { $lte: [field, literal] }] },
      "the key of a field": { $eq: [key, literal] },
      "the key of a field exists": { $eq: [{ $convert: { input: key, to: "exists" } }, { $literal: true }] },
      "a column": { $eq: [{ $getField: "op_name" }, { $literal: text || "op" }] },
      $not: { $not: [{ $eq: [field, { $literal: "something else" }] }] },
    };
    const find = async ($expr: unknown) => {
      const { status, body } = await send("/calls/query", { project_id: projectId, query: { $expr } });
      return [status, (body["calls"] as { id: string }[] | undefined)?.map(({ id }) => id)];
    };
    const expectEach = async (names: string[], id: string) => {
      const all = names.map((name) => conditions[name]);
      const found = await Promise.all([find({ $and: all }), find({ $or: all })]);
      if (
        JSON.stringify(found) ===
        JSON.stringify([
          [200, [id]],
          [200, [id]],
        ])
      )
        return;
      for (const name of names) expect([name, await find(conditions[name])]).toEqual([name, [200, [id]]]);
      expect(found).toEqual([
        [200, [id]],
        [200, [id]],
      ]);
    };
    const names = Object.keys(conditions);
    // The empty text is not a step of a path, and reads like a missing one, which contains nothing.
    const ofContains = text === "" ? names.filter((name) => name.startsWith("$contains")) : [];
    const ofKeys = text === "" ? names.filter((name) => name.startsWith("the key")) : [];
    await expectEach(
      names.filter((name) => !ofContains.includes(name) && !ofKeys.includes(name)),
      "hit",
    );
    if (ofContains.length > 0) await expectEach(ofContains, "other");

    const filters: Record<string, unknown> = { op_names: [text || "op"], ...(text !== "" && { thread_ids: [text] }) };
    for (const [name, value] of Object.entries(filters)) {
      const { body } = await send("/calls/query", { project_id: projectId, filter: { [name]: value } });
      expect([name, (body["calls"] as { id: string }[]).map(({ id }) => id)]).toEqual([name, ["hit"]]);
    }
    const sorted = await send("/calls/query", {
      project_id: projectId,
      sort_by: [{ field: `inputs.text`, direction: "desc" }],
    });
    expect(sorted.status).toBe(200);
    const odd = await send("/calls/query", {
      project_id: projectId,
      sort_by: [{ field: `inputs.${text}`, direction: "asc" }],
    });
    expect([200, 400, 422]).toContain(odd.status);
    const forbidden = await send("/calls/query", {
      project_id: projectId,
      sort_by: [{ field: `x${text}`, direction: "asc" }],
    });
    expect([400, 422]).toContain(forbidden.status);
  });
});

test("a text of a megabyte is kept where text may be long, and refused where it names something", async () => {
  const projectId = newProject();
  const long = "é".repeat(500_000);
  const start = {
    project_id: projectId,
    id: "c",
    trace_id: "t",
    op_name: "op",
    started_at: startedAt,
    attributes: { long },
    inputs: { [long]: 1 },
  };
  for (const name of ["id", "trace_id", "parent_id", "thread_id", "op_name", "display_name"]) {
    const { status, body } = await send("/call/start", { start: { ...start, [name]: long } });
    expect([name, status]).toEqual([name, 422]);
    expect(JSON.stringify(body)).toContain(name);
    expect(JSON.stringify(body).length).toBeLessThan(2000);
  }
  expect((await send("/call/start", { start })).status).toBe(200);
  const end = { project_id: projectId, id: "c", ended_at: startedAt, exception: long, output: long, summary: {} };
  expect((await send("/call/end", { end })).status).toBe(200);
  const { call } = (await send("/call/read", { project_id: projectId, id: "c" })).body as {
    call: Record<string, unknown>;
  };
  expect(call).toMatchObject({ exception: long, output: long, attributes: { long }, inputs: { [long]: 1 } });
});

test("a lone surrogate is kept in free JSON, shown as U+FFFD in plain text, and refused in ids", async () => {
  const projectId = newProject();
  const start = {
    project_id: projectId,
    id: "c",
    trace_id: "t",
    op_name: "op",
    started_at: startedAt,
    attributes: {},
    inputs: { text: loneSurrogate },
  };
  for (const name of ["id", "trace_id", "parent_id"]) {
    expect((await send("/call/start", { start: { ...start, [name]: loneSurrogate } })).status).toBe(422);
  }
  expect((await send("/call/start", { start: { ...start, display_name: loneSurrogate } })).status).toBe(200);
  const { call } = (await send("/call/read", { project_id: projectId, id: "c" })).body as {
    call: Record<string, unknown>;
  };
  expect(call).toMatchObject({ display_name: "a\ufffdb", inputs: { text: loneSurrogate } });
});

function attempt<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}
