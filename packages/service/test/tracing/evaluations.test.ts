import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { watchMostAtOnce } from "../most-at-once.js";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";

// What each kind of object stores and shows of itself; what they have in common is in object-kinds.test.ts.

let service: TestService;
beforeAll(async () => {
  service = await openTestService();
});
afterAll(() => service.close());
afterEach(() => expect(service.unexpected.splice(0)).toEqual([]));

/** A project of its own, and its two names as parameters. */
function place() {
  const projectId = newProject();
  const [entity = "", project = ""] = projectId.split("/");
  return { projectId, at: { entity, project }, tracing: service.tracing() };
}

/** The value of a version, as `/obj/read` has it. */
async function valueOf(projectId: string, { object_id, digest }: { object_id: string; digest: string }) {
  return (await service.tracing().objRead({ project_id: projectId, object_id, digest })).obj.val as Record<
    string,
    string
  >;
}

async function textOf(projectId: string, digest: string): Promise<string> {
  return Buffer.from(await service.tracing().fileContent({ project_id: projectId, digest })).toString();
}

describe("ops", () => {
  test("keep their source as the file that client libraries load", async () => {
    const { projectId, at, tracing } = place();
    const source = 'def café():\n    return "\u{1f9f6}"\n';
    const op = await tracing.opCreate({ ...at, name: "café".replace("é", "e"), source_code: source });
    const val: unknown = await valueOf(projectId, op);
    expect(val).toEqual({
      _type: "CustomWeaveType",
      weave_type: { type: "Op" },
      files: { "obj.py": expect.any(String) },
    });
    expect(await textOf(projectId, (val as { files: Record<string, string> }).files["obj.py"] ?? "")).toBe(source);
    expect(await tracing.opRead({ ...at, object_id: "cafe", digest: "latest", eager: true })).toMatchObject({
      code: source,
    });
    const { objs } = await tracing.objsQuery({ project_id: projectId, filter: { is_op: true } });
    expect(objs.map(({ digest }) => digest)).toEqual([op.digest]);
  });

  test("without name and source have default ones, without a file no source", async () => {
    const { projectId, at, tracing } = place();
    expect(await tracing.opCreate({ ...at })).toMatchObject({ object_id: "Op", version_index: 0 });
    expect((await tracing.opRead({ ...at, object_id: "Op", digest: "v0" })).code).toMatch(/^# .*not known/);
    const val = { _type: "CustomWeaveType", weave_type: { type: "Op" }, files: { "obj.py": "x".repeat(43) } };
    await tracing.objCreate({ obj: { project_id: projectId, object_id: "bare", val } });
    const broken = tracing.opCreate({ ...at, source_code: "\ud800" });
    await expect(broken).rejects.toMatchObject({ status: 422, message: expect.stringMatching(/lone surrogate/) });
    expect((await tracing.opRead({ ...at, object_id: "bare", digest: "latest" })).code).toBe("");
  });
});

describe("datasets", () => {
  test("are the object and the table that client libraries make of the same rows", async () => {
    const { projectId, at, tracing } = place();
    const rows = [
      { question: "2+2?", answer: 4 },
      { question: "café", answer: 1.5 },
      { question: "2+2?", answer: 4 },
    ];
    const created = await tracing.datasetCreate({ ...at, name: "Sums", description: "two", rows });
    const read = await tracing.datasetRead({ ...at, object_id: "sums", digest: created.digest });
    expect(read).toMatchObject({
      name: "Sums",
      description: "two",
      rows: expect.stringMatching(/\/table\/[0-9a-f]{64}$/),
    });
    const table = read.rows.slice(read.rows.lastIndexOf("/") + 1);
    const stored = (await tracing.tableQuery({ project_id: projectId, digest: table })).rows;
    expect(stored.map(({ val }) => val)).toEqual(rows);
    const [first] = stored;
    const ref = `weave:///${projectId}/object/sums:${created.digest}/attr/rows/id/${first?.digest}`;
    expect((await tracing.refsReadBatch({ refs: [ref] })).vals).toEqual([rows[0]]);

    // The same value, made as an SDK does: no other version.
    const val = { _type: "Dataset", name: "Sums", description: "two", rows: read.rows };
    const sdk = { ...val, _class_name: "Dataset", _bases: ["Object", "BaseModel"] };
    const { digest } = await tracing.objCreate({ obj: { project_id: projectId, object_id: "sums", val: sdk } });
    expect(digest).toBe(created.digest);
    const { objs } = await tracing.objsQuery({ project_id: projectId, filter: { base_object_classes: ["Dataset"] } });
    expect(objs).toMatchObject([{ object_id: "sums", leaf_object_class: "Dataset", val: sdk }]);
  });

  test("keep the exact text of rows, and a default name", async () => {
    const { projectId, at, tracing } = place();
    const send = async (rows: string) =>
      service.fetch(`http://in-process/v2/${projectId}/datasets`, {
        method: "POST",
        headers: { authorization: `Bearer ${service.owner_key}` },
        body: `{"name":null,"rows":${rows}}`,
      });
    const row = '{"n": 1.0, "big": 12345678901234567890, "n": 2}';
    expect(await (await send(`[${row}]`)).json()).toMatchObject({ object_id: "Dataset" });
    const { rows, name, description } = await tracing.datasetRead({ ...at, object_id: "Dataset", digest: "latest" });
    expect([name, description]).toEqual(["Dataset", null]);
    const response = await service.fetch("http://in-process/table/query", {
      method: "POST",
      headers: { authorization: `Bearer ${service.owner_key}` },
      body: JSON.stringify({ project_id: projectId, digest: rows.split("/").at(-1) }),
    });
    expect(await response.text()).toContain(row);
    for (const wrong of ["[1]", '"rows"', "null", "[[]]"]) expect((await send(wrong)).status).toBe(422);
  });

  test("of thirty thousand rows are one request and one table", async () => {
    const { projectId, at, tracing } = place();
    const rows = Array.from({ length: 30_000 }, (_, index) => ({ index, question: `What is ${index}?` }));
    await tracing.datasetCreate({ ...at, name: "many", rows });
    const read = await tracing.datasetRead({ ...at, object_id: "many", digest: "latest" });
    const digest = read.rows.split("/").at(-1) ?? "";
    expect(await tracing.tableQueryStats({ project_id: projectId, digest })).toEqual({ count: 30_000 });
    const page = await tracing.tableQuery({ project_id: projectId, digest, offset: 29_999 });
    expect(page.rows.map(({ val }) => val)).toEqual(rows.slice(29_999));
  });
});

describe("scorers", () => {
  test("come with their ops, whose refs lead to the source", async () => {
    const { projectId, at, tracing } = place();
    const created = await tracing.scorerCreate({ ...at, name: "Exact match", op_source_code: "score = 1" });
    expect(created.scorer).toBe(`weave:///${projectId}/object/exact_match:${created.digest}`);
    const read = await tracing.scorerRead({ ...at, object_id: "exact_match", digest: "latest" });
    const val = await valueOf(projectId, created);
    expect(val).toMatchObject({
      _type: "Scorer",
      score: read.score_op,
      column_map: null,
      _bases: ["Object", "BaseModel"],
    });
    const [file] = (await tracing.refsReadBatch({ refs: [`${read.score_op}/key/files/key/obj.py`] })).vals;
    expect(await textOf(projectId, file as string)).toBe("score = 1");
    const ops: string[] = [];
    for await (const { object_id } of tracing.opList(at)) ops.push(object_id);
    expect(ops.toSorted()).toEqual(["exact_match_score", "exact_match_summarize"]);
    const tooLong = tracing.scorerCreate({ ...at, name: "a".repeat(119), op_source_code: "" });
    await expect(tooLong).rejects.toMatchObject({ status: 422, message: expect.stringMatching(/1 to 118/) });
  });
});

describe("models", () => {
  test("keep their source and their attributes, whose text stays", async () => {
    const { projectId, at, tracing } = place();
    const response = await service.fetch(`http://in-process/v2/${projectId}/models`, {
      method: "POST",
      headers: { authorization: `Bearer ${service.owner_key}` },
      body: '{"name":"Mine","source_code":"class Mine: pass","attributes":{"temperature":1.0,"stop":["a"]}}',
    });
    const { digest, model_ref } = (await response.json()) as Record<string, string>;
    expect(model_ref).toBe(`weave:///${projectId}/object/mine:${digest}`);
    const read = await service.fetch(`http://in-process/v2/${projectId}/models/mine/versions/latest`, {
      headers: { authorization: `Bearer ${service.owner_key}` },
    });
    const text = await read.text();
    expect(text).toContain('"attributes":{"temperature":1.0,"stop":["a"]}');
    expect(JSON.parse(text)).toMatchObject({ name: "Mine", description: null, source_code: "class Mine: pass" });
    await tracing.modelCreate({ ...at, name: "plain", source_code: "" });
    expect((await tracing.modelRead({ ...at, object_id: "plain", digest: "v0" })).attributes).toBeNull();
  });

  test("as a client library stores them show the source of the op that they predict with", async () => {
    const { projectId, at, tracing } = place();
    const { digest } = await tracing.opCreate({ ...at, name: "MyModel.predict", source_code: "return 4" });
    const predict = `weave:///${projectId}/op/mymodel.predict:${digest}`;
    const publish = async (objectId: string, members: object) => {
      const val = {
        _type: "MyModel",
        name: null,
        ...members,
        _class_name: "MyModel",
        _bases: ["Model", "Object", "BaseModel"],
      };
      await tracing.objCreate({ obj: { project_id: projectId, object_id: objectId, val } });
      return tracing.modelRead({ ...at, object_id: objectId, digest: "latest" });
    };
    expect(await publish("m", { predict, size: 3 })).toMatchObject({
      name: "m",
      source_code: "return 4",
      attributes: { predict, size: 3 },
    });
    // Nothing leads out of the project, and what leads nowhere is not an error.
    const other = place();
    await other.tracing.opCreate({ ...other.at, name: "MyModel.predict", source_code: "secret" });
    for (const lost of [
      `weave:///${other.projectId}/op/mymodel.predict:latest`,
      `weave:///${projectId}/op/nothing:v0`,
      `weave:///${projectId}/object/m:latest`,
      "predict",
    ]) {
      expect((await publish("lost", { predict: lost })).source_code).toBe("");
    }
  });

  test("that need no source are shown without", async () => {
    const { projectId, at, tracing } = place();
    const val = { llm_model_id: "openai/gpt-4o-mini" };
    const builtinClass = "LLMStructuredCompletionModel";
    await tracing.objCreate({
      obj: { project_id: projectId, object_id: "llm", val, builtin_object_class: builtinClass },
    });
    const read = await tracing.modelRead({ ...at, object_id: "llm", digest: "latest" });
    expect(read).toMatchObject({ name: "llm", source_code: "", attributes: val });
  });

  test("are refused with attributes that they have anyway", async () => {
    const { at, tracing } = place();
    for (const member of ["name", "files", "_type", "_bases"]) {
      const created = tracing.modelCreate({ ...at, name: "m", source_code: "", attributes: { [member]: 1 } });
      await expect(created).rejects.toMatchObject({
        status: 422,
        body: { detail: [{ loc: ["body", "attributes", member] }] },
      });
    }
    const unsafe = { _type: "CustomWeaveType", files: { "../x": "y" } };
    const created = tracing.modelCreate({ ...at, name: "m", source_code: "", attributes: { unsafe } });
    await expect(created).rejects.toMatchObject({ status: 400, message: expect.stringMatching(/relative paths/) });
  });
});

describe("evaluations", () => {
  async function parts() {
    const { projectId, at, tracing } = place();
    const { digest } = await tracing.datasetCreate({ ...at, name: "d", rows: [{ a: 1 }] });
    const { scorer } = await tracing.scorerCreate({ ...at, name: "s", op_source_code: "" });
    return { projectId, at, tracing, dataset: `weave:///${projectId}/object/d:${digest}`, scorer };
  }

  test("have the refs of many scorers checked a few at a time", async () => {
    const { at, tracing, dataset, scorer } = await parts();
    const watch = watchMostAtOnce(service.services.store.objects, "read");
    await tracing.evaluationCreate({ ...at, name: "e", dataset, scorers: Array(40).fill(scorer) });
    expect(watch.stop()).toBe(8);
  });

  test("hold refs to their dataset, their scorers and the ops that came with them", async () => {
    const { projectId, at, tracing, dataset, scorer } = await parts();
    const created = await tracing.evaluationCreate({
      ...at,
      name: "Nightly",
      dataset,
      scorers: [scorer],
      trials: 3,
      evaluation_name: "night",
      eval_attributes: { metadata: { team: "a" }, threshold: 0.5 },
    });
    expect(created.evaluation_ref).toBe(`weave:///${projectId}/object/nightly:${created.digest}`);
    const read = await tracing.evaluationRead({ ...at, object_id: "nightly", digest: "latest" });
    const op = (name: string): unknown => expect.stringMatching(`^weave:///${projectId}/op/nightly.${name}:\\w{43}$`);
    expect(read).toMatchObject({
      name: "Nightly",
      description: null,
      dataset,
      scorers: [scorer],
      trials: 3,
      evaluation_name: "night",
      evaluate_op: op("evaluate"),
      predict_and_score_op: op("predict_and_score"),
      summarize_op: op("summarize"),
    });
    expect(await valueOf(projectId, created)).toEqual({
      _type: "Evaluation",
      name: "Nightly",
      description: null,
      dataset,
      scorers: [scorer],
      trials: 3,
      evaluation_name: "night",
      metadata: { team: "a" },
      preprocess_model_input: null,
      on_complete: null,
      evaluate: read.evaluate_op,
      predict_and_score: read.predict_and_score_op,
      summarize: read.summarize_op,
      threshold: 0.5,
      _class_name: "Evaluation",
      _bases: ["Object", "BaseModel"],
    });
  });

  test("need a dataset and scorers that exist in their project", async () => {
    const { projectId, at, tracing, dataset, scorer } = await parts();
    const create = (body: object) => tracing.evaluationCreate({ ...at, name: "e", dataset, ...body });
    const refused = async (body: object, status: number, message: RegExp) =>
      expect(create(body)).rejects.toMatchObject({ status, message: expect.stringMatching(message) });
    const other = await parts();
    for (const ref of [other.dataset, "", "d", `${dataset}/attr/rows`, `weave:///${projectId}/object/d:*`]) {
      await refused({ dataset: ref }, 400, /dataset: .*(not a ref of an object|ref of another project)/);
    }
    await refused({ scorers: [scorer, other.scorer] }, 400, /scorers.1: .*ref of another project/);
    await refused({ dataset: scorer }, 400, /dataset: must be the ref of a dataset/);
    await refused({ scorers: [dataset] }, 400, /scorers.0: must be the ref of a scorer or of an op/);
    await refused({ dataset: undefined }, 422, /dataset/);
    await refused({ dataset: `weave:///${projectId}/object/x:latest` }, 404, /x:latest not found/);
    await refused({ scorers: [`weave:///${projectId}/object/s:v9`] }, 404, /s:v9 not found/);
    for (const trials of [0, 1.5, 10_001]) await refused({ trials }, 422, /trials/);
    await refused({ eval_attributes: { dataset: 1 } }, 422, /eval_attributes.dataset/);
    await refused({ scorers: Array.from({ length: 101 }, () => scorer) }, 422, /scorers/);
    await tracing.datasetDelete({ ...at, object_id: "d" });
    await refused({}, 404, /was deleted/);
  });

  test("as client libraries store them are read and listed", async () => {
    const { projectId, at, tracing } = place();
    const publish = async (objectId: string, members: object) => {
      const val = { _type: "Evaluation", ...members, _class_name: "Evaluation", _bases: ["Object", "BaseModel"] };
      await tracing.objCreate({ obj: { project_id: projectId, object_id: objectId, val } });
    };
    await publish("Logged", { dataset: "some-rows", scorers: [], predictAndScore: "weave:///e/p/op/a:b" });
    await publish("odd", { name: 1, dataset: null, scorers: null, trials: "many" });
    const listed = [];
    for await (const evaluation of tracing.evaluationList(at)) listed.push(evaluation);
    expect(listed).toMatchObject([
      { name: "Logged", dataset: "some-rows", scorers: [], trials: 1, predict_and_score_op: "weave:///e/p/op/a:b" },
      { name: "odd", dataset: "", scorers: [], trials: 1, evaluation_name: null, evaluate_op: null },
    ]);
  });
});
