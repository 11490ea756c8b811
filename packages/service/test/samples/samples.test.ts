import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { ObjCreateInput } from "@heddle/client/tracing";
import { readExactExamples } from "@heddle/tools/exact-examples";
import { operationSamples } from "@heddle/tools/samples";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { seededTenant } from "../isolation/tenants.js";
import type { Tenant } from "../isolation/tenants.js";
import { shareOf } from "../search-depth.js";
import { operations, signedOperations } from "../spec-requests.js";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";
import { openPython, openShell, openTypescript } from "./languages.js";
import type { Language } from "./languages.js";

// The samples of the documentation, each run as it is but for the names: each language has a project of its own that holds
// what they ask for. The tests run those for the shell and TypeScript; `pnpm python-client` installs `requests` and runs
// those for Python.

const python = process.env["HEDDLE_SAMPLES_PYTHON"];
const examples = readExactExamples(fileURLToPath(new URL("../../../../spec/examples", import.meta.url)));

let service: TestService;
let languages: Language[] = [];
const tenants = new Map<Language, Tenant>();

beforeAll(async () => {
  service = await openTestService();
  const environment = { url: await service.listen(), apiKey: service.owner_key };
  languages =
    python === undefined ? [openShell(environment), openTypescript(environment)] : [openPython(python, environment)];
  await Promise.all(
    languages.map(async (language) => tenants.set(language, await seededTenant(service, newProject()))),
  );
}, 180_000);
afterAll(async () => {
  for (const language of languages) await language.close();
  await service.close();
});

// The documents list what holds other things before what it holds, so what destroys goes backwards, last.
const withSamples = operations.filter(({ id }) => !signedOperations.has(id));
const inOrder = [
  ...withSamples.filter(({ destructive }) => !destructive),
  ...withSamples.filter(({ destructive }) => destructive).toReversed(),
];

/** Every request among the examples of an operation. */
function requestsOf(operationId: string): unknown[] {
  const { document } = operations.find(({ id }) => id === operationId)!.model;
  const all = Object.entries(document.components?.["examples"] as Record<string, { value: unknown }>);
  return all.filter(([name]) => name.startsWith(operationId) && name.endsWith("Request")).map(([, { value }]) => value);
}

test("what the service can evaluate is named by the digests of the examples that store it", async () => {
  const stored: string[] = [];
  for (const { obj } of requestsOf("objCreate") as ObjCreateInput[]) {
    const { digest } = await service.tracing().objCreate({ obj });
    stored.push(`weave:///${obj.project_id}/object/${obj.object_id}:${digest}`);
  }
  const text = JSON.stringify(["evaluateModel", "evaluationsRescore", "callsScore", "objCreate"].flatMap(requestsOf));
  const named = [...new Set(text.match(/weave:\/{3}acme\/demo\/object\/[^"]+/g))];
  expect(named.length).toBeGreaterThan(3);
  expect(stored).toEqual(expect.arrayContaining(named));
});

describe("samples get the documented response", () => {
  test.each(shareOf(inOrder, 7))("$id", async (operation) => {
    const { model, success } = operation;
    const isDownload = success.contents.map(({ kind }) => kind).join() === "bytes";
    const samples = operationSamples(model, operation, examples);
    await Promise.all(
      languages.map(async (language) => {
        const file = join(language.directory, "file.bin");
        const ownSamples = samples.filter((sample) => sample.language === language.name);
        expect(ownSamples.length).toBeGreaterThan(0);
        for (const { title, code } of ownSamples) {
          if (isDownload) rmSync(file, { force: true });
          else writeFileSync(file, "hello");
          const outcome = await language.run(tenants.get(language)!.rename(code));
          expect({ title, ...outcome }).toEqual({ title, statuses: [success.status], output: expect.any(String) });
          // Of files that are made anew each time the example has the beginning.
          const isBeginning = operation.id === "exportModelCheckpoint";
          const end = isBeginning ? String(operation.plan.response).length : undefined;
          if (isDownload) expect(readFileSync(file, "utf8").slice(0, end)).toBe(operation.plan.response);
          else expect({ title, output: outcome.output }).not.toEqual({ title, output: "" });
        }
      }),
    );
  });

  test("and break nothing", () => expect(service.unexpected).toEqual([]));
});
