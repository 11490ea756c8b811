import { expect, expectTypeOf, test } from "vitest";
import { toFetch } from "./fetch.js";
import { ItemError, Problem } from "./problem.js";
import { rawJson } from "./json/raw-json.js";
import type { RawJson } from "./json/raw-json.js";
import { reply } from "./response/reply.js";
import { createTracingServer } from "./tracing.js";
import type { CallStartBatchRequest, TracingHandlers } from "./tracing.js";

interface Caller {
  user: string;
}

const calls: Partial<TracingHandlers<Caller>["calls"]> = {
  callStart({ body, headers }, caller) {
    expectTypeOf(body.start.inputs).toEqualTypeOf<RawJson>();
    expectTypeOf(body.start.parent_id).toEqualTypeOf<string | undefined>();
    expectTypeOf(headers["X-Weave-Retry-Id"]).toEqualTypeOf<string | undefined>();
    expectTypeOf(caller).toEqualTypeOf<Caller>();
    return { id: body.start.id ?? caller.user, trace_id: body.start.trace_id ?? body.start.inputs.text };
  },
  async *callsQueryStream({ body, signal }) {
    expectTypeOf(body.include_costs).toEqualTypeOf<boolean>();
    expectTypeOf(signal).toEqualTypeOf<AbortSignal>();
    yield {
      id: "c",
      project_id: body.project_id,
      op_name: "f",
      trace_id: "t",
      started_at: "2026-04-10T09:00:00.000000Z",
      attributes: rawJson("{}"),
      inputs: rawJson('{"x": 1.0}'),
    };
  },
};

const send = toFetch(
  createTracingServer({ calls }, { authenticate: () => ({ user: "ada" }), validateResponses: true }),
);

function post(path: string, body: string): Promise<Response> {
  return send(new Request(`http://in-process${path}`, { method: "POST", body }));
}

test("handlers of the tracing interface serve it, their free JSON untouched", async () => {
  const start = '{"project_id":"a/b","op_name":"f","started_at":1,"attributes":{},"inputs":{"x" : 1.0},"id":null}';
  expect(await (await post("/call/start", `{"start":${start}}`)).json()).toEqual({
    id: "ada",
    trace_id: '{"x" : 1.0}',
  });
  expect(await (await post("/calls/stream_query", '{"project_id":"a/b"}')).text()).toBe(
    '{"id":"c","project_id":"a/b","op_name":"f","trace_id":"t","started_at":"2026-04-10T09:00:00.000000Z","attributes":{},"inputs":{"x": 1.0}}\n',
  );
  expect((await post("/call/end", "{}")).status).toBe(501);
});

test("types hold handlers to the spec", () => {
  createTracingServer({
    // @ts-expect-error no such group
    kalls: {},
  });
  createTracingServer({
    calls: {
      // @ts-expect-error no such operation
      callBegin: () => ({}),
    },
  });
  createTracingServer({
    calls: {
      // @ts-expect-error the response needs a trace_id
      callStart: () => ({ id: "a" }),
    },
  });
  createTracingServer({
    calls: {
      // @ts-expect-error so does one with a status of its own
      callStart: () => reply(200, { id: "a" }),
    },
  });
  createTracingServer({
    calls: {
      // @ts-expect-error a stream is an iterable of items, not one item
      callsQueryStream: async () => ({ id: "a" }),
    },
  });
  createTracingServer({
    calls: {
      callRead: ({ body }) => {
        // @ts-expect-error not a property of this request
        expect(body.call_id).toBeDefined();
        return { call: null };
      },
    },
    service: {
      readRoot: (_, caller) => {
        expectTypeOf(caller).toEqualTypeOf<undefined>();
        throw new Problem(503, "starting");
      },
    },
  });
  // @ts-expect-error the caller of the handlers is not what authenticate gives
  createTracingServer<Caller>({ calls }, { authenticate: () => ({ name: "ada" }) });
});

function textsOf(batch: CallStartBatchRequest["body"]["batch"]): string[] {
  return batch.map((item) => {
    if (item instanceof ItemError) return item.msg;
    return "start" in item.req ? item.req.start.inputs.text : item.req.end.summary.text;
  });
}

test("an item of a lenient list is narrowed by what it is", () => {
  expectTypeOf<CallStartBatchRequest["body"]["batch"][number]>().extract<ItemError>().toEqualTypeOf<ItemError>();
  expect(textsOf([new ItemError({ loc: ["body"], msg: "bad", type: "value_error" })])).toEqual(["bad"]);
});
