import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { exampleRequest } from "@heddle/conformance/testing";
import { operations, sampleRequest, toRequest } from "../spec-requests.js";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";

let service: TestService;
beforeAll(async () => {
  service = await openTestService();
});
afterAll(() => service.close());

interface Detail {
  loc: (string | number)[];
  msg: string;
}

/** The status and the messages of a request. */
async function send(path: string, body: object): Promise<[status: number, ...messages: string[]]> {
  const response = await service.fetch(`http://in-process${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${service.owner_key}` },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  const details = response.status === 422 ? (JSON.parse(text) as { detail: Detail[] }).detail : [];
  return [response.status, ...details.map(({ loc, msg }) => `${loc.join(".")}: ${msg}`)];
}

test("all mistakes of a request are named at once, in words", async () => {
  const start = { project_id: "demo", id: 7, trace_id: "t", started_at: true, attributes: [], inputs: 5 };
  expect(await send("/call/start", { start })).toEqual([
    422,
    "body.start.attributes: Not a valid object",
    "body.start.inputs: Not a valid object",
    "body.start.op_name: Field required",
    "body.start.project_id: Must be entity/project, like local/demo",
    "body.start.id: Not a valid string",
    "body.start.started_at: Not a valid string or number",
  ]);
});

test("an unknown key of a query is refused with the one that was meant", async () => {
  const projectId = newProject();
  expect(await send("/calls/stream_query", { project_id: projectId, limt: 5, sortby: [], zebra: 1 })).toEqual([
    422,
    "body.limt: Unknown key; did you mean limit?",
    "body.sortby: Unknown key; did you mean sort_by?",
    "body.zebra: Unknown key",
  ]);
  expect(await send("/threads/stream_query", { project: projectId, thread_ids: ["t"] })).toEqual([
    422,
    "body.project_id: Field required",
    "body.project: Unknown key; did you mean project_id?",
    "body.thread_ids: Unknown key; did you mean filter.thread_ids?",
  ]);
  expect(await send("/feedback/purge", { project_id: projectId, qurey: { $expr: {} } })).toContain(
    "body.qurey: Unknown key; did you mean query?",
  );
  expect(await send("/calls/query", { project_id: projectId, filter: { op_name: ["x"] } })).toEqual([
    422,
    "body.filter.op_name: Unknown key; did you mean op_names?",
  ]);
});

test.each([
  "/calls/delete_matching",
  "/feedback/create_matching",
  "/v2/acme/demo/datasets/d/add_matching",
  "/annotation_queues/q/items/add_matching",
])("an unknown key of %s is refused: it would act on other calls than were meant", async (path) => {
  const body = { project_id: newProject(), expected_count: 1, fliter: {}, zebra: 1 };
  const [status, ...mistakes] = await send(path, body);
  expect([status, ...mistakes]).toEqual(
    expect.arrayContaining([422, "body.fliter: Unknown key; did you mean filter?", "body.zebra: Unknown key"]),
  );
});

test("switches that are off and nulls of newer clients are not a mistake", async () => {
  const projectId = newProject();
  expect(await send("/calls/query", { project_id: projectId, include_later: false, columns_later: null })).toEqual([
    200,
  ]);
});

interface Operation {
  operationId?: string;
  requestBody?: { content: Record<string, { schema: { $ref?: string } }> };
  "x-heddle-access"?: { right: string };
}

test.each([
  ["/call/read", { id: "c", include_cost: true }, "body.include_cost: Unknown key; did you mean include_costs?"],
  ["/calls/delete", { call_ids: [], callids: ["c"] }, "body.callids: Unknown key; did you mean call_ids?"],
  [
    "/obj/read",
    { object_id: "o", digest: "v0", metadata: true },
    "body.metadata: Unknown key; did you mean metadata_only?",
  ],
  ["/obj/delete", { object_id: "o", digest: ["v0"] }, "body.digest: Unknown key; did you mean digests?"],
  ["/refs/read_batch", { refs: [], ref: ["x"] }, "body.ref: Unknown key; did you mean refs?"],
  ["/file/content", { digest: "d", zebra: 1 }, "body.zebra: Unknown key"],
  ["/evaluations/status", { call_id: "c", callid: 1 }, "body.callid: Unknown key; did you mean call_id?"],
  ["/service/projects_info", { project_ids: [], projects: ["x"] }, "body.projects: Unknown key"],
])("%s refuses unknown keys: what they ask for would not happen", async (path, body, mistake) => {
  expect(await send(path, { project_id: newProject(), ...body })).toContain(mistake);
});

/** What SDKs of Weave send, too: newer ones may send more. */
const ofClients = new Set(["callStartV2", "callEndV2", "callsComplete", "projectTtlSettingsUpdate"]);

const own = operations.filter(({ id, extension, model, plan }) => {
  if (ofClients.has(id)) return false;
  const body = extension && model.name === "tracing" ? exampleRequest(plan).body : undefined;
  return typeof body === "object" && body !== null && !Array.isArray(body);
});

test.each(own)("$id of this service refuses unknown keys", async (operation) => {
  const parts = sampleRequest(operation);
  const body = { ...(parts.body as object), zebra: 1 };
  const headers = { authorization: `Bearer ${service.owner_key}` };
  const response = await service.fetch(...toRequest(operation, { ...parts, body }, headers));
  expect([response.status, await response.text()]).toEqual([422, expect.stringContaining('"body","zebra"')]);
});

test.each([
  ["/calls/page", { search: { text: "x", zebra: 1 } }, "body.search.zebra: Unknown key"],
  ["/calls/aggregate", { time: { start: 0, end: 9, zebra: 1 } }, "body.time.zebra: Unknown key"],
  [
    "/calls/aggregate",
    { distributions: [{ field: "latency_ms", zebra: 1 }] },
    "body.distributions.0.zebra: Unknown key",
  ],
])("%s refuses unknown keys in its parts: %j", async (path, body, mistake) => {
  expect(await send(path, { project_id: newProject(), ...body })).toContain(mistake);
});

test("times that are none are named with all other mistakes", async () => {
  const time = (literal: unknown) => ({ $gte: [{ $getField: "started_at" }, { $literal: literal }] });
  const query = {
    $expr: { $and: [time("yesterday"), time(1e30), { $eq: [{ $getField: "colour" }, { $literal: 1 }] }] },
  };
  const ofQuery = [
    expect.stringMatching(/^body\.query\.\$expr\.\$and\.0\.\$gte: "yesterday" is not a time/),
    expect.stringMatching(/^body\.query\.\$expr\.\$and\.1\.\$gte: .* is not a time/),
    expect.stringMatching(/colour/),
  ];
  const sortBy = [{ field: "tint", direction: "asc" }];
  const projectId = newProject();
  expect(await send("/calls/query", { project_id: projectId, query, sort_by: sortBy })).toEqual(
    expect.arrayContaining([422, expect.stringMatching(/^body\.sort_by\.0\.field: .*tint/), ...ofQuery]),
  );
  expect(await send("/calls/stream_query", { project_id: "demo", limt: 5, query, sort_by: sortBy })).toEqual([
    422,
    "body.limt: Unknown key; did you mean limit?",
    "body.project_id: Must be entity/project, like local/demo",
    expect.stringMatching(/^body\.sort_by\.0\.field: .*tint/),
    ...ofQuery,
  ]);
  expect(await send("/calls/stats", { project_id: "demo", start: "yesterday", end: "2026-02-30", zebra: 1 })).toEqual([
    422,
    "body.zebra: Unknown key",
    "body.project_id: Must be entity/project, like local/demo",
    "body.start: Not a point in time: ISO 8601 text, or seconds or milliseconds since 1970",
    "body.end: Not a point in time: ISO 8601 text, or seconds or milliseconds since 1970",
  ]);
  const microseconds = { project_id: "demo", start: 1775811600000000, end: -1e12 };
  expect(await send("/calls/stats", microseconds)).toEqual([
    422,
    "body.project_id: Must be entity/project, like local/demo",
    "body.start: Must be between the years 1900 and 2299, in seconds or milliseconds since 1970",
    "body.end: Must be between the years 1900 and 2299, in seconds or milliseconds since 1970",
  ]);
  const filter = { after_datetime: "soon", before_datetime: true, thread_ids: "t" };
  const [, ...threadMistakes] = await send("/threads/stream_query", { project_id: projectId, filter });
  expect(threadMistakes).toHaveLength(3);
  const feedbackQuery = { $expr: { $gt: [{ $getField: "created_at" }, { $literal: "soon" }] } };
  expect(await send("/feedback/query", { project_id: projectId, limt: 1, query: feedbackQuery })).toEqual([
    422,
    "body.limt: Unknown key; did you mean limit?",
    expect.stringMatching(/"soon" is not a time/),
  ]);
});

test("every read with a body, whatever acts on matches, and whatever deletes by ids refuses unknown keys", () => {
  const { paths, components } = JSON.parse(
    readFileSync(new URL("../../../../spec/dist/tracing.json", import.meta.url), "utf8"),
  ) as {
    paths: Record<string, Record<string, Operation>>;
    components: { schemas: Record<string, { additionalProperties?: boolean; unevaluatedProperties?: boolean }> };
  };
  const open = Object.values(paths)
    .flatMap((methods) => Object.values(methods))
    .filter(({ operationId = "", requestBody, ...operation }) => {
      const isRead = operation["x-heddle-access"]?.right === "read" || /Matching$|Delete$/.test(operationId);
      return isRead && requestBody !== undefined;
    })
    .filter(({ requestBody }) => {
      const name = requestBody?.content["application/json"]?.schema.$ref?.split("/").at(-1) ?? "";
      const schema = components.schemas[name];
      return schema?.additionalProperties !== false && schema?.unevaluatedProperties !== false;
    })
    .map(({ operationId }) => operationId ?? "");
  expect(open).toEqual([]);
});
