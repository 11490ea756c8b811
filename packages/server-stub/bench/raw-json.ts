import { gunzipSync, gzipSync } from "node:zlib";
import { linkPlans } from "../src/json/plan.js";
import { readJson } from "../src/json/read.js";
import { hasNoControlCharacters, Scanner } from "../src/json/scan.js";
import { writeJson } from "../src/json/write.js";
import { definition } from "../src/generated/tracing/calls.js";

// How long a batch of calls takes from bytes to validated items with their free JSON as text, compared with JSON.parse.
// Run: npx -y pnpm@10.34.9 exec tsx -C @heddle/source packages/server-stub/bench/raw-json.ts

const inputs = {
  messages: [
    { role: "system", content: "You answer in one sentence.\nBe kind." },
    { role: "user", content: "What holds a fabric together? ".repeat(20) },
  ],
  model: "some-model",
  temperature: 0.7,
  tools: [
    {
      type: "function",
      function: { name: "lookup", parameters: { type: "object", properties: { q: { type: "string" } } } },
    },
  ],
};

function item(index: number): object {
  const id = `0199a0b1-0000-7000-8000-${String(index).padStart(12, "0")}`;
  const call = {
    project_id: "acme/demo",
    id,
    op_name: "weave:///acme/demo/op/chat:2N7W",
    trace_id: id,
    started_at: "2026-04-10T09:00:00.100Z",
  };
  const nulls = {
    display_name: null,
    parent_id: null,
    thread_id: null,
    turn_id: null,
    wb_user_id: null,
    wb_run_id: null,
  };
  const attributes = { weave: { client_version: "0.11.1", source: "js-sdk", os_name: "linux", sdk: [1, 2, 3] } };
  return {
    mode: "start",
    req: { start: { ...call, ...nulls, attributes, inputs: { ...inputs, extra: "x".repeat(560) } } },
  };
}

const text = JSON.stringify({ batch: Array.from({ length: 1000 }, (_, index) => item(index)) });
const bytes = Buffer.from(text);
const megabytes = bytes.length / 1e6;
const plans = linkPlans(definition.plans, definition.validators);
const entry = definition.operations.find(({ id }) => id === "callStartBatch")?.body;
const plan = plans[entry?.plan ?? -1];
const validate = definition.validators[entry?.validator ?? ""];
if (plan === undefined || validate === undefined) throw new Error("run `pnpm generate` first");
const utf8 = new TextDecoder("utf-8", { fatal: true });
const read = readJson(text, plan).value;
if (!validate(read)) throw new Error(JSON.stringify(validate.errors));
const zipped = gzipSync(bytes);

console.log(`${(bytes.length / 1000 / 1000).toFixed(2)} MB, ${Math.round(bytes.length / 1000)} bytes per call`);
report("JSON.parse", () => JSON.parse(text));
report("scan alone (measure)", () => {
  const scanner = new Scanner(text, hasNoControlCharacters(bytes));
  scanner.begin(0);
  return scanner.measure();
});
report("decode, read, validate", () =>
  validate(readJson(utf8.decode(bytes), plan, { noControls: hasNoControlCharacters(bytes) }).value),
);
report("decode, JSON.parse", () => JSON.parse(utf8.decode(bytes)));
report("gunzip", () => gunzipSync(zipped));
report("write (free JSON as text)", () => writeJson(read));
report(
  "JSON.stringify of parsed",
  (
    (value) => () =>
      JSON.stringify(value)
  )(JSON.parse(text)),
);

/** CPU time of this process in milliseconds per megabyte: median of 40 runs, and the best. */
function report(name: string, run: () => unknown): void {
  const times = Array.from({ length: 40 }, () => {
    const start = process.cpuUsage();
    run();
    const { user, system } = process.cpuUsage(start);
    return (user + system) / 1000 / megabytes;
  }).toSorted((a, b) => a - b);
  console.log(
    `${name.padEnd(28)} ${(times[20] ?? 0).toFixed(2).padStart(7)} ms/MB   best ${(times[0] ?? 0).toFixed(2)}`,
  );
}
