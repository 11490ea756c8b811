import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { HeddleError } from "@heddle/errors";
import { referencedObject } from "../src/objects/referenced-object.js";
import { loadScorer } from "../src/runnable-objects/load-scorer.js";
import type { Scored } from "../src/scorers/scorer.js";
import { newProject, openTestService } from "./test-service.js";
import type { TestService } from "./test-service.js";
import { json, startUpstream, writeProviders } from "./upstream.js";

const projectId = newProject();
const model = { llm_model_id: "acme/loom-8b", default_params: { temperature: 0 } };

let service: TestService;
let directory: string;
let upstream: Awaited<ReturnType<typeof startUpstream>>;
let judgement = "";

beforeAll(async () => {
  upstream = await startUpstream({
    "POST /v1/chat/completions": (response) =>
      json(response, { choices: [{ index: 0, message: { role: "assistant", content: judgement } }] }),
  });
  directory = mkdtempSync(join(tmpdir(), "heddle-scorers-"));
  const acme = { baseUrl: `${upstream.url}/v1`, allowPrivate: true, kinds: ["chat-completions"], apiKey: "sk-secret" };
  service = await openTestService({ HEDDLE_PROVIDERS: writeProviders(directory, { acme }) });
});
beforeEach(() => {
  upstream.received.length = 0;
  judgement = "good";
});
afterAll(async () => {
  await service.close();
  await upstream.close();
  rmSync(directory, { recursive: true, force: true });
});

let names = 0;

async function stored(val: object, builtinClass?: string): Promise<string> {
  const name = `object-${names++}`;
  const obj = { project_id: projectId, object_id: name, val, builtin_object_class: builtinClass };
  const { digest } = await service.tracing().objCreate({ obj });
  return `weave:///${projectId}/object/${name}:${digest}`;
}

const asClass = (name: string) => ({ _type: name, _class_name: name, _bases: ["Scorer", "Object", "BaseModel"] });
const load = async (ref: string) =>
  loadScorer(service.services, await referencedObject(service.services, projectId, ref));

/** Scores with a scorer object; values are given as JSON values. */
async function score(ref: string, scored: Partial<Record<keyof Scored, unknown>>): Promise<unknown> {
  const scorer = await load(ref);
  const { row, inputs = {}, output = null, call } = scored;
  const text = (value: unknown) => (value === undefined ? undefined : JSON.stringify(value));
  return JSON.parse(
    await scorer.score(
      { row: text(row), inputs: JSON.stringify(inputs), output: JSON.stringify(output), call: text(call) },
      new AbortController().signal,
    ),
  ) as unknown;
}

async function failure(run: Promise<unknown>): Promise<[code: string, message: string]> {
  const error = await run.then(
    (result) => expect.unreachable(JSON.stringify(result)),
    (caught: unknown) => caught,
  );
  if (!(error instanceof HeddleError)) throw error;
  expect(error.message).not.toContain("sk-secret");
  return [error.code, error.message];
}

const prompt = () => {
  const { messages } = JSON.parse(upstream.received.at(-1)?.body ?? "{}") as { messages: { content: string }[] };
  return messages.map(({ content }) => content);
};

test("a scorer has the name of the object, and scores a row", async () => {
  expect((await load(await stored({ name: "Right answer" }, "ExactMatchScorer"))).name).toBe("Right answer");
  const ref = await stored({}, "ExactMatchScorer");
  expect((await load(ref)).name).toMatch(/^object-\d+$/);
  expect(await score(ref, { row: { expected: "Paris" }, output: "Paris" })).toEqual({ passed: true });
});

describe("column_map", () => {
  const withMap = async (map: object) => stored({ column_map: map }, "ExactMatchScorer");

  test("names the column that holds the expected value", async () => {
    const ref = await withMap({ expected: "answer" });
    expect(await score(ref, { row: { answer: "x", expected: "y" }, output: "x" })).toEqual({ passed: true });
  });

  test("selects a member of the output", async () => {
    const ref = await withMap({ output: "output.answer", expected: "gold.0" });
    expect(await score(ref, { row: { gold: ["x"] }, output: { answer: "x" } })).toEqual({ passed: true });
  });

  test("exchanges columns, and reaches a column that is called output", async () => {
    const exchanged = await withMap({ output: "expected", expected: "output" });
    expect(await score(exchanged, { row: { expected: 1, output: 1 }, output: 2 })).toEqual({ passed: true });
  });

  test("of a column that the row lacks is an error", async () => {
    expect(await failure(score(await withMap({ expected: "gold" }), { row: { answer: 1 } }))).toEqual([
      "invalid",
      expect.stringMatching(/column_map of expected needs "gold", which the row does not have. It has: .*"answer"/),
    ]);
  });
});

test("a call without a row is scored by its inputs, and by what was recorded", async () => {
  const ref = await stored({}, "ExactMatchScorer");
  expect(await score(ref, { inputs: { expected: "x" }, output: "x" })).toEqual({ passed: true });
  const fast = await stored({ absolute: 100, column_map: { output: "call.latency_ms" } }, "NumericToleranceScorer");
  const scored = { inputs: { expected: 0 }, call: { latency_ms: 99 } };
  expect(await score(fast, scored)).toEqual({ passed: true, difference: 99 });
});

describe("a judge", () => {
  const judge = async (val: object) => stored({ model, ...val }, "LLMAsAJudgeScorer");

  test("is asked with the columns, the inputs and the output", async () => {
    const ref = await judge({ scoring_prompt: "{question} {inputs} {output.text}: right?" });
    const scored = { row: { question: "2+2?" }, inputs: { q: 1 }, output: { text: "4 {question}" } };
    expect(await score(ref, scored)).toBe("good");
    expect(prompt()).toEqual(['2+2? {"q":1} 4 {question}: right?']);
  });

  test("that needs a column which the row lacks is not asked", async () => {
    const ref = await judge({ scoring_prompt: "{gold}" });
    expect(await failure(score(ref, { row: { question: 1 } }))).toEqual([
      "invalid",
      expect.stringMatching(/^object-\d+: the template needs "gold", .*"question"/),
    ]);
    expect(upstream.received).toEqual([]);
  });

  test("returns what the schema asks for", async () => {
    const schema = {
      type: "object",
      properties: { score: { type: "number", maximum: 1 }, reason: { type: "string" } },
      required: ["score", "reason"],
    };
    const ref = await judge({ scoring_prompt: "{output}", response_schema: schema });
    judgement = '{"score": 0.5, "reason": "half"}';
    expect(await score(ref, { output: "x" })).toEqual({ score: 0.5, reason: "half" });
    expect(JSON.parse(upstream.received.at(-1)?.body ?? "")).toMatchObject({
      model: "loom-8b",
      temperature: 0,
      response_format: { type: "json_schema", json_schema: { schema } },
    });
    for (const [text, message] of [
      ["I would say 0.5", /asked for JSON and returned a text that is none: "I would say 0.5"/],
      ['{"score": 2, "reason": ""}', /does not fit response_schema: score: 2 is greater than/],
      ['{"score": 1}', /does not fit response_schema: .*"reason"/],
    ] as const) {
      judgement = text;
      expect(await failure(score(ref, { output: "x" }))).toEqual(["failed", expect.stringMatching(message)]);
    }
  });

  test("of the weave SDK is understood, with refs of its model and prompt", async () => {
    const modelRef = await stored({
      _type: "LLMStructuredCompletionModel",
      _class_name: "LLMStructuredCompletionModel",
      _bases: ["Model", "Object", "BaseModel"],
      llm_model_id: "acme/loom-8b",
      default_params: {
        messages_template: [{ role: "system", content: "You judge {not a variable}, {nor}." }],
        response_format: "json_object",
      },
    });
    const promptRef = await stored({ messages: [{ role: "user", content: "Is {output} right?" }] });
    judgement = '{"score": 1.0}';
    for (const refs of [{ scoring_prompt_ref: promptRef }, { scoring_prompt: promptRef, scoring_prompt_ref: null }]) {
      const ref = await stored({
        ...asClass("LLMAsAJudgeScorer"),
        column_map: null,
        model: modelRef,
        enable_audio_scoring: false,
        score: "weave:///shawn/test/op/LLMAsAJudgeScorer.score:3DXMPEFwP04oJ362x6sxQIqQmVYYX2jB4Kg5EF2SF60",
        ...refs,
      });
      expect(await score(ref, { output: "4" })).toEqual({ score: 1 });
      expect(prompt()).toEqual(["You judge {not a variable}, {nor}.", "Is 4 right?"]);
    }
  });

  test("whose model or prompt cannot be loaded says which", async () => {
    const foreign = `weave:///${newProject()}/object/judge:latest`;
    const good = { scoring_prompt: "?" };
    for (const [val, message] of [
      [{ ...good, model: foreign }, /^object-\d+: model: .* is a ref of another project/],
      [{ ...good, model: { llm_model_id: "gpt" } }, /: model: llm_model_id "gpt": no provider is configured/],
      [{ ...good, model: {} }, /: model: .*"llm_model_id"/],
      [{ model, scoring_prompt_ref: foreign }, /: scoring_prompt_ref: .* is a ref of another project/],
    ] as const) {
      expect((await failure(load(await stored({ ...asClass("LLMAsAJudgeScorer"), ...val }))))[1]).toMatch(message);
    }
  });
});

describe("a scorer that only an SDK can run says what works", () => {
  test.each([
    [asClass("MyScorer"), /is an object of class MyScorer, which only an SDK can run. .*: LLMAsAJudgeScorer, GroupR/],
    [{ ...asClass("ExactMatchScorer"), score: "weave:///a/b/op/x:y" }, /is a scorer with code of its own/],
    [{ plain: 1 }, /is an object without a class/],
  ])("%j", async (val, message) => {
    expect((await failure(load(await stored(val))))[1]).toMatch(message);
  });

  test("an op", async () => {
    const ref = await stored({ _type: "CustomWeaveType", weave_type: { type: "Op" }, files: {} });
    const [code, message] = await failure(load(ref.replace("/object/", "/op/")));
    expect([code, message]).toEqual(["invalid", expect.stringMatching(/is an op, which only an SDK can run/)]);
    // An op is not an object of that name.
    expect(await failure(load(ref))).toEqual(["not_found", expect.stringMatching(/^Object object-\d+:\w+ not found/)]);
  });
});

test("parameters are checked when an object of the class is created, and again when it is loaded", async () => {
  await expect(stored({ pattern: "(" }, "RegexScorer")).rejects.toMatchObject({
    status: 400,
    message: expect.stringMatching(/body.obj.val: pattern is not a regular expression of RE2/) as string,
  });
  const ref = await stored({ ...asClass("RegexScorer"), pattern: "(" });
  expect(await failure(load(ref))).toEqual(["invalid", expect.stringMatching(/^object-\d+: pattern is not a regular/)]);
});
