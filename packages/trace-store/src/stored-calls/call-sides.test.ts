import { expect, test } from "vitest";
import { callEnd, callStart } from "../../test/call-parts.js";
import { endSide, startSide } from "./call-sides.js";

test("storage size counts bytes, not characters", () => {
  const projectId = "acme/demo";
  const start = startSide(callStart({ project_id: projectId, attributes: "{}", inputs: '{"a":"é"}' }));
  const end = endSide(callEnd({ project_id: projectId, id: "1", output: undefined, summary: "{}" }));
  expect(start.size_bytes + end.size_bytes).toBe(14);
});
