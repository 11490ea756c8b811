import { expect, test } from "vitest";
import { statedKind } from "./kind.js";

test.each([
  ['{"weave":{"kind":"llm"}}', "model"],
  ['{"weave":{"kind":"search","client_version":"0.52"}}', "retrieval"],
  ['{"weave":{"kind":"tool"},"kind":"agent"}', "tool"],
  ['{"openinference":{"span":{"kind":"RETRIEVER"}}}', "retrieval"],
  ['{"openinference.span.kind":"EVALUATOR"}', "scorer"],
  ['{"gen_ai":{"operation":{"name":"execute_tool"}}}', "tool"],
  ['{"gen_ai.operation.name":"invoke_agent"}', "agent"],
  ['{"kind":"CHAIN","operation":"chat"}', "model"],
  ['{"kind":"CHAIN"}', undefined],
  ['{"kind":"constructor"}', undefined],
  ['{"kind":["llm"],"operation":null}', undefined],
  ['{"kind":"\\u006clm"}', "model"],
  ['{"weave":{"score":"true","scorer":"x"}}', "scorer"],
  ['{"_weave_eval_meta":{"score":true}}', "scorer"],
  ['{"weave":{"score":"false"},"_weave_eval_meta":{"score":false}}', undefined],
  ['{"otel_span":{"kind":"CLIENT","attributes":{"kind":"tool"}}}', undefined],
  ['{"weave":"kind"}', undefined],
  ["{}", undefined],
])("%s states %s", (attributes, kind) => {
  expect(statedKind(attributes)).toBe(kind);
});
