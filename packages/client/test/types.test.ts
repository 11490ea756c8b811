import { expectTypeOf, test } from "vitest";
import type { ErrorBody, HeddleApiError, TracingClient } from "../src/index.js";
import { isConnectionError, isInvalid, isNotFound } from "../src/index.js";
import type { CallsQueryStreamItem, Schemas } from "../src/tracing.js";
import { callStart, connectTracing } from "../src/tracing.js";
import { connectTraining } from "../src/training.js";
import type { SystemCheckRes } from "../src/training.js";

// Checked by the compiler (`pnpm typecheck`); nothing here runs.
declare const tracing: TracingClient;
const projectId = "acme/demo";

test("results and items are typed by the spec", () => {
  expectTypeOf<ReturnType<TracingClient["callRead"]>>().resolves.toEqualTypeOf<Schemas["CallReadRes"]>();
  expectTypeOf<ReturnType<TracingClient["callsQueryStream"]>>().toEqualTypeOf<AsyncIterable<CallsQueryStreamItem>>();
  expectTypeOf<CallsQueryStreamItem>().toEqualTypeOf<Schemas["CallSchema"]>();
  expectTypeOf<ReturnType<TracingClient["fileContent"]>>().resolves.toEqualTypeOf<Uint8Array>();
  expectTypeOf<Schemas["CallSchema"]["output"]>().toBeUnknown();
});

test("inputs are members of one object, wherever they are in the request", () => {
  expectTypeOf<Parameters<TracingClient["objAddTags"]>[0]>().toMatchObjectType<{
    project_id: string;
    object_id: string;
    digest: string;
    tags: string[];
  }>();
  expectTypeOf<Parameters<TracingClient["aliasesList"]>[0]>().toExtend<{ project_id: string }>();
});

void (async () => {
  await tracing.callRead({ project_id: projectId, id: "1", include_costs: true });
  // @ts-expect-error a required property is missing
  await tracing.callRead({ project_id: projectId });
  // @ts-expect-error a property that the operation does not have
  await tracing.callRead({ project_id: projectId, id: "1", columns: [] });
  // @ts-expect-error ids are text
  await tracing.callRead({ project_id: projectId, id: 1 });
  // @ts-expect-error the operation takes an input
  await tracing.callRead();
  // @ts-expect-error no operation has this name
  await tracing.callReed({ project_id: projectId, id: "1" });

  // @ts-expect-error a stream is looped over with `for await`
  for (const call of tracing.callsQueryStream({ project_id: projectId })) void call;
  // @ts-expect-error a direction is asc or desc
  tracing.callsQueryStream({ project_id: projectId, sort_by: [{ field: "started_at", direction: "down" }] });
  const query = { $expr: { $equals: [{ $literal: 1 }, { $literal: 1 }] } };
  // @ts-expect-error an expression has one of the known operators
  tracing.callsQueryStream({ project_id: projectId, query });

  await tracing.fileCreate({ project_id: projectId, file: new Blob(["x"]) });
  await tracing.fileCreate({ project_id: projectId, file: Uint8Array.of(1) });
  // @ts-expect-error text is not a file
  await tracing.fileCreate({ project_id: projectId, file: "x" });
  await tracing.exportTrace({ project_id: projectId, body: Uint8Array.of(1), mediaType: "application/x-protobuf" });
  // @ts-expect-error the operation does not take this media type
  await tracing.exportTrace({ project_id: projectId, body: Uint8Array.of(1), mediaType: "text/plain" });

  await tracing.readRoot({ timeout: 1 });
  // @ts-expect-error an operation without inputs takes options only
  await tracing.readRoot({ project_id: projectId });

  const start = { project_id: projectId, op_name: "o", started_at: "2026-01-01T00:00:00Z", attributes: {}, inputs: {} };
  await callStart(connectTracing({ baseUrl: "http://x" }), { start });
  // @ts-expect-error a connection belongs to one interface
  await callStart(connectTraining({ baseUrl: "http://x" }), { start });
  // @ts-expect-error a client needs to know where the service is
  connectTracing({ apiKey: "x" });
});

test("bodies of errors are typed by operation and status", () => {
  expectTypeOf<ErrorBody<"objRead", 404>>().toEqualTypeOf<Schemas["ReasonError"]>();
  expectTypeOf<ErrorBody<"objRead", 422>>().toEqualTypeOf<Schemas["HTTPValidationError"]>();
  expectTypeOf<ErrorBody<"getSystemCheck", 503>>().toEqualTypeOf<SystemCheckRes>();
  expectTypeOf<ErrorBody<"callRead">>().toEqualTypeOf<Schemas["ReasonError"] | Schemas["HTTPValidationError"]>();
});

test("a predicate with an operation gives the body its type, one without does not", () => {
  const error: unknown = undefined;
  if (isNotFound(error)) expectTypeOf(error.body).toBeUnknown();
  if (isNotFound(error, "objRead")) expectTypeOf(error.body).toEqualTypeOf<Schemas["ReasonError"]>();
  if (isInvalid(error, "callRead")) expectTypeOf(error.body.detail).toEqualTypeOf<Schemas["ValidationError"][]>();
  if (isConnectionError(error)) expectTypeOf(error).toEqualTypeOf<HeddleApiError>();
  // @ts-expect-error reading a call never returns 404
  isNotFound(error, "callRead");
  // @ts-expect-error no operation has this name
  isNotFound(error, "objReed");
});
