import { expect, test } from "vitest";
import { answeredBy, trainedBy } from "./lineage-of.js";

test("a call names the checkpoint that answered it, if one did", () => {
  const of = (heddle: string) => answeredBy(`{"user":"ada","heddle":${heddle}}`);
  expect(of('{"base_model":"b","model_id":"m1","checkpoint_step":12}')).toEqual({ modelId: "m1", step: "12" });
  for (const other of ['{"base_model":"b"}', '{"model_id":"m1"}', '{"model_id":1,"checkpoint_step":2}', '"x"', "[]"])
    expect(of(other)).toBeUndefined();
  expect(of('{"model_id":"m","checkpoint_step":"<b>"}')).toBeUndefined();
  expect(answeredBy("{}")).toBeUndefined();
});

test("the jobs that a call was trained on by are those of its feedback", () => {
  expect(trainedBy('{"job_id":"j","model_id":"m","model":"agent","kind":"rl","reward":1.0}')).toEqual({
    jobId: "j",
    modelId: "m",
    model: "agent",
    kind: "rl",
    reward: "1.0",
  });
  expect(trainedBy('{"job_id":"j","model_id":"m","reward":null}')).toEqual({
    jobId: "j",
    modelId: "m",
    model: "m",
    kind: "",
  });
  expect(trainedBy('{"note":"mine"}')).toBeUndefined();
});
