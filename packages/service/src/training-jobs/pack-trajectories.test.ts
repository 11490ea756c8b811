import { Problem } from "@heddle/server-stub";
import { expect, test } from "vitest";
import { packTrajectories } from "./pack-trajectories.js";
import type { RlRequestHeader } from "./pack-trajectories.js";

/** Memory of the data of one job. */
const most = 10_000_000;
const modelId = "0199d3a4-8000-7a11-8b22-3c4d5e6f7081";
const choice = {
  finish_reason: "stop",
  index: 0,
  message: { role: "assistant", content: ']},{[\\"ü\n' },
  logprobs: { content: [{ token: "token_id:7", logprob: -0.5, bytes: null, top_logprobs: [] }] },
  stop_reason: null,
};
const trajectory = (reward: number) => ({ messages_and_choices: [{ role: "user", content: 'q"}' }, choice], reward });
const body = (groups: unknown, more: object = {}) =>
  JSON.stringify({ model_id: modelId, trajectory_groups: groups, ...more });

/** Packs a body that arrives in parts of `size` bytes. */
async function pack(
  text: string | Buffer,
  size = 64 * 1024,
): Promise<{ lines: unknown[]; texts: string; header?: RlRequestHeader }> {
  const bytes = Buffer.from(text);
  async function* parts() {
    for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
  }
  let header: RlRequestHeader | undefined;
  const packed: Uint8Array[] = [];
  const texts: Uint8Array[] = [];
  const onHeader = async (found: RlRequestHeader) => void (header = found);
  const keepText = async (part: Uint8Array) => void texts.push(part);
  for await (const lines of packTrajectories(parts(), onHeader, most, keepText)) packed.push(lines);
  const lines = Buffer.concat(packed).toString().split("\n").filter(Boolean);
  return {
    lines: lines.map((line) => JSON.parse(line) as unknown),
    texts: Buffer.concat(texts).toString(),
    ...(header && { header }),
  };
}

const refusal = async (text: string | Buffer): Promise<Problem> =>
  await pack(text).then(
    () => Promise.reject(new Error("it was accepted")),
    (error: unknown) => (error instanceof Problem ? error : Promise.reject(error)),
  );

test.each([1, 7, 100_000])("trajectories are stored as they were sent, whatever the parts: %i bytes", async (size) => {
  const groups = [
    { trajectories: [trajectory(1), trajectory(0)], metadata: { scenario_id: "a" }, logs: ["x"] },
    { exceptions: [{ type: "E", message: "m", traceback: "" }], trajectories: [] },
  ];
  const { lines, texts, header } = await pack(
    `\uFEFF ${body(groups, { experimental_config: { ppo: null, epsilon: 0.1, new: 1 } })}\n`,
    size,
  );
  const [first, second] = [trajectory(1), trajectory(0)].map((each) => Buffer.from(JSON.stringify(each))) as [
    Buffer,
    Buffer,
  ];
  expect(header).toEqual({ model_id: modelId, experimental_config: { epsilon: 0.1, new: 1 } });
  expect(lines).toEqual([
    { trajectory: expect.objectContaining({ reward: 1 }), bytes: first.length },
    { trajectory: expect.objectContaining({ reward: 0 }), bytes: second.length },
    { group: { metadata: { scenario_id: "a" } } },
    { group: { exceptions: [{ type: "E", message: "m", traceback: "" }] } },
  ]);
  expect(texts).toBe(`${String(first)}${String(second)}`);
  const [packed] = lines as [{ trajectory: { messages_and_choices: unknown[] } }];
  const [, sampled] = packed.trajectory.messages_and_choices;
  expect(sampled).toMatchObject({ message: choice.message, token_ids: [7], art_completion_logprobs: [-0.5] });
});

test("a body without groups, and one whose members come last, are read", async () => {
  expect(await pack(`{"trajectory_groups": [ ] , "model_id": "${modelId}"}`)).toEqual({
    lines: [],
    texts: "",
    header: { model_id: modelId },
  });
  expect((await pack(`{"trajectory_groups":[{"trajectories":[{}]}],"model_id":"${modelId}"}`)).lines).toHaveLength(2);
});

const bad = trajectory(0);
test.each<[string, unknown[], string]>([
  [
    "trajectory_groups.1.trajectories.2.reward",
    [{ trajectories: [bad] }, { trajectories: [bad, bad, { reward: "much" }] }],
    "number",
  ],
  ["trajectory_groups.0.trajectories.0.metrics.m", [{ trajectories: [{ metrics: { m: "x" } }] }], "number"],
  ["trajectory_groups.1.trajectories", [{ trajectories: [bad] }, { metrics: {} }], "Field required"],
  ["trajectory_groups.0.trajectories", [{ trajectories: 7 }], "array"],
  ["trajectory_groups.1", [{ trajectories: [bad] }, 7], "object"],
  ["trajectory_groups.0.trajectories.1", [{ trajectories: [bad, "x"] }], "object"],
  ["trajectory_groups.0.metrics.m", [{ trajectories: [bad], metrics: { m: "x" } }], "number"],
])("a request is refused at %s", async (path, groups, message) => {
  const { status, details } = await refusal(body(groups));
  expect(status).toBe(422);
  expect(details?.[0]?.loc.join(".")).toBe(`body.${path}`);
  expect(details?.[0]?.msg).toContain(message);
});

test.each([
  [
    "NaN",
    `{"model_id":"${modelId}","trajectory_groups":[{"trajectories":[{"reward":NaN}]}]}`,
    "body.trajectory_groups.0.trajectories.0",
  ],
  [
    "Infinity",
    `{"model_id":"${modelId}","trajectory_groups":[{"trajectories":[],"metrics":{"a":Infinity}}]}`,
    "body.trajectory_groups.0",
  ],
  ["no model", body([{ trajectories: [bad] }]).replace("model_id", "model"), "body.model_id"],
  ["no groups", `{"model_id":"${modelId}"}`, "body.trajectory_groups"],
  ["groups that are null", `{"model_id":"${modelId}","trajectory_groups":null}`, "body.trajectory_groups"],
  ["a list", "[]", "body"],
  [
    "a setting out of its range",
    body([], { experimental_config: { advantage_balance: 2 } }),
    "body.experimental_config.advantage_balance",
  ],
])("%s is refused with its location", async (_name, text, loc) => {
  const { status, details } = await refusal(text);
  expect([status, details?.[0]?.loc.join(".")]).toEqual([422, loc]);
});

const whole = body([{ trajectories: [trajectory(1)] }]);
test.each([
  ["nothing", "", 422],
  ["text", "hello", 400],
  ["a number", "7", 422],
  ["half", whole.slice(0, -20), 400],
  ["more than one value", `${whole}{}`, 400],
  ["a missing comma", whole.replace(',"trajectory', '"trajectory'), 400],
  ["a missing colon", whole.replace('"trajectories":', '"trajectories"'), 400],
  ["a trailing comma", whole.replace(/\]\}$/, ",]}"), 400],
  ["mixed brackets", whole.replace(/\}\]\}$/, "]]}"), 400],
  ["a control character in a string", whole.replace("stop", "st\u0001op"), 400],
  [
    "other bytes",
    Buffer.concat([Buffer.from(whole.slice(0, 200)), Buffer.from([0xff]), Buffer.from(whole.slice(200))]),
    400,
  ],
  ["trajectories twice", whole.replace('"trajectories"', '"trajectories":[],"trajectories"'), 400],
  ["deep nesting", whole.replace('"reward"', `"metadata":${"[".repeat(300)}${"]".repeat(300)},"reward"`), 413],
  ["a large setting", body([], { x: "y".repeat(1_100_000) }), 413],
])("%s is refused", async (_name, text, status) => {
  expect((await refusal(text)).status).toBe(status);
});

test("a large body is validated in a thread, with the same result", async () => {
  const groups = Array.from({ length: 100 }, () => ({
    trajectories: [trajectory(1), trajectory(0)],
    logs: ["x".repeat(5000)],
  }));
  const { lines } = await pack(body(groups));
  expect(lines).toHaveLength(300);
  const { details } = await refusal(body([...groups, { trajectories: [{ reward: "much" }] }]));
  expect(details?.[0]?.loc.join(".")).toBe("body.trajectory_groups.100.trajectories.0.reward");
  expect((await refusal(`{"model_id": ${"[".repeat(1_100_000)}`)).status).toBe(413);
}, 20_000);

test("the request is refused before its trajectories are stored if its header is refused", async () => {
  async function* parts() {
    yield Buffer.from(whole);
  }
  const packed = packTrajectories(parts(), async () => Promise.reject(new Problem(404, "no model")), most);
  await expect(packed.next()).rejects.toMatchObject({ status: 404 });
});

test.each([
  ["text", (n: number) => ({ role: "user", content: "x".repeat(n * 20_000) })],
  ["values", (n: number) => ({ role: "user", content: "x", more: Array.from({ length: n * 500 }, () => ({})) })],
])("trajectories that a job could not hold for their %s are refused while they arrive", async (_what, message) => {
  const groups = (n: number) =>
    Array.from({ length: 20 }, () => ({ trajectories: [{ messages_and_choices: [message(n)] }] }));
  expect((await pack(body(groups(10)))).lines).toHaveLength(40);
  await expect(pack(body(groups(30)))).rejects.toMatchObject({
    code: "too_large",
    message: expect.stringContaining("at most 10000000 bytes of memory (twice HEDDLE_WORKING_MEMORY)"),
  });
});
