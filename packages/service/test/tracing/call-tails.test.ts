import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { createTracingClient } from "@heddle/client/tracing";
import { newProject, openTestService, ownerKey } from "../test-service.js";
import type { TestService } from "../test-service.js";

let service: TestService;
let url: string;
beforeAll(async () => {
  service = await openTestService({ HEDDLE_TAIL_SECONDS: "3600" });
  url = await service.listen();
});
afterAll(() => service.close());
afterEach(() => expect(service.unexpected).toEqual([]));

const start = async (projectId: string, id: string) =>
  await service.tracing().callStart({
    start: {
      project_id: projectId,
      id,
      trace_id: "t",
      op_name: "answer",
      started_at: "2026-04-10T09:00:00Z",
      attributes: {},
      inputs: {},
    },
  });
const end = async (projectId: string, id: string) =>
  await service
    .tracing()
    .callEnd({ end: { project_id: projectId, id, ended_at: "2026-04-10T09:00:01Z", summary: {} } });

const tailOf = async (body: object, headers: Record<string, string> = {}) =>
  await fetch(`${url}/calls/tail`, {
    method: "POST",
    headers: { authorization: `Bearer ${ownerKey}`, ...headers },
    body: JSON.stringify(body),
  });

test("changes arrive in process and over a socket, and a tail goes on after what was seen", async () => {
  const socket = createTracingClient({ baseUrl: url, apiKey: ownerKey });
  for (const tracing of [service.tracing(), socket]) {
    const projectId = newProject();
    const page = await tracing.callsPage({ project_id: projectId, select: ["name"] });
    let after = page.seq;
    const kinds: string[] = [];
    await start(projectId, "a");
    for await (const event of tracing.callsTail({ project_id: projectId, after, select: ["status"] })) {
      kinds.push(`${event.kind} ${event.call?.status ?? ""}`);
      if (event.kind === "caught_up") await end(projectId, "a");
      if (event.call?.status === "success") break;
      after = event.seq;
    }
    expect(kinds).toEqual(["changed running", "caught_up ", "changed success"]);
    const missed = [];
    for await (const event of tracing.callsTail({ project_id: projectId, after, seconds: 0 })) missed.push(event.kind);
    expect(missed).toEqual(["changed", "caught_up"]);
  }
});

test("server-sent events carry the id to go on from, which takes precedence over `after`", async () => {
  const projectId = newProject();
  await start(projectId, "a");
  await start(projectId, "b");
  const events = async (headers: Record<string, string> = {}) => {
    const body = { project_id: projectId, after: "0", seconds: 0, select: [] };
    const response = await tailOf(body, { accept: "text/event-stream", ...headers });
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    return (await response.text()).split("\n\n").filter((text) => text !== "");
  };
  const [first = "", second = "", caughtUp = "", done] = await events();
  expect(done).toBe("data: [DONE]");
  const [, id = "", data = ""] = /^id: (\d+)\ndata: (.*)$/.exec(first) ?? [];
  expect(JSON.parse(data)).toMatchObject({ seq: id, kind: "changed", id: "a" });
  expect(second).toContain('"id":"b"');
  expect(caughtUp).toContain("caught_up");
  expect((await events({ "last-event-id": id })).map((text) => /"id":"(\w)"/.exec(text)?.[1])).toEqual([
    "b",
    undefined,
    undefined,
  ]);
});

test("what is not a sequence, or one of the future, is refused", async () => {
  const project = { project_id: newProject() };
  const future = String(BigInt(Date.now() + 3_600_000) * 1000n);
  for (const after of [future, "9".repeat(20), "9".repeat(40), "-1", "1e9", "", "\u0661"]) {
    const response = await tailOf({ ...project, after });
    expect([after, response.status]).toEqual([after, 422]);
    expect(await response.json()).toMatchObject({ detail: [{ loc: ["body", "after"] }] });
  }
  for (const id of ["yesterday", future, "9".repeat(40), "-1"]) {
    const header = await tailOf(project, { "last-event-id": id });
    expect([id, header.status]).toEqual([id, 422]);
    expect(await header.json()).toMatchObject({ detail: [{ loc: ["header", "Last-Event-ID"] }] });
  }
  const select = Array.from({ length: 101 }, (_, n) => `inputs.x${n}`);
  for (const body of [{ select }, { select: ["__proto__"] }, { select: [`inputs${".x".repeat(201)}`] }]) {
    expect((await tailOf({ ...project, ...body })).status).toBe(422);
  }
});

test("a tail ends when its key is revoked", async () => {
  const projectId = newProject();
  const { key, secret } = await service.services.control.keys.create({
    user_name: "ann",
    entity: "acme",
    role: "read",
  });
  const response = await tailOf({ project_id: projectId }, { authorization: `Bearer ${secret}` });
  const reader = response.body?.getReader();
  await reader?.read();
  await service.services.control.keys.revoke(key.id);
  await expect(readToEnd(reader)).rejects.toThrow();
});

test("the name of a user and the feedback come with a call where they are asked for", async () => {
  const projectId = newProject();
  await start(projectId, "a");
  const calls: unknown[] = [];
  const request = { project_id: projectId, after: "0", seconds: 0, include: ["users" as const, "feedback" as const] };
  for await (const event of service.tracing().callsTail(request)) calls.push(event.call);
  expect(calls[0]).toMatchObject({ user: { name: "owner" }, feedback: [] });
});

async function readToEnd(reader: ReadableStreamDefaultReader<Uint8Array> | undefined): Promise<void> {
  while ((await reader?.read())?.done === false);
}
