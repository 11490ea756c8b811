import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { build } from "esbuild";
import { createTracingClient } from "@heddle/client/tracing";
import { chromiumPath, launch } from "../console/browser.js";
import { newProject, openTestService, ownerKey } from "../test-service.js";
import type { TestService } from "../test-service.js";
import { followACall } from "./follow-a-call.js";

let service: TestService;
let url: string;
beforeAll(async () => {
  service = await openTestService({ HEDDLE_TAIL_SECONDS: "60" });
  url = await service.listen();
});
afterAll(() => service.close());
afterEach(() => expect(service.unexpected).toEqual([]));

const seen = {
  arrived: ["agent", "tool"],
  outline: { ids: ["agent", "tool"], parent: [-1, 0], names: ["agent", "tool"] },
  total: { count: 2, errors: 0 },
  pages: [
    ["tool", { "inputs.second": 2 }],
    ["agent", { "inputs.second": 1 }],
  ],
  has_more: false,
  exported: 2,
};

describe("a call is seen to arrive, opened, counted, paged to and exported", () => {
  test("in Node, over a socket", async () => {
    const tracing = createTracingClient({ baseUrl: url, apiKey: ownerKey });
    expect(await followACall(tracing, newProject())).toEqual(seen);
  });

  test.skipIf(chromiumPath === undefined)("in a browser", async () => {
    const { outputFiles } = await build({
      stdin: {
        contents: `
          import { createTracingClient } from "@heddle/client/tracing";
          import { followACall } from "./follow-a-call.ts";
          globalThis.followACall = (projectId, apiKey) =>
            followACall(createTracingClient({ baseUrl: location.origin, apiKey }), projectId);`,
        resolveDir: import.meta.dirname,
      },
      bundle: true,
      write: false,
      format: "iife",
      platform: "browser",
      conditions: ["@heddle/source"],
    });
    const browser = await launch();
    try {
      const page = await browser.newPage();
      await page.route(`${url}/blank`, async (route) => await route.fulfill({ contentType: "text/html", body: "" }));
      await page.goto(`${url}/blank`);
      await page.evaluate(outputFiles[0]?.text ?? "");
      const result = await page.evaluate(`followACall(${JSON.stringify(newProject())}, ${JSON.stringify(ownerKey)})`);
      expect(result).toEqual(seen);
    } finally {
      await browser.close();
    }
  });
});
