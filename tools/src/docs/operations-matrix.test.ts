import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readModel } from "../model/read-model.js";
import { operationsMatrix } from "./operations-matrix.js";

const spec = join(import.meta.dirname, "../../../spec");
const models = ["tracing", "training"].map((name) => readModel(join(spec, `dist/${name}.json`)));
const { markdown } = operationsMatrix(models, spec);
const rows = markdown.split("\n").filter((line) => line.includes("](") && line.startsWith("| "));

/** A part of the generated plan. */
interface Plan {
  operations: { id: string; body: { examples: unknown[] }; responses: object }[];
}

test("every operation is one row with its request, client method and handler", () => {
  const operations = models.flatMap(({ name, operations: own }) => own.map((operation) => ({ name, ...operation })));
  expect(rows).toHaveLength(operations.length);
  for (const { name, id, group, method, path } of operations) {
    const found = rows.filter((row) => row.includes(`\`${method.toUpperCase()} ${path}\``));
    expect(found).toEqual([expect.stringContaining(`\`${name}.${id}\``)]);
    expect(found[0]).toContain(`\`${group}.${id}\``);
  }
});

test("what is not marked as an extension is what other clients of these interfaces know", () => {
  const required = readFileSync(join(spec, "test/operations/required.txt"), "utf8").trim().split("\n");
  expect(rows.filter((row) => !row.includes("_extension_"))).toHaveLength(required.length);
  expect(markdown).toContain(`${required.length} are those of the interfaces`);
});

test("every operation shows what the conformance kit judges it by", () => {
  for (const row of rows) expect(row).toMatch(/\| [1-9]\d* requests?, [1-9]\d* responses? \| \d* \|$/);
  const plan = readFileSync(join(spec, "../packages/conformance/src/generated/tracing.js"), "utf8");
  const { operations } = JSON.parse(plan.slice(plan.indexOf("= {") + 2, plan.lastIndexOf(";"))) as Plan;
  const judged = operations.find(({ id }) => id === "costCreate")!;
  const parts = `${judged.body.examples.length} request.*, ${Object.keys(judged.responses).length} responses`;
  expect(rows.find((row) => row.includes("`tracing.costCreate`"))).toMatch(new RegExp(parts));
});

test("stories count for the operations that they use", () => {
  expect(rows.find((row) => row.includes("`tracing.evaluationCreate`"))).toMatch(/\| [1-9]\d* \|$/);
  expect(rows.find((row) => row.includes("`tracing.getCallerLocation`"))).toMatch(/\|  \|$/);
});
