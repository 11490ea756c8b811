import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { operations, sampleRequest, toRequest } from "../spec-requests.js";
import type { RequestParts } from "../spec-requests.js";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";
import { hostileTexts, loneSurrogate, withText } from "./hostile-texts.js";

let service: TestService;
beforeAll(async () => {
  service = await openTestService();
});
afterAll(() => service.close());
afterEach(() => expect(service.unexpected.splice(0)).toEqual([]));

// Everything at once where it does not matter which one breaks something; what must stand alone stands alone.
const texts = [Object.values(hostileTexts).join(" "), "", "a\0b", "__proto__", loneSurrogate, "x".repeat(1_000_000)];
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
  test.each(operations)("$id", async (operation) => {
    const projectId = newProject();
    const sample = JSON.parse(
      JSON.stringify(sampleRequest(operation)).replaceAll('"acme/demo"', JSON.stringify(projectId)),
    ) as RequestParts;
    const requests = texts.flatMap((text) => [...withText(sample, text)].map(([place, parts]) => ({ place, parts })));
    const broken: unknown[] = [];
    for (let at = 0; at < requests.length; at += 16) {
      await Promise.all(
        requests.slice(at, at + 16).map(async ({ place, parts }) => {
          const headers = { authorization: `Bearer ${service.owner_key}` };
          const request = attempt(() => new Request(...toRequest(operation, parts as RequestParts, headers)));
          // Header values and addresses that no HTTP client can send.
          if (request === undefined) return;
          const answer = await service.fetch(request);
          const text = await answer.text();
          if (answer.status >= 500 && answer.status !== 501) broken.push([place, answer.status, text.slice(0, 200)]);
        }),
      );
    }
    expect(broken).toEqual([]);
  });
});

describe("the text of a call comes back as it was sent", () => {
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

describe("every place of the query language compares hostile text as text", () => {
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
    for (const [name, $expr] of Object.entries(conditions)) {
      const { status, body } = await send("/calls/query", { project_id: projectId, query: { $expr } });
      // Nothing is no step of a path, and an empty text reads like a missing one, which contains nothing.
      if (text === "" && name.startsWith("the key")) continue;
      const found = (body["calls"] as { id: string }[] | undefined)?.map(({ id }) => id);
      const expected = text === "" && name.startsWith("$contains") ? "other" : "hit";
      expect([name, status, found]).toEqual([name, 200, [expected]]);
    }

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
