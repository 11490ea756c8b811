import { Problem, rawJson } from "@heddle/server-stub";
import { toFetch } from "@heddle/server-stub/fetch";
import type { TracingHandlers } from "@heddle/server-stub/tracing";
import { createTracingServer } from "@heddle/server-stub/tracing";
import { createTrainingServer } from "@heddle/server-stub/training";
import { expect, test } from "vitest";
import { createTracingClient, createTrainingClient, HeddleApiError } from "../src/index.js";

const baseUrl = "http://in-process";

function clientOf(handlers: Partial<TracingHandlers["calls"]>, apiKey?: string) {
  const server = createTracingServer(
    {
      calls: handlers,
      objects: { objRead: () => Promise.reject(new Problem(404, "deleted", { extras: { deleted_at: "now" } })) },
    },
    {
      authenticate: ({ scheme, secret }) => {
        if (secret !== "right") throw new Problem(401, "unknown key");
        return scheme;
      },
    },
  );
  return createTracingClient({ baseUrl, apiKey, fetch: toFetch(server), retries: 0 });
}

test("free JSON is an ordinary value in the client", async () => {
  const inputs = { text: "a\u0000\ud800", list: [1.5, null, { "": true }] };
  const seen: string[] = [];
  const tracing = clientOf(
    {
      callStart({ body }) {
        seen.push(body.start.inputs.text);
        return { id: "1", trace_id: "2" };
      },
    },
    "right",
  );
  const start = { project_id: "acme/demo", op_name: "o", started_at: "2026-01-01T00:00:00Z", attributes: {}, inputs };
  expect(await tracing.callStart({ start })).toEqual({ id: "1", trace_id: "2" });
  expect(seen).toEqual([JSON.stringify(inputs)]);
});

test("an error response is a HeddleApiError with its reason and extras", async () => {
  const tracing = clientOf({}, "right");
  const read = tracing.objRead({ project_id: "acme/demo", object_id: "prompt", digest: "latest" });
  await expect(read).rejects.toMatchObject({ status: 404, reason: "deleted", body: { deleted_at: "now" } });
  const unknown = clientOf({}, "wrong").callRead({ project_id: "acme/demo", id: "1" });
  await expect(unknown).rejects.toMatchObject({ status: 401, reason: "unknown key" });
  const missing = tracing.callRead({ project_id: "acme/demo", id: "1" });
  await expect(missing).rejects.toMatchObject({ status: 501 });
});

test("a wrong request names the field", async () => {
  const tracing = clientOf({ callRead: () => ({ call: null }) }, "right");
  const error = await tracing.callRead({ project_id: "acme/demo" } as never).catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(HeddleApiError);
  expect(error).toMatchObject({ status: 422, reason: expect.stringContaining("body.id: ") });
});

test("leaving a stream early ends the generator that feeds it", async () => {
  let ended = false;
  const tracing = clientOf(
    {
      async *callsQueryStream({ body: { project_id } }) {
        const attributes = rawJson("{}");
        const call = {
          project_id,
          op_name: "o",
          trace_id: "t",
          started_at: "2026-01-01T00:00:00Z",
          inputs: attributes,
        };
        try {
          for (let index = 0; ; index++) yield { ...call, id: `${index}`, attributes };
        } finally {
          ended = true;
        }
      },
    },
    "right",
  );
  const ids = [];
  for await (const { id } of tracing.callsQueryStream({ project_id: "acme/demo" })) if (ids.push(id) === 1000) break;
  expect(ids.at(-1)).toBe("999");
  await expect.poll(() => ended).toBe(true);
});

test("methods work when taken out of the client", async () => {
  const { callRead } = clientOf({ callRead: () => ({ call: null }) }, "right");
  expect(await callRead({ project_id: "acme/demo", id: "1" })).toEqual({ call: null });
});

test("the tracing interface gets Basic, the training interface Bearer, and public operations need neither", async () => {
  const schemes: string[] = [];
  const fetch = async (request: Request) => {
    schemes.push(request.headers.get("authorization") ?? "none");
    return Response.json({});
  };
  await createTracingClient({ baseUrl, apiKey: "key_1", fetch }).readVersion();
  await createTrainingClient({ baseUrl, apiKey: "key_1", fetch }).getHealth();
  await createTracingClient({ baseUrl, fetch }).readVersion();
  expect(schemes).toEqual([`Basic ${btoa("api:key_1")}`, "Bearer key_1", "none"]);
});

test("a training client works with a training server", async () => {
  const server = createTrainingServer({ health: { getHealth: () => Promise.reject(new Problem(503, "starting")) } });
  const training = createTrainingClient({ baseUrl, fetch: toFetch(server), retries: 0 });
  await expect(training.getHealth()).rejects.toMatchObject({ status: 503, reason: "starting" });
});
