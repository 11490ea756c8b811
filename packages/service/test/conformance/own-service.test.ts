import { runConformance } from "@heddle/conformance";
import { writeFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";

let service: TestService;
beforeAll(async () => {
  service = await openTestService();
});
afterAll(() => service.close());

test("the service conforms to its own spec", async () => {
  const report = await runConformance({
    baseUrl: "http://in-process",
    apiKey: service.owner_key,
    otherApiKey: await service.key({ role: "admin", entity: "other" }),
    entity: "acme",
    fetch: (input, init) => service.fetch(input, init),
  });
  writeFileSync("/tmp/conf-report.json", JSON.stringify(report, null, 1));
  console.log(report.summary, report.duration_ms, process.cpuUsage());
  expect(service.unexpected).toEqual([]);
}, 400_000);
