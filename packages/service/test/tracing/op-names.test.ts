import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { CallsQueryInput } from "@heddle/client/tracing";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";

// What people type for an op finds its calls, whatever asks for them.

let service: TestService;
const projectId = newProject();
const prefix = `weave:///${projectId}/op/`;
const at = (second: number) => `2026-04-10T09:00:0${second}Z`;
const digests: string[] = [];

beforeAll(async () => {
  service = await openTestService();
  const tracing = service.tracing();
  const [entity = "", project = ""] = projectId.split("/");
  const versionOf = async (name: string, code: string) => {
    const val = { _type: "CustomWeaveType", weave_type: { type: "Op" }, files: {}, code };
    return (await tracing.objCreate({ obj: { project_id: projectId, object_id: name, val } })).digest;
  };
  digests.push(await versionOf("answer", "1"), await versionOf("answer", "2"), await versionOf("计算", "1"));
  await tracing.objSetAliases({
    project_id: projectId,
    object_id: "answer",
    digest: digests[0] ?? "",
    aliases: ["stable"],
  });
  const names = [
    `${prefix}answer:${digests[0]}`,
    `${prefix}answer:${digests[1]}`,
    `${prefix}${encodeURIComponent("计算")}:${digests[2]}`,
    "answer",
    "answers",
    "lookup:v0",
  ];
  const batch = names.map((opName, index) => ({
    project_id: projectId,
    id: `c${index}`,
    trace_id: "t",
    op_name: opName,
    started_at: at(index),
    ended_at: at(index),
    attributes: {},
    inputs: {},
    summary: {},
  }));
  await tracing.callsComplete({ entity, project, batch });
  // Calls that run are found in memory, others in tables.
  const start = { project_id: projectId, trace_id: "t", started_at: at(9), attributes: {}, inputs: {} };
  await tracing.callStart({ start: { ...start, id: "running", op_name: `${prefix}answer:${digests[1]}` } });
});
afterAll(() => service.close());
afterEach(() => expect(service.unexpected).toEqual([]));

const idsOf = async (request: Omit<CallsQueryInput, "project_id">) =>
  (await service.tracing().callsQuery({ project_id: projectId, ...request })).calls.map(({ id }) => id).toSorted();
const name = { $getField: "op_name" };
type Query = NonNullable<CallsQueryInput["query"]>;
const equals = (text: string): Query => ({ $expr: { $eq: [name, { $literal: text }] } });
const isOneOf = (...texts: string[]): Query => ({ $expr: { $in: [name, texts.map(($literal) => ({ $literal }))] } });
const contains = (text: string): Query => ({ $expr: { $contains: { input: name, substr: { $literal: text } } } });

const every = ["c0", "c1", "c3", "running"];
const meanings: Array<[text: () => string, ids: string[]]> = [
  [() => "answer", every],
  [() => "answer:*", every],
  [() => `${prefix}answer`, ["c0", "c1", "running"]],
  [() => `${prefix}answer:*`, ["c0", "c1", "running"]],
  [() => "answer:v0", ["c0"]],
  [() => "answer:v1", ["c1", "running"]],
  [() => "answer:v2", []],
  [() => "answer:latest", ["c1", "running"]],
  [() => "answer:stable", ["c0"]],
  [() => `answer:${digests[0]}`, ["c0"]],
  [() => `${prefix}answer:v0`, ["c0"]],
  [() => `${prefix}answer:latest`, ["c1", "running"]],
  [() => `${prefix}answer:${digests[1]}`, ["c1", "running"]],
  [() => "计算", ["c2"]],
  [() => "计算:v0", ["c2"]],
  [() => `计算:${digests[2]}`, ["c2"]],
  [() => `${prefix}计算:latest`, ["c2"]],
  [() => "lookup:v0", ["c5"]],
  [() => "lookup", []],
  [() => "weave:///other/project/op/answer:v0", []],
];

test("a filter and a query mean the same by a name", async () => {
  const found = await Promise.all(
    meanings.map(async ([text]) => {
      const ways = [{ filter: { op_names: [text()] } }, { query: equals(text()) }, { query: isOneOf(text()) }];
      return [text(), ...(await Promise.all(ways.map(idsOf)))];
    }),
  );
  expect(found).toEqual(meanings.map(([text, ids]) => [text(), ids, ids, ids]));
});

test("several names are alternatives, and a condition on names can be turned around", async () => {
  expect(await idsOf({ query: isOneOf("answer:v0", "计算", "lookup:v0") })).toEqual(["c0", "c2", "c5"]);
  expect(await idsOf({ query: { $expr: { $not: [equals("answer").$expr] } } })).toEqual(["c2", "c4", "c5"]);
  expect(await idsOf({ query: { $expr: { $or: [equals("answers").$expr, equals("answer:v0").$expr] } } })).toEqual([
    "c0",
    "c4",
  ]);
  const backwards = { $expr: { $eq: [{ $literal: "answer:v0" }, name] } };
  expect(await idsOf({ query: backwards })).toEqual(["c0"]);
});

test("a part of a name is found as people read it and as it is stored", async () => {
  expect(await idsOf({ query: contains("answer") })).toEqual(["c0", "c1", "c3", "c4", "running"]);
  for (const part of ["计算", "算", encodeURIComponent("计算")]) {
    expect([part, await idsOf({ query: contains(part) })]).toEqual([part, ["c2"]]);
  }
});

test("a project's name in a ref may be written either way, too", async () => {
  const tracing = service.tracing();
  const [entity = "", project = ""] = projectId.split("/");
  const there = `${entity}/${project} 计算`;
  const opValue = { _type: "CustomWeaveType", weave_type: { type: "Op" }, files: {} };
  const { digest } = await tracing.objCreate({ obj: { project_id: there, object_id: "answer", val: opValue } });
  const projects = [there, `${entity}/${encodeURIComponent(`${project} 计算`)}`];
  for (const [id, written] of projects.entries()) {
    const opName = `weave:///${written}/op/answer:${digest}`;
    const start = { project_id: there, id: `c${id}`, trace_id: "t", started_at: at(0), attributes: {}, inputs: {} };
    await tracing.callStart({ start: { ...start, op_name: opName } });
  }
  const wanted = projects.flatMap((written) =>
    ["v0", "latest", "*", digest].map((v) => `weave:///${written}/op/answer:${v}`),
  );
  for (const text of ["answer", "answer:v0", ...wanted]) {
    const { calls } = await tracing.callsQuery({ project_id: there, filter: { op_names: [text] } });
    expect([text, calls.map(({ id }) => id).toSorted()]).toEqual([text, ["c0", "c1"]]);
  }
});

describe("names are understood by", () => {
  const filter = { op_names: ["answer:v0", "计算"] };
  const query = isOneOf("answer:v0", "计算");

  test("counts and statistics", async () => {
    const tracing = service.tracing();
    expect(await tracing.callsQueryStats({ project_id: projectId, query })).toMatchObject({ count: 2 });
    const { call_buckets } = await tracing.callStats({
      project_id: projectId,
      start: at(0),
      end: "2026-04-10T10:00:00Z",
      filter,
      call_metrics: [{ metric: "call_count", aggregations: ["sum"] }],
    });
    expect(call_buckets?.reduce((sum, { count }) => sum + Number(count), 0)).toBe(2);
  });

  test("aggregates, pages, tails, usage and exports", async () => {
    const tracing = service.tracing();
    for (const selection of [{ filter }, { query }]) {
      const of = { project_id: projectId, ...selection };
      expect((await tracing.callsPage({ ...of, select: ["id"] })).calls.map(({ id }) => id).toSorted()).toEqual([
        "c0",
        "c2",
      ]);
      const shown: string[] = [];
      for await (const event of tracing.callsTail({ ...of, seconds: 0, after: "0" })) {
        if (event.kind === "changed" && event.call !== undefined) shown.push(event.call.id);
      }
      expect(shown.toSorted()).toEqual(["c0", "c2"]);
      expect(Object.keys((await tracing.traceUsage(of)).call_usage).toSorted()).toEqual(["c0", "c2"]);
      const { url } = await tracing.exportCreate(of);
      const lines = (await (await service.fetch(url)).text()).trimEnd().split("\n");
      expect(lines.map((line) => (JSON.parse(line) as { id: string }).id).toSorted()).toEqual(["c0", "c2"]);
    }
  });
});
