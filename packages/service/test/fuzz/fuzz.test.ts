import { writeJson } from "@heddle/server-stub";
import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { operations, sampleRequest, signedOperations, toRequest } from "../spec-requests.js";
import type { RequestParts, SpecOperation } from "../spec-requests.js";
import { fuzzRuns, isDeep, shareOf } from "../search-depth.js";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";
import { seededTenant } from "../isolation/tenants.js";
import type { Tenant } from "../isolation/tenants.js";
import { nearly } from "./mutations.js";
import { fromSchema } from "./from-schema.js";
import type { SchemaContext, Words } from "./from-schema.js";
import { expectReadable } from "./read-back.js";
import { seed } from "./seed.js";
import type { Seeded } from "./seed.js";
import { wordsOf } from "./words.js";

// Valid and nearly valid requests for every operation, made from its schemas. The seed is fixed; for a longer search:
//   FUZZ_RUNS=2000 FUZZ_SEED=$RANDOM pnpm vitest run packages/service/test/fuzz
const randomSeed = Number(process.env["FUZZ_SEED"] ?? 20_260_410);
/** Requests of one run, sent at once: concurrency is searched too, and shrinking leads back to a single one. */
const atOnce = isDeep ? 12 : 8;

let service: TestService;
let seeded: Seeded;
let tenant: Tenant;
const rejections: unknown[] = [];
const note = (reason: unknown) => void rejections.push(reason);

beforeAll(async () => {
  process.on("unhandledRejection", note);
  service = await openTestService();
  // One project for all operations. Those that delete come last, and find again what they have deleted.
  const projectId = newProject();
  seeded = await seed(service, projectId);
  tenant = await seededTenant(service, projectId);
});
afterAll(async () => {
  await service.close();
  process.off("unhandledRejection", note);
});

const inOrder = [
  ...operations.filter(({ destructive }) => !destructive),
  ...operations.filter(({ destructive }) => destructive).toReversed(),
];

describe("no request causes an error 500, every response fits the spec, and what was accepted can be read", () => {
  test.each(shareOf(inOrder, 0))("$id", { timeout: 30_000 + fuzzRuns * 2000 }, async (operation) => {
    const sample = tenant.request(operation);
    const requests = fc.array(partsOf(operation, wordsOf(seeded, operation, sample), sample), {
      minLength: isDeep ? 1 : atOnce,
      maxLength: atOnce,
      size: "max",
    });
    const statuses: number[] = [];
    await fc.assert(
      fc.asyncProperty(requests, async (all) => {
        if (operation.destructive) await seed(service, seeded.project_id);
        // Every request is waited for, so that none of a failed run is still on its way in the next.
        const outcomes = await Promise.allSettled(
          all.map(async (parts) => statuses.push(await expectFine(operation, parts, sample))),
        );
        expect(service.unexpected.splice(0)).toEqual([]);
        expect(rejections.splice(0)).toEqual([]);
        for (const outcome of outcomes) if (outcome.status === "rejected") throw outcome.reason;
      }),
      { seed: randomSeed, numRuns: fuzzRuns, interruptAfterTimeLimit: 20_000 + fuzzRuns * 1500 },
    );
    // Requests that validation refuses search nothing behind it.
    const accepted = statuses.filter(
      // What one request has deleted is missing for the next, and what one has made is in the way of another.
      // Of log-ins that fail, few are let through.
      (status) => status < 300 || status === 409 || status === 429 || (operation.destructive && status === 404),
    );
    if (signedOperations.has(operation.id)) return;
    expect(accepted.length / statuses.length).toBeGreaterThan(isDeep ? 0.2 : 0.05);
  });
});

/** Parameters and body of an operation; the body is still a value, so that it can be compared with what is read. */
function partsOf(operation: SpecOperation, words: Words, sample: RequestParts): fc.Arbitrary<RequestParts> {
  const schemas = operation.model.document.components?.schemas ?? {};
  const context: SchemaContext = { schemas, words, generated: new Map() };
  const params = Object.fromEntries(
    operation.params.map(({ name, schema }) => [name, fromSchema(schema, context, name)]),
  );
  const required = operation.params.filter((param) => param.required).map(({ name }) => name);
  const given = fc.record(params, { requiredKeys: required, noNullPrototype: true });
  return fc.record({ params: given, body: bodyOf(operation, context, sample) }, { noNullPrototype: true });
}

function bodyOf(operation: SpecOperation, context: SchemaContext, sample: RequestParts): fc.Arbitrary<unknown> {
  const { body } = operation;
  if (body === undefined) return fc.constant(undefined);
  // What has no schema grows out of its sample.
  if (body.schema === undefined)
    return fc.constant(sampleRequest(operation).body).chain((sample) => nearly(fc.constant(sample)));
  if (body.kind === "multipart") {
    const file = fc.oneof(fc.uint8Array({ maxLength: 64 }), fc.constant(""), fc.constant("hello"));
    const valid = fc.record(
      { project_id: context.words("project_id") ?? fc.string(), file },
      { requiredKeys: ["project_id", "file"], noNullPrototype: true },
    );
    return fc.oneof(
      { arbitrary: valid, weight: 4 },
      fc.tuple(valid, fc.string()).map(([fields, expectedDigest]) => ({ ...fields, expected_digest: expectedDigest })),
    );
  }
  const generated = nearly(fromSchema(body.schema, context));
  // A purge takes few of the conditions that its schema describes, few random trajectories make sense, and many fields of
  // a chat exclude each other.
  const isPicky = /Purge$|Trajectories$|ChatCompletion/.test(operation.id);
  return isPicky ? fc.oneof(nearly(fc.constant(sample.body)), generated) : generated;
}

/** The status of the response; 0 for what no HTTP client can send. */
async function expectFine(operation: SpecOperation, parts: RequestParts, sample: RequestParts): Promise<number> {
  const sent = operation.body?.kind === "multipart" ? parts.body : writeJson(parts.body);
  const body = parts.body === undefined ? undefined : sent;
  const headers = { authorization: `Bearer ${service.owner_key}` };
  const request = attempt(() => new Request(...toRequest(operation, { ...parts, body }, headers)));
  if (request === undefined) return 0;
  const response = await service.fetch(request);
  const text = await response.text();
  expect([response.status, text.slice(0, 500)]).toEqual([
    expect.toSatisfy((status: number) => status < 500),
    expect.anything(),
  ]);
  if (response.ok) await expectReadable(service, operation, parts, text, sample);
  else expectProblem(operation, response.status, text);
  return response.status;
}

/** Every refusal says why, in the error body of its interface. */
function expectProblem({ model }: SpecOperation, status: number, text: string): void {
  const problem = JSON.parse(text) as { reason?: string; detail?: unknown };
  if (status === 422)
    expect(problem.detail).toEqual(expect.arrayContaining([expect.objectContaining({ loc: expect.any(Array) })]));
  else expect(model.interface === "tracing" ? problem.reason : problem.detail).toEqual(expect.any(String));
}

function attempt<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}
