import { expect, test } from "vitest";
import { unspecified } from "./unspecified.js";

test("a request that is no operation of the specification is found, files of the console are none", () => {
  expect(unspecified("POST", "/calls/page")).toBeUndefined();
  expect(unspecified("POST", "/v2/acme/demo/eval_results/compare")).toBeUndefined();
  expect(unspecified("GET", "/v1/preview/training-jobs/x/rollouts")).toBeUndefined();
  expect(unspecified("GET", "/below/console/assets/index.js")).toBeUndefined();
  expect(unspecified("GET", "/calls/page")).toBe("GET /calls/page is no operation");
  expect(unspecified("POST", "/console-only")).toBe("POST /console-only is no operation");
  expect(unspecified("POST", "/below/calls/page", "/below")).toBeUndefined();
});
