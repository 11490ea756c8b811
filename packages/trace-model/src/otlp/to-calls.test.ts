import { describe, expect, test } from "vitest";
import { spanOpName } from "../refs/op-object.js";
import { runSteps } from "../steps.js";
import { spansToCalls } from "./to-calls.js";
import { emptyResource, emptySpan, noAttributes } from "./traces.js";
import type { Attributes, Span, Traces } from "./traces.js";

function attributes(values: Record<string, unknown>): Attributes {
  const result = noAttributes();
  for (const [key, value] of Object.entries(values)) {
    result.shape = result.shape.with(key);
    result.values.push(typeof value === "string" ? value : { json: JSON.stringify(value) });
  }
  return result;
}

function span(values: Record<string, unknown> = {}, more: Partial<Span> = {}): Span {
  return {
    ...emptySpan(),
    trace_id: "4bf92f3577b34da6a3ce929d0e0e4736",
    span_id: "00f067aa0ba902b7",
    name: "work",
    start_us: 1_775_811_600_000_000n,
    end_us: 1_775_811_601_000_000n,
    attributes: attributes(values),
    ...more,
  };
}

function event(name: string, values: Record<string, unknown>): Span["events"][number] {
  return { name, time_us: 0n, attributes: attributes(values), dropped_attributes_count: 0 };
}

function traces(spans: Span[], resource: Record<string, unknown> = {}): Traces {
  return {
    resources: [{ ...emptyResource(), attributes: attributes(resource), scopes: [{ name: "", version: "", spans }] }],
    rejected: [],
  };
}

function callOf(values: Record<string, unknown>, more: Partial<Span> = {}) {
  const { calls, rejected } = runSteps(spansToCalls(traces([span(values, more)]), { project_id: "acme/demo" }));
  expect(rejected).toEqual([]);
  const { start, end } = calls[0] ?? {};
  const { otel_span, ...own } = JSON.parse(start?.attributes ?? "{}") as Record<string, unknown>;
  return { start, end, attributes: own, otel_span };
}

describe("inputs and output", () => {
  test.each([
    [{ "ai.prompt": "a", "gen_ai.prompt": "b" }, '{"ai.prompt":"a"}'],
    [{ "gen_ai.prompt": "b", "input.value": "c" }, '{"gen_ai.prompt":"b"}'],
    [{ "input.value": '{"q": 1.0}', "input.mime_type": "application/json" }, '{"input.value":{"q": 1.0}}'],
    [{ input: '{"q": 1.0}' }, '{"q": 1.0}'],
    [{ inputs: { q: 1 } }, '{"q":1}'],
    [{ input: "plain" }, '{"input":"plain"}'],
    [{ input: [1] }, '{"input":[1]}'],
    [{ gen_ai: '{"prompt": "nested"}' }, '{"gen_ai.prompt":"nested"}'],
    [{ "gen_ai.prompt": null, "traceloop.entity.input": "x" }, '{"traceloop.entity.input":"x"}'],
    [{ "input.value": "{broken" }, '{"input.value":"{broken"}'],
    [{ "input.value": "[NaN]" }, '{"input.value":[null]}'],
    [{ "langfuse.observation.input": "a", "gen_ai.prompt": "b" }, '{"langfuse.observation.input":"a"}'],
    [{ "gen_ai.tool.call.arguments": '{"q":1}', "input.value": "b" }, '{"gen_ai.tool.call.arguments":{"q":1}}'],
    [{ "input.value": "a", "llm.input_messages.0.message.role": "user" }, '{"input.value":"a"}'],
    [
      { "gen_ai.prompt": "hi", "gen_ai.prompt.0.role": "user" },
      '{"gen_ai.prompt":"hi","gen_ai.prompt.0":{"role":"user"}}',
    ],
    [
      { "gen_ai.prompt": '[{"content":"hi"}]', "gen_ai.prompt.0.role": "user" },
      '{"gen_ai.prompt":[{"content":"hi","role":"user"}]}',
    ],
    [{ "mlflow.spanInputs": '"plain"' }, '{"mlflow.spanInputs":"plain"}'],
    [{ "mlflow.spanInputs": '"weave:///e/p/call/1"' }, String.raw`{"mlflow.spanInputs":"\"weave:///e/p/call/1\""}`],
    [{ "input.value": '"quoted"' }, String.raw`{"input.value":"\"quoted\""}`],
    [{ events: "not a list" }, "{}"],
    [{ events: '[1,{"event.name":5},{"event.name":"other"}]' }, "{}"],
    [{ other: 1 }, "{}"],
  ])("inputs of %j", (values, inputs) => {
    expect(callOf(values).start?.inputs).toBe(inputs);
  });

  test.each([
    [{ "ai.response": "a", output: "b" }, '{"ai.response":"a"}'],
    [{ "output.value": "x" }, '{"output.value":"x"}'],
    [{ "gen_ai.content.completion": "x", outputs: "y" }, '{"gen_ai.content.completion":"x"}'],
    [{ final_result: "x", "gen_ai.content.completion": "y" }, '{"final_result":"x"}'],
    [{ output: "plain" }, '"plain"'],
    [{ outputs: [1, 2] }, "[1,2]"],
    [{ "output.a": 1, "output.b": 2 }, '{"a":1,"b":2}'],
    [
      { "output.value": "ids", "retrieval.documents.0.document.id": "d" },
      '{"retrieval.documents":[{"document":{"id":"d"}}]}',
    ],
    [{ "gen_ai.completion": "a", "gen_ai.output.messages": "b", "output.value": "c" }, '{"gen_ai.completion":"a"}'],
    [{ output: "plain", "output.mime_type": "text/plain" }, '"plain"'],
    [{ other: 1 }, undefined],
  ])("output of %j", (values, output) => {
    expect(callOf(values).end?.output).toBe(output);
  });

  test("events count in their order", () => {
    const events = [
      event("gen_ai.user.message", { content: "hi" }),
      event("gen_ai.choice", { index: 0 }),
      event("gen_ai.choice", { index: 1 }),
    ];
    const call = callOf({ input: "later in the list" }, { events });
    expect(call.start?.inputs).toBe('{"events.gen_ai.user.message":[{"content":"hi"}]}');
    expect(call.end?.output).toBe('{"events.gen_ai.choice":[{"index":0},{"index":1}]}');
  });
});

test("messages of all roles are inputs, and those of the attribute events as well", () => {
  const message = (role: string) => event(`gen_ai.${role}.message`, { content: role });
  const inputs = ["system", "user", "assistant", "tool"].map(
    (role) => `"events.gen_ai.${role}.message":[{"content":"${role}"}]`,
  );
  const events = ["tool", "user", "system", "assistant"].map(message);
  expect(callOf({}, { events }).start?.inputs).toBe(`{${inputs.join(",")}}`);
  const listed = [
    { "event.name": "gen_ai.user.message", content: "hi" },
    { "event.name": "gen_ai.choice", index: 0 },
  ];
  const exception = event("exception", { "exception.type": "E" });
  const call = callOf({ events: JSON.stringify(listed) }, { events: [exception] });
  expect(call.start?.inputs).toBe(`{"events.gen_ai.user.message":[${JSON.stringify(listed[0])}]}`);
  expect(call.end?.output).toBe(`{"events.gen_ai.choice":[${JSON.stringify(listed[1])}]}`);
  expect(call.otel_span).toMatchObject({ events: [{ name: "exception" }] });
});

test("messages in the details of an inference are inputs and output", () => {
  const details = (values: object) => event("gen_ai.client.inference.operation.details", { ...values });
  const events = [details({ "gen_ai.input.messages": '["a"]' }), details({ "gen_ai.output.messages": '["b"]' })];
  const call = callOf({}, { events });
  expect(call.start?.inputs).toBe('{"gen_ai.input.messages":["a"]}');
  expect(call.end?.output).toBe('{"gen_ai.output.messages":["b"]}');
  expect(callOf({ "gen_ai.input.messages": "own" }, { events }).start?.inputs).toBe('{"gen_ai.input.messages":"own"}');
});

describe("usage", () => {
  test.each([
    [
      { "gen_ai.usage.prompt_tokens": 2, "gen_ai.usage.completion_tokens": "3" },
      '{"usage":{"usage":{"prompt_tokens":2,"completion_tokens":3,"total_tokens":5}}}',
    ],
    [
      { "llm.token_count.prompt": 2, "llm.token_count.total": 9, "llm.model_name": "m" },
      '{"usage":{"m":{"prompt_tokens":2,"total_tokens":9}}}',
    ],
    [{ "ai.usage.promptTokens": 2, "ai.model.id": "m" }, '{"usage":{"m":{"prompt_tokens":2,"total_tokens":2}}}'],
    [
      { "gen_ai.usage.input_tokens": 2, "gen_ai.usage.prompt_tokens": 2 },
      '{"usage":{"usage":{"input_tokens":2,"total_tokens":2}}}',
    ],
    [
      { "gen_ai.usage.input_tokens": 812, "gen_ai.usage.input_tokens.cached": 5 },
      '{"usage":{"usage":{"input_tokens":812,"cache_read_input_tokens":5,"total_tokens":812}}}',
    ],
    [{ "gen_ai.usage.input_tokens": "many" }, "{}"],
    [{ "gen_ai.response.model": "m" }, "{}"],
  ])("of %j", (values, summary) => {
    expect(callOf(values).end?.summary).toBe(summary);
  });
});

describe("attributes", () => {
  test("hold what was recognised, and what the user put there", () => {
    expect(
      callOf({
        "gen_ai.request.model": "m",
        "gen_ai.request.temperature": 1,
        "llm.provider": "p",
        "openinference.span.kind": "LLM",
        "gen_ai.agent.name": "planner",
        "gen_ai.agent.tools": ["search"],
        "gen_ai.operation.name": "chat",
        "wandb.attributes": { model: "mine", tag: "x" },
        ignored: true,
      }).attributes,
    ).toEqual({
      model: "mine",
      model_parameters: { model: "m", temperature: 1 },
      provider: "p",
      kind: "LLM",
      agent: "planner",
      tools: ["search"],
      operation: "chat",
      tag: "x",
    });
  });

  test.each([
    [{ otel_span: "mine", x: 1 }, '{"otel_span":{"name":"work"'],
    [{ "otel_span.a": 1, x: 1 }, '{"otel_span":{"name":"work"'],
    [{ "0": "a", "1": "b" }, '{"otel_span":{"name":"work"'],
    [{ x: '"otel_span"' }, '{"x":"\\"otel_span\\"","otel_span":{"name":"work"'],
  ])("hold the span once, next to %j", (values, beginning) => {
    const attributes = callOf(values).start?.attributes ?? "";
    expect(attributes.slice(0, beginning.length)).toBe(beginning);
    expect(attributes.split('"name":"work"')).toHaveLength(2);
  });

  test("hold everything when nothing was recognised", () => {
    expect(callOf({ "http.method": "GET", "http.status_code": 200 }).attributes).toEqual({
      http: { method: "GET", status_code: 200 },
    });
  });

  test("unfold numbered keys to lists only when none is missing", () => {
    const { otel_span } = callOf({ "a.1": "y", "a.0": "x", "b.1": "only", "c.0": "z", "c.n": 1 });
    expect(otel_span).toMatchObject({ attributes: { a: ["x", "y"], b: { 1: "only" }, c: { 0: "z", n: 1 } } });
  });

  test("may have any key", () => {
    const { otel_span } = callOf({ "": 1, "a..b": 2, constructor: 3, "x.": 4 });
    expect(otel_span).toMatchObject({ attributes: { "": 1, a: { "": { b: 2 } }, constructor: 3, x: { "": 4 } } });
  });
});

describe("fields of the call", () => {
  test("a session of Vertex AI is a thread whose spans are turns, whatever else names a thread", () => {
    const others = { "wandb.thread_id": "t", "session.id": "o", "wandb.is_turn": false };
    expect(callOf({ "gcp.vertex.agent.session_id": "s", ...others }).start).toMatchObject({
      thread_id: "s",
      turn_id: "00f067aa0ba902b7",
    });
    expect(callOf({ "wandb.thread_id": "t", "session.id": "o" }).start).toMatchObject({
      thread_id: "t",
      turn_id: undefined,
    });
    expect(callOf({ "wandb.thread_id": "t", "wandb.is_turn": "true" }).start?.turn_id).toBe("00f067aa0ba902b7");
    expect(callOf({ "wandb.is_turn": true }).start).toMatchObject({ thread_id: undefined, turn_id: undefined });
  });

  test.each([
    "langfuse.session.id",
    "ai.telemetry.metadata.sessionId",
    "metadata.sessionId",
    "metadata.thread_id",
    "traceloop.association.properties.session_id",
    "langsmith.metadata.thread_id",
    "langwatch.thread.id",
  ])("the session %s is a thread", (name) => {
    const expected = { thread_id: "s", turn_id: span().span_id };
    expect(callOf({ [name]: "s" }).start).toMatchObject(expected);
    expect(callOf({ [name]: "other", "session.id": "s" }).start).toMatchObject(expected);
  });

  test("a failure that only Langfuse's level tells has its message", () => {
    const failed = { "langfuse.observation.level": "ERROR" };
    expect(callOf({ ...failed, "langfuse.observation.status_message": "no quota" }).end?.exception).toBe("no quota");
    expect(callOf(failed).end?.exception).toBe("error");
    expect(callOf({ "langfuse.observation.level": "WARNING" }).end?.exception).toBeUndefined();
  });

  test("run and step", () => {
    const call = callOf({ "wandb.wb_run_id": "r", "wandb.wb_run_step": "3", "wandb.wb_run_step_end": 5 });
    expect(call.start).toMatchObject({ wb_run_id: "acme/demo/r", wb_run_step: 3 });
    expect(call.end?.wb_run_step_end).toBe(5);
    expect(callOf({ "wandb.wb_run_id": "e/p/r", "wandb.wb_run_step": -1 }).start).toMatchObject({
      wb_run_id: "e/p/r",
      wb_run_step: undefined,
    });
  });

  test("Langfuse's times win", () => {
    const call = callOf({
      "langfuse.startTime": "2026-04-10T08:00:00.5Z",
      "langfuse.endTime": 1_775_811_700_000_000_000,
    });
    expect(call.start?.started_at).toBe(1_775_808_000_500_000n);
    expect(call.end?.ended_at).toBe(1_775_811_700_000_000n);
  });

  test("a span without an end has taken no time", () => {
    const { start, end } = callOf({}, { end_us: 0n });
    expect(end?.ended_at).toBe(start?.started_at);
  });

  test("a failed span has an exception even when its status says nothing", () => {
    const status = { code: 2, message: "" };
    const exception = {
      name: "exception",
      time_us: 0n,
      attributes: attributes({ "exception.type": "ValueError", "exception.message": "no" }),
      dropped_attributes_count: 0,
    };
    expect(callOf({}, { status, events: [exception] }).end?.exception).toBe("ValueError: no");
    expect(callOf({}, { status }).end?.exception).toBe("error");
    expect(callOf({}, { status: { code: 1, message: "fine" } }).end?.exception).toBeUndefined();
  });

  test("long span names are shortened to distinct op names", () => {
    const [one, two] = ["a", "b"].map((end) => spanOpName("x".repeat(200) + end));
    expect(one).toMatch(/^x{123}:[0-9a-f]{4}$/);
    expect(two).not.toBe(one);
    expect(spanOpName("y".repeat(128))).toBe("y".repeat(128));
    expect(callOf({}, { name: "" }).start?.op_name).toBe("span");
  });

  test("a span whose name no op can have is shown by its name", () => {
    const displayNameOf = (name: string) => callOf({}, { name }).start?.display_name;
    const changed = ["🚀", "42 + 1", "chat gpt-4o", "агент 7", "GET /users/:id"];
    expect(changed.map(displayNameOf)).toEqual(changed);
    expect(displayNameOf("🚀".repeat(2000))).toBe("🚀".repeat(1024));
    expect(["agent", "агент", "42", "a-b", "", "  "].map(displayNameOf)).toEqual(Array(6).fill(undefined));
  });
});

describe("sessions of OpenTelemetry are threads", () => {
  type SpanSketch = [id: number, values: Record<string, unknown>, parent?: number];
  const hex = (number: number) => String(number).padStart(16, "0");
  /** The spans of one export; returns the thread of each, and whether it is a turn. */
  function threadsOf(sketches: SpanSketch[], sessionThreads?: boolean) {
    const spans = sketches.map(([id, values, parent]) =>
      span(values, { span_id: hex(id), parent_span_id: parent === undefined ? "" : hex(parent) }),
    );
    const { calls } = runSteps(spansToCalls(traces(spans), { project_id: "acme/demo", sessionThreads }));
    for (const { start } of calls) expect([undefined, start.id]).toContain(start.turn_id);
    return calls.map(({ start }) => [start.thread_id, start.turn_id !== undefined]);
  }
  const session = { "session.id": "s" };

  test("whose roots are turns, and the spans below them are not", () => {
    expect(
      threadsOf([
        [3, session, 2],
        [2, session, 1],
        [1, session],
      ]),
    ).toEqual([
      ["s", false],
      ["s", false],
      ["s", true],
    ]);
    expect(threadsOf([[1, { "gen_ai.conversation.id": "c" }]])).toEqual([["c", true]]);
    expect(threadsOf([[1, { "gen_ai.conversation.id": "c", ...session }]])).toEqual([["s", true]]);
  });

  test("whose top below a root that knows no session is a turn", () => {
    expect(
      threadsOf([
        [4, session, 3],
        [3, {}, 2],
        [2, session, 1],
        [1, {}],
      ]),
    ).toEqual([
      ["s", false],
      [undefined, false],
      ["s", true],
      [undefined, false],
    ]);
    expect(
      threadsOf([
        [2, { "session.id": "inner" }, 1],
        [1, session],
      ]),
    ).toEqual([
      ["inner", true],
      ["s", true],
    ]);
  });

  test("but a span whose parents are in another export, or in a circle, is not a turn", () => {
    const unknown = ["s", false];
    expect(threadsOf([[3, session, 2]])).toEqual([unknown]);
    expect(
      threadsOf([
        [3, session, 2],
        [2, {}, 1],
      ])[0],
    ).toEqual(unknown);
    expect(
      threadsOf([
        [3, session, 2],
        [2, {}, 1],
        [1, {}, 2],
      ])[0],
    ).toEqual(unknown);
  });

  test("whose turns a mark decides otherwise", () => {
    const marked = (mark: unknown) => ({ ...session, "wandb.is_turn": mark });
    expect(
      threadsOf([
        [2, marked(true), 1],
        [1, marked(false)],
      ]),
    ).toEqual([
      ["s", true],
      ["s", false],
    ]);
  });

  test("unless they are switched off or longer than a thread id may be", () => {
    expect(threadsOf([[1, session]], false)).toEqual([[undefined, false]]);
    expect(threadsOf([[1, { "session.id": "x".repeat(257) }]])).toEqual([[undefined, false]]);
    expect(threadsOf([[1, { "session.id": "x".repeat(256) }]])).toEqual([["x".repeat(256), true]]);
  });
});

describe("spans that cannot be stored", () => {
  test.each([
    ["no trace id", span({}, { trace_id: "" }), /trace id must be 16 bytes/],
    ["a trace id of zeros", span({}, { trace_id: "0".repeat(32) }), /trace id/],
    ["a short span id", span({}, { span_id: "00f067" }), /span id must be 8 bytes/],
    ["a span id of zeros", span({}, { span_id: "0".repeat(16) }), /span id/],
    ["an end after 2299", span({}, { end_us: 2n ** 64n / 1000n }), /years 1900 to 2299/],
    ["a start after 2299", span({}, { start_us: 2n ** 64n / 1000n }), /years 1900 to 2299/],
  ])("%s", (_, bad, message) => {
    const { calls, rejected } = runSteps(spansToCalls(traces([span(), bad, span()]), { project_id: "acme/demo" }));
    expect(rejected).toEqual([{ message: expect.stringMatching(message) as unknown }]);
    expect(calls).toHaveLength(2);
  });
});

describe("what of a span cannot be used costs only itself", () => {
  const start = span().start_us;
  test.each<[string, Span, RegExp, object]>([
    [
      "a long parent id",
      span({}, { parent_span_id: "ab".repeat(16) }),
      /parent span id must be 8/,
      { parent_id: undefined },
    ],
    [
      "Langfuse's start after 2299",
      span({ "langfuse.startTime": "2300-01-01" }),
      /attribute langfuse.startTime is outside the years 1900 to 2299/,
      { started_at: start },
    ],
    [
      "Langfuse's end that is not a time",
      span({ "langfuse.endTime": "soon" }),
      /attribute langfuse.endTime is not a time/,
      { ended_at: start + 1_000_000n },
    ],
    [
      "an end before the start",
      span({}, { end_us: 5n }),
      /ends before it starts/,
      { started_at: start, ended_at: start },
    ],
    [
      "a key of a thousand parts",
      span({ [".".repeat(1000)]: 1 }),
      /attribute \.{100} is too deep/,
      { id: span().span_id },
    ],
    [
      "what the decoder could not read",
      span({}, { unreadable: ["name is not a string"] }),
      /^span work: name is not a string$/,
      {},
    ],
  ])("%s", (_, bad, message, expected) => {
    const { calls, rejected } = runSteps(spansToCalls(traces([bad]), { project_id: "acme/demo" }));
    expect(rejected).toEqual([{ message: expect.stringMatching(message) as unknown, spans: 0 }]);
    expect({ ...calls[0]?.end, ...calls[0]?.start }).toMatchObject(expected);
  });

  test("a key that is too deep to be unfolded is kept as it is", () => {
    const key = "a.".repeat(10_000);
    const { calls } = runSteps(spansToCalls(traces([span({ [key]: "x", b: 1 })]), { project_id: "acme/demo" }));
    expect(JSON.parse(calls[0]?.start.attributes ?? "")).toMatchObject({ [key]: "x", b: 1 });
  });

  test("keys with a value and further keys below them are kept, wherever they are", () => {
    const both = { error: "timeout", "error.type": "E", x: '{"a":1}', "x.b": 2 };
    const kept = { error: "timeout", "error.type": "E", x: { a: 1, b: 2 } };
    const links = [{ ...event("", both), trace_id: "", span_id: "", trace_state: "", flags: 0 }];
    const scopes = [
      {
        name: "",
        version: "",
        attributes: attributes(both),
        spans: [span(both, { events: [event("e", both)], links })],
      },
    ];
    const resources = [{ ...emptyResource(), attributes: attributes(both), scopes }];
    const { calls, rejected } = runSteps(spansToCalls({ resources, rejected: [] }, { project_id: "acme/demo" }));
    expect(rejected).toEqual([]);
    expect(JSON.parse(calls[0]?.start.attributes ?? "")).toMatchObject({
      ...kept,
      otel_span: {
        attributes: kept,
        events: [{ attributes: kept }],
        links: [{ attributes: kept }],
        resource: { attributes: kept },
        scope: { attributes: kept },
      },
    });
  });

  test("counts of what the sender dropped are in the span", () => {
    const { otel_span } = callOf({}, { dropped_attributes_count: 1, dropped_events_count: 2, dropped_links_count: 3 });
    expect(otel_span).toMatchObject({ dropped_attributes_count: 1, dropped_events_count: 2, dropped_links_count: 3 });
    expect(Object.keys(callOf({}).otel_span ?? {}).filter((name) => name.startsWith("dropped"))).toEqual([]);
  });

  test("a span without any time started when it was received", () => {
    const bare = span({}, { start_us: 0n, end_us: 0n });
    const { calls } = runSteps(spansToCalls(traces([bare]), { project_id: "acme/demo", received_us: 7n }));
    expect([calls[0]?.start.started_at, calls[0]?.end.ended_at]).toEqual([7n, 7n]);
    expect(callOf({}, { start_us: 0n }).start?.started_at).toBe(span().end_us);
  });

  test("a parent of zeros is none", () => {
    const { start, otel_span } = callOf({ "session.id": "s" }, { parent_span_id: "0".repeat(16) });
    expect(start).toMatchObject({ parent_id: undefined, turn_id: span().span_id });
    expect(otel_span).toMatchObject({ parent_id: null });
  });

  test("messages are few, and spans that are lost come first", () => {
    const flawed = Array.from({ length: 100 }, () => span({}, { end_us: 5n }));
    const { rejected } = runSteps(
      spansToCalls(traces([...flawed, span({}, { span_id: "" })]), { project_id: "acme/demo" }),
    );
    expect(rejected).toHaveLength(21);
    expect(rejected[0]?.message).toMatch(/span id/);
  });
});

describe("the project", () => {
  const home = { "wandb.entity": "acme", "wandb.project": "other" };

  test("of the resource wins over the header", () => {
    const { calls } = runSteps(spansToCalls(traces([span()], home), { project_id: "acme/demo" }));
    expect(calls[0]?.start.project_id).toBe("acme/other");
    expect(calls[0]?.end.project_id).toBe("acme/other");
  });

  test("must come from somewhere", () => {
    expect(() => runSteps(spansToCalls(traces([span()])))).toThrow(
      /wandb.entity and wandb.project .*, or send the header project_id/,
    );
    expect(() => runSteps(spansToCalls(traces([span()], { "wandb.project": "demo" })))).toThrow();
    expect(runSteps(spansToCalls({ resources: [], rejected: [] }))).toEqual({ calls: [], rejected: [] });
  });

  test("missing in one resource costs only its spans", () => {
    const both = {
      resources: [...traces([span()], home).resources, ...traces([span()]).resources],
      rejected: [{ message: "earlier" }],
    };
    const { calls, rejected } = runSteps(spansToCalls(both));
    expect(calls).toHaveLength(1);
    expect(rejected.map(({ message }) => message)).toEqual([
      "earlier",
      expect.stringMatching(/^span work: no project/),
    ]);
  });
});
