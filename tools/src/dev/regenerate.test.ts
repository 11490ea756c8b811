import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import type { Finding } from "../contract/finding.js";
import { regenerate } from "./regenerate.js";
import { watchDirectories } from "./watch-directories.js";

const root = resolve(import.meta.dirname, "../../..");

const polling = { timeout: 120_000, interval: 100 };

test("while the spec is watched, a new property is in types, validators and plan, and a mistake is named", async () => {
  const repository = mkdtempSync(join(tmpdir(), "heddle-dev-"));
  const ending = new AbortController();
  cpSync(join(root, "spec"), join(repository, "spec"), {
    recursive: true,
    filter: (path) => !/node_modules|dist$|test$/.test(path.slice(root.length)),
  });
  let findings: Finding[] | undefined;
  const errors: unknown[] = [];
  const compiled = new Map<string, string>();
  const run = async () => {
    findings = await regenerate(repository, compiled);
  };
  const watching = watchDirectories([join(repository, "spec")], run, (error) => errors.push(error), {
    signal: ending.signal,
  });
  onTestFinished(async () => {
    ending.abort();
    await watching;
    rmSync(repository, { recursive: true });
  });
  await vi.waitFor(() => expect(findings).toEqual([]), polling);
  const checksBefore = compiled.size;

  const file = join(repository, "spec/tracing/schemas/cost.yaml");
  const source = readFileSync(file, "utf8");
  const property = "      type: integer\n      minimum: 3\n      description: A new one, 3 or more.\n";
  writeFileSync(file, source.replace(/^ {2}properties:\n/m, `  properties:\n    new_property:\n${property}`));
  const generated = (name: string) => readFileSync(join(repository, "packages", name), "utf8");
  await vi.waitFor(() => {
    expect(generated("client/src/generated/tracing-types.ts")).toContain("new_property?: number;");
    expect(generated("server-stub/src/generated/tracing.requests.ts")).toContain("new_property?: number;");
    expect(generated("server-stub/src/generated/validators/tracing/costs.js")).toContain("new_property");
    expect(generated("conformance/src/generated/tracing.js")).toContain("new_property");
  }, polling);
  // The other groups were not compiled again.
  await vi.waitFor(() => expect(compiled.size).toBeGreaterThan(checksBefore), polling);
  expect(compiled.size).toBeLessThan(checksBefore + 5);

  findings = undefined;
  writeFileSync(file, source.replace("type: object", "type: objekt"));
  await vi.waitFor(
    () => expect(findings).toEqual([expect.objectContaining({ file: "tracing/schemas/cost.yaml" })]),
    polling,
  );
  expect(errors).toEqual([]);
}, 240_000);
