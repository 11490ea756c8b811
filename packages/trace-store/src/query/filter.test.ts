import { opObjectId } from "@heddle/trace-model";
import { expect, it } from "vitest";
import { Parameters } from "../engine/parameters.js";
import { checkFilter, compileFilter } from "./filter.js";
import type { CallsFilter } from "./filter.js";

function compile(filter: CallsFilter): { conditions: string[]; values: Record<string, unknown> } {
  const p = new Parameters();
  return { conditions: compileFilter(p, filter, "e/p"), values: p.values };
}

it("compiles lists to sets and leaves empty ones out", () => {
  expect(compile({ trace_ids: ["t1", "t2"], parent_ids: [], trace_roots_only: true, wb_user_ids: ["u"] })).toEqual({
    conditions: [
      "trace_id IN ({p0:Array(String)})",
      "user_id IN ({p1:Array(String)})",
      "parent_id IN ({p2:Array(String)})",
    ],
    values: { p0: ["t1", "t2"], p1: ["u"], p2: [""] },
  });
});

it("takes a bare run id for a run of the project", () => {
  expect(compile({ wb_run_ids: ["other/project/r1", "r2"] })).toEqual({
    conditions: ["run_id IN ({p0:Array(String)})"],
    values: { p0: ["other/project/r1", "r2", "e/p/r2"] },
  });
});

const digest = "d".repeat(43);

it("finds every version of an op by its key", () => {
  expect(compile({ op_names: [`weave:///e/p/op/a:${digest}`, "weave:///e/p/op/b:*", "weave:///e/p/op/c"] })).toEqual({
    conditions: ["(op_name IN ({p0:Array(String)}) OR op_key IN ({p1:Array(String)}))"],
    values: { p0: [`weave:///e/p/op/a:${digest}`], p1: ["weave:///e/p/op/b", "weave:///e/p/op/c"] },
  });
});

it("looks up what a label means in the project of the op alone", () => {
  expect(compile({ op_names: ["weave:///other/p/op/a:v1"] }).conditions).toEqual(["op_name IN ({p0:Array(String)})"]);
  const { conditions, values } = compile({ op_names: ["weave:///e/p/op/a:v1"] });
  expect(conditions.join()).toContain("FROM objects FINAL");
  expect(Object.values(values)).toContain("e/p");
});

it.each(["chat gpt-4o", "chat gpt-4o:*"])(
  "takes the bare name %s for every version of an op of the project",
  (name) => {
    expect(compile({ op_names: [name] })).toEqual({
      conditions: ["op_key IN ({p0:Array(String)})"],
      values: {
        p0: [
          "chat gpt-4o",
          "weave:///e/p/op/chat gpt-4o",
          "weave:///e/p/op/chat%20gpt-4o",
          `weave:///e/p/op/${opObjectId("chat gpt-4o")}`,
        ],
      },
    });
  },
);

it("uses the index for refs and compares versions up to the colon", () => {
  expect(compile({ input_refs: ["weave:///e/p/object/a:1", "weave:///e/p/object/b:*", "odd:*"] })).toEqual({
    conditions: [
      "((indexHint(hasAny(input_refs, {p0:Array(String)})) AND arrayExists(ref -> ref IN ({p0:Array(String)}), input_refs)) OR arrayExists(ref -> startsWith(ref, {p1:String}) OR substring(ref, 1, position(ref, ':', 10)) IN ({p2:Array(String)}), input_refs))",
    ],
    values: { p0: ["weave:///e/p/object/a:1"], p1: "odd:", p2: ["weave:///e/p/object/b:"] },
  });
});

it("splits long lists into parameters of at most 64 KB", () => {
  const refs = Array.from({ length: 1000 }, (_, index) => `weave:///e/p/object/${String(index).padStart(230, "x")}:d`);
  const { values } = compile({ output_refs: refs });
  const chunks = Object.values(values).filter(Array.isArray);
  expect(chunks.flat()).toEqual(refs);
  for (const chunk of chunks) expect(JSON.stringify(chunk).length).toBeLessThanOrEqual(64 * 1024);
});

it("refuses a list of more than 1,000 entries and names it", () => {
  const thousand = Array.from({ length: 1000 }, String);
  checkFilter({ call_ids: thousand });
  expect(() => checkFilter({ call_ids: [...thousand, "x"] })).toThrowError(
    expect.objectContaining({ code: "invalid", loc: ["filter", "call_ids"] }),
  );
});

it("refuses lists of more than four million characters together", () => {
  const long = Array.from({ length: 1000 }, () => "x".repeat(2400));
  checkFilter({ op_names: long });
  expect(() => checkFilter({ op_names: long, input_refs: long })).toThrowError(
    expect.objectContaining({ code: "invalid", loc: ["filter", "input_refs", 666] }),
  );
});
