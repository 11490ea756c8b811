import { describe, expect, it } from "vitest";
import { valueDigest } from "../digest.js";
import { exampleDigest } from "./example-digest.js";

const row = '{"question":"2+2?","answer":4}';
const digest = valueDigest(row);
const ref = `weave:///acme/demo/object/questions:abc/attr/rows/id/${digest}`;
const op = (name: string) => `weave:///acme/demo/op/${name}:abc`;

describe("the row of a trial", () => {
  it("is the same whether the client sent the row, in any spelling, or its ref", () => {
    const digests = [`{"example":${row}}`, '{"self":"x","example":{ "answer": 4, "question": "2+2?" }}'].map((inputs) =>
      exampleDigest(op("Evaluation.predict_and_score"), inputs),
    );
    digests.push(exampleDigest(op("Evaluation.predictAndScore"), JSON.stringify({ example: ref })));
    const inTable = `weave:///acme/demo/table/abc/id/${digest}`;
    digests.push(exampleDigest(op("Evaluation.predict_and_score"), JSON.stringify({ example: inTable })));
    digests.push(exampleDigest("MyEvaluation.predict_and_score", `{"example":${row}}`));
    expect(new Set(digests)).toEqual(new Set([digest]));
  });

  it("exists also where the example is missing", () => {
    expect(exampleDigest(op("Evaluation.predict_and_score"), "{}")).toBe(valueDigest("null"));
    expect(exampleDigest(op("Evaluation.predict_and_score"), '{"example":"any text"}')).toBe(valueDigest('"any text"'));
  });

  it("does not exist for other calls", () => {
    for (const name of ["Evaluation.evaluate", "Model.predict", "predict_and_score", "Evaluation.predict_and_scores"])
      expect(exampleDigest(op(name), `{"example":${row}}`)).toBe("");
  });
});
