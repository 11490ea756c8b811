import { ProtobufTraceSerializer } from "@opentelemetry/otlp-transformer";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { call, framed, openSession } from "../grpc-call.js";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";

// Who may not write a project does not write it over gRPC either, whatever names the project.

let service: TestService;
let url: string;
beforeAll(async () => {
  service = await openTestService();
  url = await service.listenGrpc();
});
afterAll(() => service.close());

/** One resource with one span; the project of its attributes. */
function resourceOf(projectId?: string): Uint8Array {
  const [entity = "", project = ""] = projectId?.split("/") ?? [];
  const memory = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({
    resource: resourceFromAttributes(
      projectId === undefined ? {} : { "wandb.entity": entity, "wandb.project": project },
    ),
    spanProcessors: [new SimpleSpanProcessor(memory)],
  });
  provider.getTracer("test").startSpan("write").end();
  const message = ProtobufTraceSerializer.serializeRequest(memory.getFinishedSpans());
  if (message === undefined) throw new Error("no message");
  return message;
}

/** Exports joined are one export of the resources of all. */
async function send(key: string, headers: Record<string, string>, ...resources: Uint8Array[]) {
  const session = openSession(url);
  try {
    return await call(session, framed(Buffer.concat(resources)), {
      headers: { authorization: `Bearer ${key}`, ...headers },
    });
  } finally {
    session.destroy();
  }
}

const nameOf = (projectId: string) => projectId.split("/")[1] ?? "";
const countOf = async (projectId: string) => (await service.tracing().callsQueryStats({ project_id: projectId })).count;

describe.each<[string, (own: string) => Parameters<TestService["key"]>[0]]>([
  ["a key of another entity", () => ({ entity: "rival" })],
  ["a key of another project", (own) => ({ projects: [nameOf(own)] })],
  ["a key that may only read", () => ({ role: "read" })],
])("%s", (kind, rights) => {
  test.each<[string, (foreign: string) => [headers: Record<string, string>, resource: Uint8Array]]>([
    ["metadata", (foreign) => [{ project_id: foreign }, resourceOf()]],
    ["metadata with an encoded slash", (foreign) => [{ project_id: foreign.replace("/", "%2F") }, resourceOf()]],
    ["resource attributes", (foreign) => [{}, resourceOf(foreign)]],
  ])("writes nothing into a project that is named by %s", async (_, sent) => {
    const [own, foreign] = [newProject(), newProject()];
    const { code, message } = await send(await service.key(rights(own)), ...sent(foreign));
    expect([code, message]).toEqual([7, expect.stringContaining("Forbidden")]);
    expect(await countOf(foreign)).toBe(0);
    expect(service.unexpected).toEqual([]);
  });

  test("writes only what it may of an export that names two projects", async () => {
    const own = kind === "a key of another entity" ? newProject().replace(/^[^/]*/, "rival") : newProject();
    const foreign = newProject();
    const isReader = kind === "a key that may only read";
    const { code, response } = await send(await service.key(rights(own)), {}, resourceOf(foreign), resourceOf(own));
    expect(code).toBe(isReader ? 7 : 0);
    if (!isReader) expect(response.toString("latin1")).toContain(foreign);
    expect(await Promise.all([foreign, own].map(countOf))).toEqual([0, isReader ? 0 : 1]);
  });
});

test("keys that are none or were revoked write nothing", async () => {
  const foreign = newProject();
  const { key, secret } = await service.services.control.keys.create({
    user_name: "bob",
    entity: "acme",
    role: "write",
  });
  const write = async () => await send(secret, { project_id: foreign }, resourceOf());
  expect(await write()).toMatchObject({ code: 0 });
  await service.services.control.keys.revoke(key.id);
  const outcomes = [await write(), await send("x".repeat(40), { project_id: foreign }, resourceOf())];
  expect(outcomes.map(({ code }) => code)).toEqual([16, 16]);
  expect(await countOf(foreign)).toBe(1);
});
