import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";
import { secret, withoutNames } from "./tenants.js";

// The matrix asks for ids where operations take them. Here they are nested deeper: in payloads, in refs on the way
// to something else, and in what is read later. A key that may write to its own project asks for them.

let service: TestService;
let key: string;
/** Names of things in a project of another entity, and names that nothing has. */
interface Names {
  project_id: string;
  internal_id: string;
  object: string;
  table: string;
  row: string;
  call: string;
  feedback: string;
  queue: string;
  item: string;
}
const names = {} as Record<"foreign" | "missing", Names>;

beforeAll(async () => {
  service = await openTestService();
  key = await service.key({ role: "write" });
  const owner = service.tracing();
  const projectId = newProject("rival");
  const { digest: table, row_digests } = await owner.tableCreate({
    table: { project_id: projectId, rows: [{ secret }] },
  });
  const val = { secret, rows: `weave:///${projectId}/table/${table}` };
  const { digest: object } = await owner.objCreate({ obj: { project_id: projectId, object_id: "o", val } });
  const call = "0199d3a4-1a00-7c31-9f0e-2d5b8a6c4e10";
  await owner.callStart({ start: { ...newCall(projectId), id: call, trace_id: call, inputs: { secret } } });
  const feedback = await owner.feedbackCreate({
    project_id: projectId,
    weave_ref: `weave:///${projectId}/call/${call}`,
    feedback_type: "wandb.note.1",
    payload: { note: secret },
  });
  const created = await owner.annotationQueueCreate({ project_id: projectId, name: secret, scorer_refs: [] });
  const queue = { project_id: projectId, queue_id: created.id };
  await owner.annotationQueueAddCalls({ ...queue, call_ids: [call], display_fields: [secret] });
  const { items } = await owner.annotationQueueItemsQuery(queue);
  const [info] = await owner.projectsInfo({ project_ids: [projectId] });
  names.foreign = {
    project_id: projectId,
    internal_id: info?.internal_project_id ?? "",
    object,
    table,
    row: row_digests[0] ?? "",
    call,
    feedback: feedback.id,
    queue: created.id,
    item: items[0]?.id ?? "",
  };
  names.missing = {
    project_id: newProject("rival"),
    internal_id: "0b8f4b5e-9d0c-4d5e-8a52-3f0f4c3f7a11",
    object: `0${"m".repeat(42)}`,
    table: "ab".repeat(32),
    row: `0${"n".repeat(42)}`,
    call: "0199d3a4-1a00-7c31-9f0e-2d5b8a6c4e11",
    feedback: "0199d3a4-1a00-7c31-9f0e-2d5b8a6c4e12",
    queue: "0199d3a4-5c00-7e21-8b44-1f6a9c3d2e78",
    item: "0199d3a4-5c64-7a93-9d17-e05b7f82c4a7",
  };
});
afterAll(() => service.close());

function newCall(projectId: string) {
  return { project_id: projectId, op_name: "op", started_at: "2026-04-10T09:00:00Z", attributes: {}, inputs: {} };
}
const refsOf = ({ project_id, object, table, row, call }: Names): string[] => [
  `weave:///${project_id}/object/o:${object}`,
  `weave:///${project_id}/object/o:latest`,
  `weave:///${project_id}/object/o:${object}/attr/secret`,
  `weave:///${project_id}/object/o:${object}/attr/rows/id/${row}`,
  `weave:///${project_id}/object/o:${object}/attr/rows/id/${row}/key/secret`,
  `weave:///${project_id}/table/${table}`,
  `weave:///${project_id}/call/${call}`,
];

type Send = (path: string, body: unknown) => Promise<Record<string, unknown>>;

/** Each does something in a project of its own, `mine`, and returns all responses. */
const stories: Record<string, (send: Send, mine: string, there: Names) => Promise<void>> = {
  async "refs in inputs are expanded, filtered and sorted by"(send, projectId, there) {
    const start = (ref: string, index: number) => ({
      mode: "start",
      req: { start: { ...newCall(projectId), id: `c${index}`, trace_id: "t", inputs: { ref } } },
    });
    await send("/call/upsert_batch", { batch: refsOf(there).map(start) });
    const expandColumns = ["inputs.ref", "inputs.ref.rows"];
    const filter = { input_refs: refsOf(there) };
    await send("/calls/query", { project_id: projectId, expand_columns: expandColumns });
    await send("/calls/query", {
      project_id: projectId,
      filter,
      columns: ["inputs.ref.secret"],
      expand_columns: expandColumns,
    });
    for (const field of ["inputs.ref.secret", "inputs.ref.rows.secret"]) {
      const query = { $expr: { $eq: [{ $getField: field }, { $literal: secret }] } };
      await send("/calls/query_stats", { project_id: projectId, query, expand_columns: expandColumns });
      const sortBy = [{ field, direction: "desc" }];
      await send("/calls/query", {
        project_id: projectId,
        sort_by: sortBy,
        expand_columns: expandColumns,
        return_expanded_column_values: false,
      });
    }
  },

  async "an own object leads there"(send, projectId, there) {
    const refs = refsOf(there);
    await send("/obj/create", {
      obj: { project_id: projectId, object_id: "way", val: refs.map((ref) => ({ ref, deeper: [ref] })) },
    });
    const ways = ["ref", "ref/attr/secret", `ref/id/${there.row}`, "deeper/index/0/key/secret"];
    const read = (index: number, way: string) =>
      send("/refs/read_batch", { refs: [`weave:///${projectId}/object/way:latest/index/${index}/key/${way}`] });
    for (const index of refs.keys()) await Promise.all(ways.map(async (way) => read(index, way)));
  },

  async "an own table is made of its rows"(send, projectId, there) {
    const { digest } = await send("/table/create_from_digests", {
      project_id: projectId,
      row_digests: [there.row, there.row],
    });
    await send("/table/query", { project_id: projectId, digest });
    await send("/table/query_stats", { project_id: projectId, digest });
    await send("/table/query_stats_batch", {
      project_id: projectId,
      digests: [digest, there.table],
      include_storage_size: true,
    });
    await send("/table/update", {
      project_id: projectId,
      base_digest: there.table,
      updates: [{ append: { row: {} } }],
    });
    await send("/table/query", { project_id: projectId, digest: there.table, filter: { row_digests: [there.row] } });
  },

  async "own calls are children of its call, and have its id"(send, projectId, { call }) {
    const start = { ...newCall(projectId), trace_id: call };
    await send("/call/start", { start: { ...start, id: "child", parent_id: call } });
    await send("/call/end", {
      end: { project_id: projectId, id: call, ended_at: "2026-04-10T09:00:01Z", summary: {} },
    });
    await send("/calls/query", { project_id: projectId, filter: { trace_ids: [call], parent_ids: [call] } });
    await send("/trace/usage", { project_id: projectId, filter: { trace_ids: [call] } });
    await send("/calls/usage", { project_id: projectId, call_ids: [call, "child"] });
    await send("/call/update", { project_id: projectId, call_id: call, display_name: "renamed" });
    await send("/calls/delete", { project_id: projectId, call_ids: [call] });
    await send("/call/read", { project_id: projectId, id: call });
  },

  async "ops and refs of calls name its project"(send, projectId, there) {
    const opName = `weave:///${there.project_id}/op/o:${there.object}`;
    await send("/call/start", { start: { ...newCall(projectId), id: "c", trace_id: "t", op_name: opName } });
    await send("/calls/query", {
      project_id: projectId,
      filter: { op_names: [opName, `weave:///${there.project_id}/op/o:*`] },
    });
    const query = { $expr: { $eq: [{ $getField: "project_id" }, { $literal: there.project_id }] } };
    await send("/calls/query_stats", { project_id: projectId, query });
  },

  async "feedback is about it, and own calls have its ids"(send, projectId, there) {
    const feedback = { project_id: projectId, feedback_type: "mine", payload: { refs: refsOf(there) } };
    for (const ref of refsOf(there)) await send("/feedback/create", { ...feedback, weave_ref: ref });
    await send("/call/start", { start: { ...newCall(projectId), id: there.call, trace_id: there.call } });
    await send("/feedback/create", { ...feedback, weave_ref: `weave:///${projectId}/call/${there.call}` });
    const annotation = { ...feedback, feedback_type: "wandb.annotation.o", payload: { value: 1 } };
    const weaveRef = `weave:///${projectId}/call/${there.call}`;
    for (const ref of refsOf(there)) {
      await send("/feedback/create", { ...annotation, weave_ref: weaveRef, annotation_ref: ref });
    }
    await send("/calls/query", { project_id: projectId, include_feedback: true });
    for (const path of ["note", "secret", "refs.0"]) {
      const query = { $expr: { $eq: [{ $getField: `feedback.[*].payload.${path}` }, { $literal: secret }] } };
      await send("/calls/query_stats", { project_id: projectId, query });
    }
    const byId = { $expr: { $eq: [{ $getField: "id" }, { $literal: there.feedback }] } };
    await send("/feedback/query", { project_id: projectId, query: byId });
    await send("/feedback/purge", { project_id: projectId, query: byId });
    const replacing = { ...feedback, weave_ref: weaveRef, feedback_id: there.feedback };
    await send("/feedback/replace", { ...replacing, payload: {} });
    await send("/feedback/replace", { ...replacing, id: there.feedback, payload: {} });
  },

  async "its internal id is in refs"(send, projectId, { internal_id, object }) {
    const ref = `weave-trace-internal:///${internal_id}/object/o:${object}`;
    const start = { ...newCall(projectId), id: "c", trace_id: "t" };
    await send("/call/start", { start: { ...start, inputs: { ref } } });
    await send("/call/start", { start: { ...start, op_name: ref } });
    await send("/call/upsert_batch", { batch: [{ mode: "start", req: { start: { ...start, attributes: { ref } } } }] });
    await send("/obj/create", { obj: { project_id: projectId, object_id: "o", val: [ref] } });
    await send("/table/create", { table: { project_id: projectId, rows: [{ ref }] } });
    await send("/refs/read_batch", { refs: [ref] });
    await send(`/v2/${projectId}/datasets`, { rows: [{ ref }] });
    await send(`/v2/${projectId}/evaluations`, { name: "e", dataset: ref });
  },

  async "an own evaluation is of its dataset and its scorers"(send, projectId, there) {
    const path = `/v2/${projectId}/evaluations`;
    const own = await send(`/v2/${projectId}/datasets`, { rows: [] });
    const dataset = `weave:///${projectId}/object/Dataset:${String(own["digest"])}`;
    for (const ref of refsOf(there)) {
      await send(path, { name: "e", dataset: ref });
      await send(path, { name: "e", dataset, scorers: [ref] });
    }
  },

  async "a batch and an export have items for it"(send, projectId, there) {
    const item = (target: string) => ({ req: { start: { ...newCall(target), id: "c", trace_id: "t" } } });
    await send("/call/upsert_batch", { batch: [item(there.project_id), item(projectId)] });
    const resource = (target: string) => ({
      resource: {
        attributes: ["entity", "project"].map((name, index) => ({
          key: `wandb.${name}`,
          value: { stringValue: target.split("/")[index] },
        })),
      },
      scopeSpans: [
        { spans: [{ traceId: "ab".repeat(16), spanId: "cd".repeat(8), name: "chat", startTimeUnixNano: "1" }] },
      ],
    });
    await send("/otel/v1/traces", { resourceSpans: [resource(there.project_id), resource(projectId)] });
  },

  async "an own queue and queries of calls name its queue, item and call"(send, projectId, { call, queue, item }) {
    await send("/call/start", { start: { ...newCall(projectId), id: call, trace_id: "t" } });
    const own = await send("/annotation_queues", { project_id: projectId, name: "own", scorer_refs: [] });
    for (const id of [String(own["id"]), queue]) {
      const path = `/annotation_queues/${id}/items`;
      await send(path, { project_id: projectId, call_ids: [call], display_fields: ["inputs"] });
      await send(`${path}/query`, { project_id: projectId, filter: { id: item }, include_call: true });
      await send(`${path}/query`, { project_id: projectId, filter: { call_id: call }, include_display_values: true });
      await send(`${path}/${item}/progress`, { project_id: projectId, annotation_state: "completed" });
      await send(`${path}/claim_next`, { project_id: projectId, include_display_values: true });
      await send(`${path}/release`, { project_id: projectId, item_ids: [item] });
    }
    await send("/annotation_queues/stats", { project_id: projectId, queue_ids: [queue] });
    const query = {
      $expr: { $eq: [{ $getField: "annotation_queue_items.queue_id" }, { $literal: queue }] },
    };
    await send("/calls/query", { project_id: projectId, query });
    await send("/calls/query_stats", { project_id: projectId, query });
  },

  async "SDKs that start up ask for it"(send, _, { project_id }) {
    const [entityName, name] = project_id.split("/");
    for (const query of [
      "query { project { id } }",
      "query { model { id } }",
      "mutation { upsertModel { model { id } } }",
    ]) {
      await send("/graphql", { query, variables: { entityName, name } });
    }
  },
};

describe("an allowed project reveals as much of another project as of one that does not exist", () => {
  test.each(Object.entries(stories))("when %s", async (_, story) => {
    const responses = { foreign: [] as unknown[], missing: [] as unknown[] };
    for (const whose of ["foreign", "missing"] as const) {
      const mine = newProject();
      const there = names[whose];
      const send: Send = async (path, body) => {
        const index = responses[whose].push(path) - 1;
        const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
        const init = { method: "POST", headers, body: JSON.stringify(body) };
        const response = await service.fetch(`http://in-process${path}`, init);
        const text = await response.text();
        expect(text.replaceAll(JSON.stringify(secret), "")).not.toContain(secret);
        const hidden = text.replaceAll(there.project_id, "<project>").replaceAll(there.project_id.slice(6), "<name>");
        const id = Buffer.from(`Project:v1:${there.project_id.split("/").toReversed().join(":")}`).toString("base64");
        responses[whose][index] = [withoutNames(path), response.status, withoutNames(hidden.replaceAll(id, "<id>"))];
        return response.ok ? (JSON.parse(text) as Record<string, unknown>) : {};
      };
      await story(send, mine, there);
    }
    expect(responses.foreign.length).toBeGreaterThan(1);
    expect(responses.foreign).toEqual(responses.missing);
  });

  test("and the other project has not changed", async () => {
    const { project_id, call, object, table, queue } = names.foreign;
    const owner = service.tracing();
    expect(await owner.callRead({ project_id, id: call })).toMatchObject({
      call: { inputs: { secret }, display_name: null, ended_at: null },
    });
    expect(await owner.objRead({ project_id, object_id: "o", digest: object })).toMatchObject({
      obj: { val: { secret } },
    });
    expect((await owner.tableQuery({ project_id, digest: table })).rows).toMatchObject([{ val: { secret } }]);
    expect((await owner.callsQuery({ project_id })).calls).toHaveLength(1);
    const { result } = await owner.feedbackQuery({ project_id });
    expect(result).toMatchObject([{ id: names.foreign.feedback, payload: { note: secret } }]);
    expect((await owner.annotationQueueItemsQuery({ project_id, queue_id: queue })).items).toMatchObject([
      { call_id: call, annotation_state: "unstarted" },
    ]);
  });
});
