import { runConformance } from "@heddle/conformance";
import type { ConformanceOptions, ConformanceReport } from "@heddle/conformance";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";
import { faultsOfReading, plantedFaults, withFaults } from "./faults.js";

// Some thousand requests: a minute where other work runs beside it.
const timeout = 300_000;

let service: TestService;
let otherApiKey: string;
beforeAll(async () => {
  service = await openTestService();
  otherApiKey = await service.key({ role: "admin", entity: "other" });
});
afterAll(() => service.close());

const run = (options: Partial<ConformanceOptions> = {}): Promise<ConformanceReport> =>
  runConformance({
    baseUrl: "http://in-process",
    apiKey: service.owner_key,
    otherApiKey,
    entity: "acme",
    fetch: (input, init) => service.fetch(input, init),
    // What waits longer than this on a busy machine is not a finding.
    timeoutMs: timeout,
    ...options,
  });

/** Failed checks with what was found, by operation. */
function failures({ operations }: ConformanceReport): Record<string, string[]> {
  const failed = operations.filter(({ outcome }) => outcome === "failed");
  return Object.fromEntries(
    failed.map(({ operation, checks }) => [
      operation,
      checks.flatMap(({ name, outcome, message }) => (outcome === "failed" ? [`${name}: ${message}`] : [])),
    ]),
  );
}

test("the service conforms to its own specification, every operation and every check", { timeout }, async () => {
  const report = await run();
  expect(failures(report)).toEqual({});
  const skipped = report.operations.flatMap(({ operation, checks }) =>
    checks.filter(({ outcome }) => outcome === "skipped").map(({ name }) => `${operation}: ${name}`),
  );
  // Its link is one that the service has signed; and what a job lists is pages only if it has read its data by then, or
  // begun to train: a busy machine needs longer for that than the kit waits.
  const expected = ["exportDownload: example", "listTrainingJobEvents: pages", "listTrainingJobRollouts: pages"];
  expect(expected).toEqual(expect.arrayContaining(skipped));
  expect(skipped).toContain("exportDownload: example");
  expect(report.summary).toMatchObject({ failed: 0, not_implemented: 0, passed: report.operations.length });
  expect(report.summary.checks_passed).toBeGreaterThan(2000);
  expect(service.unexpected).toEqual([]);
});

test.each([
  ["requests and responses", () => plantedFaults(service.owner_key, otherApiKey)],
  ["what is read, selected, sorted, streamed and deleted", faultsOfReading],
])("each of many faults of %s is found in the operation that has it, and nowhere else", { timeout }, async (_, of) => {
  const faults = of();
  expect(faults.length).toBeGreaterThanOrEqual(20);
  const fetch = withFaults((input, init) => service.fetch(input, init), faults);
  const sound = ["callEnd", "objCreate", "threadsQueryStream", "modelList", "listArtifactVersions", "getHealth"];
  const report = await run({ fetch, only: [...faults.map(({ operation }) => operation), ...sound] });
  const found = failures(report);
  expect(Object.keys(found).toSorted()).toEqual(faults.map(({ operation }) => operation).toSorted());
  for (const { operation, what, check } of faults) {
    const names = found[operation]?.map((failure) => failure.slice(0, check.length));
    expect(names, `${operation}: ${what}`).toContain(check);
  }
});

test("an ignored filter is found where that operation alone is judged", { timeout }, async () => {
  const faults = faultsOfReading().filter(({ operation }) => operation === "callsQuery");
  const fetch = withFaults((input, init) => service.fetch(input, init), faults);
  expect(Object.keys(failures(await run({ fetch, only: ["callsQuery"] })))).toEqual(["callsQuery"]);
  expect(failures(await run({ only: ["callsQuery"] }))).toEqual({});
});
