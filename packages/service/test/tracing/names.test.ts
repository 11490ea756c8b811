import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";

let service: TestService;
beforeAll(async () => {
  service = await openTestService();
});
afterAll(() => service.close());
afterEach(() => expect(service.unexpected).toEqual([]));

const names = ["café", "计算", "深度學習", "оценка", "हिन्दी", "עברית", "日本語", "𠮷".repeat(128)];
const startedAt = "2026-04-10T09:00:00Z";
const opValue = { _type: "CustomWeaveType", weave_type: { type: "Op" } };

/** A ref with its name as it is, percent-encoded, and encoded with small digits. */
function spelled(projectId: string, kind: string, name: string, rest: string): [string, string, string] {
  const ref = (written: string) => `weave:///${projectId}/${kind}/${written}:${rest}`;
  const encoded = encodeURIComponent(name);
  return [ref(name), ref(encoded), ref(encoded.replace(/%../g, (escape) => escape.toLowerCase()))];
}

async function idsOf(projectId: string, request: object): Promise<string[]> {
  const ids: string[] = [];
  for await (const { id } of service.tracing().callsQueryStream({ project_id: projectId, ...request })) ids.push(id);
  return ids.toSorted();
}

test.each(names)("an object may be called %s", async (name) => {
  const tracing = service.tracing();
  const projectId = newProject();
  const of = { project_id: projectId, object_id: name };
  const { digest } = await tracing.objCreate({ obj: { ...of, val: { a: 1 } } });
  await tracing.objSetAliases({ ...of, digest, aliases: ["stable"] });
  await tracing.objAddTags({ ...of, digest, tags: ["good"] });
  const { obj } = await tracing.objRead({ ...of, digest: "stable", include_tags_and_aliases: true });
  expect(obj).toMatchObject({ object_id: name, digest, val: { a: 1 }, tags: ["good"], aliases: ["latest", "stable"] });
  // What a library reads of a ref that is percent-encoded.
  const inRef = { ...of, object_id: encodeURIComponent(name) };
  expect((await tracing.objRead({ ...inRef, digest })).obj).toMatchObject({ object_id: name, digest });
  const { objs } = await tracing.objsQuery({ project_id: projectId, filter: { object_ids: [name] } });
  expect(objs.map(({ object_id }) => object_id)).toEqual([name]);

  const refs = [...spelled(projectId, "object", name, digest), ...spelled(projectId, "object", name, "stable/attr/a")];
  expect((await tracing.refsReadBatch({ refs })).vals).toEqual([{ a: 1 }, { a: 1 }, { a: 1 }, 1, 1, 1]);
  await tracing.objRemoveTags({ ...of, digest, tags: ["good"] });
  await tracing.objRemoveAliases({ ...of, aliases: ["stable"] });
  expect(await tracing.objDelete({ ...of, digests: [digest] })).toMatchObject({ num_deleted: 1 });
  await expect(tracing.objRead({ ...of, digest })).rejects.toMatchObject({ status: 404 });
});

test("composed and decomposed letters are names of different objects", async () => {
  const tracing = service.tracing();
  const projectId = newProject();
  const forms = ["caf\u00e9", "cafe\u0301"];
  for (const [val, name] of forms.entries())
    await tracing.objCreate({ obj: { project_id: projectId, object_id: name, val } });
  const read = async (name: string) =>
    (await tracing.objRead({ project_id: projectId, object_id: name, digest: "latest" })).obj;
  expect(await Promise.all(forms.map(read))).toMatchObject([
    { object_id: forms[0], val: 0, version_index: 0 },
    { object_id: forms[1], val: 1, version_index: 0 },
  ]);
});

test.each(["🙂", "计 算", "日本、語", "caf%C3%A9", "é".repeat(129), "𠮷".repeat(129), ""])(
  "no object may be called %s",
  async (name) => {
    const obj = { project_id: newProject(), object_id: name, val: 1 };
    await expect(service.tracing().objCreate({ obj })).rejects.toMatchObject({
      status: 422,
      message: expect.stringContaining("object_id"),
    });
  },
);

describe("calls of an op are found by its name however it is spelled", () => {
  test.each(["计算", "résumé", "हिन्दी"])("%s", async (name) => {
    const tracing = service.tracing();
    const projectId = newProject();
    const { digest } = await tracing.objCreate({ obj: { project_id: projectId, object_id: name, val: opValue } });
    const forms = spelled(projectId, "op", name, digest);
    for (const [index, form] of forms.entries()) {
      const start = { project_id: projectId, id: `c${index}`, trace_id: "t", started_at: startedAt, attributes: {} };
      await tracing.callStart({ start: { ...start, op_name: form, inputs: { self: form } } });
    }
    const start = { project_id: projectId, id: "other", trace_id: "t", started_at: startedAt, attributes: {} };
    await tracing.callStart({
      start: { ...start, op_name: `weave:///${projectId}/op/${name}x:${digest}`, inputs: {} },
    });

    const all = ["c0", "c1", "c2"];
    const versions = spelled(projectId, "op", name, "*");
    const bare = [name, `${name}:*`, ...versions.map((ref) => ref.slice(0, -2))];
    for (const op of [...forms, ...versions, ...bare]) {
      expect([op, await idsOf(projectId, { filter: { op_names: [op] } })]).toEqual([op, all]);
    }
    for (const ref of [...forms, ...versions]) {
      expect([ref, await idsOf(projectId, { filter: { input_refs: [ref] } })]).toEqual([ref, all]);
    }
    for (const ref of forms) {
      const equal = { $eq: [{ $getField: "op_name" }, { $literal: ref }] };
      const among = { $in: [{ $getField: "op_name" }, [{ $literal: ref }]] };
      expect(await idsOf(projectId, { query: { $expr: equal } })).toEqual(all);
      expect(await idsOf(projectId, { query: { $expr: among } })).toEqual(all);
    }
    const hasName = { $eq: [{ $getField: "summary.weave.trace_name" }, { $literal: name }] };
    expect(await idsOf(projectId, { query: { $expr: hasName } })).toEqual(all);
    const { call } = await tracing.callRead({ project_id: projectId, id: "c1" });
    expect(call?.op_name).toBe(forms[1]);
    expect(call?.summary).toMatchObject({ weave: { trace_name: name } });
  });
});

test("values behind a ref are expanded and compared, however the ref is spelled", async () => {
  const tracing = service.tracing();
  const projectId = newProject();
  const { digest } = await tracing.objCreate({ obj: { project_id: projectId, object_id: "модель", val: { t: 0.5 } } });
  for (const [index, self] of spelled(projectId, "object", "модель", digest).entries()) {
    const start = { project_id: projectId, id: `c${index}`, trace_id: "t", started_at: startedAt, attributes: {} };
    await tracing.callStart({ start: { ...start, op_name: "op", inputs: { self } } });
  }
  const query = { $expr: { $eq: [{ $getField: "inputs.self.t" }, { $literal: 0.5 }] } };
  expect(await idsOf(projectId, { query, expand_columns: ["inputs.self"] })).toEqual(["c0", "c1", "c2"]);
});

test("feedback on an object is found however its ref is spelled", async () => {
  const tracing = service.tracing();
  const projectId = newProject();
  const { digest } = await tracing.objCreate({ obj: { project_id: projectId, object_id: "café", val: 1 } });
  const forms = spelled(projectId, "object", "café", digest);
  for (const form of forms) {
    const note = { feedback_type: "wandb.note.1", payload: { note: "good" } };
    await tracing.feedbackCreate({ project_id: projectId, weave_ref: form, ...note });
  }
  for (const ref of forms) {
    const query = { $expr: { $eq: [{ $getField: "weave_ref" }, { $literal: ref }] } };
    expect((await tracing.feedbackQuery({ project_id: projectId, query })).total_count).toBe(3);
  }
});

test("ops, datasets, scorers, models and evaluations have names of every script", async () => {
  const projectId = newProject();
  const send = async (method: string, path: string, body?: object) => {
    const response = await service.fetch(`http://in-process/v2/${projectId}/${path}`, {
      method,
      headers: { authorization: `Bearer ${service.owner_key}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    return [response.status, JSON.parse(await response.text())];
  };
  const bodies = {
    ops: { source_code: "x" },
    datasets: { rows: [{ a: 1 }] },
    scorers: { op_source_code: "x" },
    models: { source_code: "x" },
    evaluations: { dataset: `weave:///${projectId}/object/datasets_оценка_模型:latest` },
  };
  for (const [kind, body] of Object.entries(bodies)) {
    const [name, objectId] = [`${kind} Оценка 模型`, `${kind}_оценка_模型`];
    const [status, created] = await send("POST", kind, { name, ...body });
    expect([kind, status, created]).toEqual([kind, 200, expect.objectContaining({ object_id: objectId })]);
    const path = `${kind}/${encodeURIComponent(objectId)}`;
    expect(await send("GET", `${path}/versions/${created.digest}`)).toEqual([
      200,
      expect.objectContaining({ object_id: objectId }),
    ]);
    expect(await send("POST", kind, { name: "🙂", ...body })).toEqual([422, expect.anything()]);
  }
  for (const kind of ["evaluations", "models", "scorers", "datasets"]) {
    expect(await send("DELETE", `${kind}/${encodeURIComponent(`${kind}_оценка_模型`)}`)).toEqual([
      200,
      { num_deleted: 1 },
    ]);
  }
});

test("spans keep the letters of their names, and those without any their text", async () => {
  const projectId = newProject();
  const plain = [
    "日本語",
    "中文",
    "агент-7",
    "caf\u00e9",
    "cafe\u0301",
    "שלום",
    "a-b",
    "GET-a-b",
    "٣",
    "é".repeat(128),
  ];
  const changed = ["агент 7", "a b", "GET /a/b", "GET /a-b", "🚀", "🎉", "a/b", "a:b", "שלום!", "é".repeat(129)];
  const spanNames = [...plain, ...changed];
  const spans = spanNames.map((name, index) => ({
    name,
    traceId: "1".repeat(32),
    spanId: String(index + 1).padStart(16, "0"),
    startTimeUnixNano: "1775811600000000000",
    endTimeUnixNano: "1775811601000000000",
  }));
  const response = await service.fetch("http://in-process/otel/v1/traces", {
    method: "POST",
    headers: {
      authorization: `Bearer ${service.owner_key}`,
      "content-type": "application/json",
      project_id: projectId,
    },
    body: JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] }),
  });
  expect([response.status, await response.json()]).toEqual([200, {}]);

  const calls = new Map<string, { op_name: string; display_name?: string | null | undefined }>();
  for await (const call of service.tracing().callsQueryStream({ project_id: projectId })) {
    calls.set(spanNames[Number(call.id) - 1] ?? "", call);
  }
  const ops = spanNames.map((name) => /\/op\/([^:]+):/.exec(calls.get(name)?.op_name ?? "")?.[1] ?? "");
  expect(ops.slice(0, plain.length)).toEqual(plain);
  expect(new Set(ops).size).toBe(ops.length);
  const displayNames = spanNames.map((name) => calls.get(name)?.display_name ?? undefined);
  expect(displayNames).toEqual([...plain.map(() => undefined), ...changed]);
  const { groups } = await service.tracing().callsAggregate({ project_id: projectId, group_by: ["op"] });
  expect(groups.map(({ values }) => values["count"])).toEqual(spanNames.map(() => 1));
  for (const [index, name] of spanNames.entries()) {
    const id = String(index + 1).padStart(16, "0");
    expect([name, await idsOf(projectId, { filter: { op_names: [name] } })]).toEqual([name, [id]]);
  }
  const { vals } = await service.tracing().refsReadBatch({ refs: [...calls.values()].map(({ op_name }) => op_name) });
  expect(vals).toHaveLength(spanNames.length);
});
