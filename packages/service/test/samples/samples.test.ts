import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { readExactExamples } from "@heddle/tools/exact-examples";
import { operationSamples } from "@heddle/tools/samples";
import type { Sample } from "@heddle/tools/samples";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { seededTenant } from "../isolation/tenants.js";
import type { Tenant } from "../isolation/tenants.js";
import { operations, sampleOf } from "../spec-requests.js";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";
import { openPython, openShell, openTypescript } from "./languages.js";
import type { Language } from "./languages.js";

// The samples of the documentation, each run as it is but for the names: each language has a project of its own that holds
// what they ask for. Python runs where `pnpm python-client` has installed `requests` for it.

const python = process.env["HEDDLE_SAMPLES_PYTHON"];
const examples = readExactExamples(fileURLToPath(new URL("../../../../spec/examples", import.meta.url)));

let service: TestService;
const languages = new Map<Sample["language"], { language: Language; tenant: Tenant }>();

beforeAll(async () => {
  service = await openTestService();
  const environment = { url: await service.listen(), apiKey: service.owner_key };
  const opened = new Map<Sample["language"], Language>([
    ["sh", openShell(environment)],
    ["ts", openTypescript(environment)],
    ...(python === undefined ? [] : [["python", openPython(python, environment)] as const]),
  ]);
  await Promise.all(
    [...opened].map(async ([name, language]) => {
      languages.set(name, { language, tenant: await seededTenant(service, newProject()) });
    }),
  );
});
afterAll(async () => {
  for (const { language } of languages.values()) await language.close();
  await service.close();
});

// The documents list what holds other things before what it holds, so what destroys goes backwards, last.
const inOrder = [
  ...operations.filter(({ destructive }) => !destructive),
  ...operations.filter(({ destructive }) => destructive).toReversed(),
];

describe("samples get the documented response", () => {
  test.each(inOrder)("$id", async (operation) => {
    const { model, success } = operation;
    const isDownload = success.contents.every(({ kind }) => kind === "bytes");
    const samples = operationSamples(model, operation, examples);
    await Promise.all(
      [...languages].map(async ([name, { language, tenant }]) => {
        const file = join(language.directory, "file.bin");
        for (const { title, code } of samples.filter((sample) => sample.language === name)) {
          if (isDownload) rmSync(file, { force: true });
          else writeFileSync(file, "hello");
          const outcome = await language.run(tenant.rename(code));
          expect({ title, ...outcome }).toEqual({ title, statuses: [success.status], output: expect.any(String) });
          if (isDownload) expect(readFileSync(file, "utf8")).toBe(sampleOf(operation, "Response"));
          else expect({ title, output: outcome.output }).not.toEqual({ title, output: "" });
        }
      }),
    );
  });

  test("and break nothing", () => expect(service.unexpected).toEqual([]));
});
