import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { operations, toRequest } from "../spec-requests.js";
import { routes } from "../../src/boot/routes.js";
import { requestOf, routeSamples } from "../routes/route-samples.js";
import { missingTenant } from "../routes/route-tenants.js";
import { emptyTenant } from "../isolation/tenants.js";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";

let service: TestService;
let token: string;
let files: Record<"visible" | "hidden" | "other", string>;
const projectId = newProject();
const [entity = "", project = ""] = projectId.split("/");
const traceId = "shared-trace";
const started = "2026-04-10T09:00:00Z";
beforeAll(async () => {
  service = await openTestService({}, { everyRoute: true });
  const tracing = service.tracing();
  const store = async (text: string) =>
    (await tracing.fileCreate({ project_id: projectId, file: new File([text], `${text}.txt`) })).digest;
  files = { visible: await store("visible"), hidden: await store("hidden"), other: await store("other") };
  const call = {
    project_id: projectId,
    op_name: "op",
    started_at: started,
    ended_at: started,
    attributes: {},
    summary: {},
  };
  const image = (digest: string) => ({ _type: "CustomWeaveType", files: { "image.png": digest } });
  await tracing.callsComplete({
    entity,
    project,
    batch: [
      {
        ...call,
        id: "root",
        trace_id: traceId,
        inputs: { question: "secret", image: image(files.visible), private: { image: image(files.hidden) } },
        output: { text: "fine", list: ["a", "secret"] },
        exception: "secret failure",
      },
      { ...call, id: "child", trace_id: traceId, parent_id: "root", inputs: { question: "secret" } },
      { ...call, id: "foreign", trace_id: "another", inputs: { image: image(files.other) } },
    ],
  });
  for (const id of ["root", "foreign"]) {
    const ref = `weave:///${projectId}/call/${id}`;
    await tracing.feedbackCreate({
      project_id: projectId,
      weave_ref: ref,
      feedback_type: "note",
      payload: { note: id },
    });
  }
  const redact = ["inputs.question", "inputs.private", "output.list.1", "exception"];
  ({ token } = await tracing.shareCreate({ project_id: projectId, trace_id: traceId, redact }));
});
afterAll(() => service.close());
afterEach(() => expect(service.unexpected).toEqual([]));

/** The client sends keys of this interface as Basic; the token is a Bearer token. */
function shared(key = token) {
  const headers = { authorization: `Bearer ${key}` };
  const post = async (path: string, body: object) =>
    await service.fetch(`http://in-process${path}`, { method: "POST", headers, body: JSON.stringify(body) });
  return {
    post,
    json: async (path: string, body: object) => {
      const response = await post(path, { project_id: projectId, ...body });
      return [response.status, await response.json()];
    },
  };
}

test("a share shows its trace, without what is hidden", async () => {
  const [status, outline] = await shared().json("/trace/outline", { trace_id: traceId });
  expect([status, outline]).toMatchObject([200, { ids: ["root", "child"] }]);
  // A digest of a short text tells what the text is.
  const digests = { trace_id: traceId, include: ["digests"] };
  expect(await shared().json("/trace/outline", digests)).toMatchObject([403, {}]);
  expect((await shared().json("/trace/outline", digests))[1]).not.toHaveProperty("input_digest");
  const [, read] = await shared().json("/call/read", { id: "root", include_feedback: true });
  expect(read).toMatchObject({
    call: {
      id: "root",
      inputs: { question: "[redacted]", private: "[redacted]", image: { files: { "image.png": files.visible } } },
      output: { text: "fine", list: ["a", "[redacted]"] },
      exception: "[redacted]",
    },
  });
  expect(JSON.stringify(read)).not.toContain("secret");
  expect(await shared().json("/call/read", { id: "child" })).toMatchObject([200, { call: { parent_id: "root" } }]);
  const content = await shared().post("/file/content", { project_id: projectId, digest: files.visible });
  expect(await content.text()).toBe("visible");
});

const byRef = (...ids: string[]) => {
  const refs = ids.map((id) => ({ $literal: `weave:///${projectId}/call/${id}` }));
  const field = { $getField: "weave_ref" };
  return { query: { $expr: refs.length === 1 ? { $eq: [field, refs[0]] } : { $in: [field, refs] } } };
};

test("feedback comes for calls of the trace alone", async () => {
  expect(await shared().json("/feedback/query", byRef("root"))).toMatchObject([200, { total_count: 1, result: [{}] }]);
  expect(await shared().json("/feedback/query", byRef("root", "child"))).toMatchObject([200, { total_count: 1 }]);
  const refused = [
    {},
    byRef("foreign"),
    byRef("root", "foreign"),
    byRef("missing"),
    { query: { $expr: { $eq: [{ $getField: "feedback_type" }, { $literal: "note" }] } } },
    { query: { $expr: { $or: [byRef("root").query.$expr, byRef("foreign").query.$expr] } } },
    { query: { $expr: { $not: [byRef("root").query.$expr] } } },
    { query: { $expr: { $in: [{ $getField: "weave_ref" }, []] } } },
    { query: { $expr: { $eq: [{ $getField: "weave_ref" }, { $getField: "weave_ref" }] } } },
    { query: { $expr: { $eq: [{ $getField: "weave_ref" }, { $literal: `weave:///acme/other/call/root` }] } } },
  ];
  for (const request of refused)
    expect(await shared().json("/feedback/query", request)).toEqual([403, expect.anything()]);
});

test("nothing of other traces, projects and files is there", async () => {
  const other = newProject();
  await service.tracing().callsComplete({
    entity: "acme",
    project: other.split("/")[1] ?? "",
    batch: [
      {
        project_id: other,
        id: "root",
        trace_id: traceId,
        op_name: "op",
        started_at: started,
        ended_at: started,
        attributes: {},
        inputs: {},
        summary: {},
      },
    ],
  });
  expect(await shared().json("/trace/outline", { trace_id: "another" })).toMatchObject([403, {}]);
  expect(await shared().json("/call/read", { id: "foreign" })).toEqual([200, { call: null }]);
  expect(await shared().json("/call/read", { id: "missing" })).toEqual([200, { call: null }]);
  expect(await shared().json("/trace/outline", { project_id: other, trace_id: traceId })).toMatchObject([403, {}]);
  expect(await shared().json("/call/read", { project_id: other, id: "root" })).toMatchObject([403, {}]);
  for (const digest of [files.hidden, files.other, "missing", "", files.visible.slice(0, 10)]) {
    expect(await shared().json("/file/content", { digest })).toMatchObject([404, {}]);
    expect(await shared().json("/file/content", { project_id: other, digest })).toMatchObject([403, {}]);
  }
});

test("a share ends when it is revoked, and with the key that made it", async () => {
  const { key, secret } = await service.services.control.keys.create({ user_name: "eve", entity, role: "write" });
  const make = async () => await service.tracing(secret).shareCreate({ project_id: projectId, trace_id: traceId });
  const [one, two] = [await make(), await make()];
  const statusOf = async (of: string) => (await shared(of).json("/call/read", { id: "root" }))[0];
  expect([await statusOf(one.token), await statusOf(two.token)]).toEqual([200, 200]);
  const listed = (await service.tracing(secret).shareList({ project_id: projectId })).shares.map(({ id }) => id);
  expect(listed).toEqual(expect.arrayContaining([one.share.id, two.share.id]));
  expect(one.url).toMatch(
    /^http:\/\/[\w-]+\/console\/share#project=acme%2Fp-\w+&trace=shared-trace&token=share_\w{40}$/,
  );
  await service.tracing(secret).shareRevoke({ project_id: projectId, share_id: one.share.id });
  expect(await statusOf(one.token)).toBe(401);
  const again = service.tracing(secret).shareRevoke({ project_id: projectId, share_id: one.share.id });
  await expect(again).rejects.toMatchObject({ status: 404 });
  await service.services.control.keys.revoke(key.id);
  expect(await statusOf(two.token)).toBe(401);
});

test("only who may write can share, and what cannot be hidden is refused", async () => {
  const reader = await service.key({ role: "read" });
  const body = { project_id: projectId, trace_id: traceId };
  await expect(service.tracing(reader).shareCreate(body)).rejects.toMatchObject({ status: 403 });
  await expect(service.tracing(reader).shareList({ project_id: projectId })).rejects.toMatchObject({ status: 403 });
  for (const path of ["id", "__proto__", "summary.weave.status", "feedback.[x].payload"]) {
    const created = service.tracing().shareCreate({ ...body, redact: ["inputs", path] });
    await expect(created).rejects.toMatchObject({ status: 422, body: { detail: [{ loc: ["body", "redact", 1] }] } });
  }
  const elsewhere = newProject();
  for (const missing of [{ trace_id: "no-such-trace" }, { trace_id: "__proto__" }, { project_id: elsewhere }]) {
    const created = service.tracing().shareCreate({ ...body, ...missing });
    await expect(created).rejects.toMatchObject({
      status: 404,
      body: { reason: expect.stringMatching(/^body\.trace_id: no trace/) },
    });
  }
  const whole = await service.tracing().shareCreate({ ...body, redact: ["inputs", "output", "summary", "attributes"] });
  const [, read] = await shared(whole.token).json("/call/read", { id: "root" });
  expect(read).toMatchObject({ call: { inputs: {}, attributes: {}, output: "[redacted]", summary: { weave: {} } } });
});

describe("the token of a share is that of a stranger for every other operation", () => {
  test.each(operations.filter(({ share }) => !share))("$id", async (operation) => {
    const parts = emptyTenant(projectId).request(operation);
    const statusOf = async (headers: Record<string, string>) =>
      (await service.fetch(...toRequest(operation, parts, headers))).status;
    const own = await statusOf({ authorization: `Bearer ${token}` });
    if (operation.public) expect(own).toBe(await statusOf({}));
    else expect(own).toBe(401);
  });

  test("those that work are the four that read a trace", () => {
    const ids = operations.filter(({ share }) => share).map(({ id }) => id);
    expect(ids.toSorted()).toEqual(["callRead", "feedbackQuery", "fileContent", "traceOutline"]);
  });

  test.each(Object.keys(routes) as (keyof typeof routes)[])("the route %s", async (name) => {
    for (const sample of routeSamples[name](missingTenant(projectId, "owner"), service)) {
      const statusOf = async (key?: string) => (await service.fetch(...requestOf(sample, key))).status;
      expect(await statusOf(token)).toBe(typeof routes[name].access === "string" ? await statusOf() : 401);
    }
  });

  test("and in any other place than that of a Bearer token", async () => {
    const body = JSON.stringify({ project_id: projectId, id: "root" });
    for (const headers of [
      { authorization: `Basic ${btoa(`api:${token}`)}` },
      { "wandb-api-key": token },
      { "x-heddle-session": token },
      { authorization: `Bearer ${token.slice("share_".length)}` },
      { authorization: `Bearer ${token}x` },
    ] as Record<string, string>[])
      expect((await service.fetch("http://in-process/call/read", { method: "POST", headers, body })).status).toBe(401);
  });
});
