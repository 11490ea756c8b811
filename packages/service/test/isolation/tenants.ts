import { randomBytes, randomUUID } from "node:crypto";
import { expect, vi } from "vitest";
import { ownerKey } from "../test-service.js";
import { operations, sampleOf, sampleRequest, toRequest, writes } from "../spec-requests.js";
import type { RequestParts, SpecOperation } from "../spec-requests.js";
import type { TestService } from "../test-service.js";
import { storeRatedCall } from "./rated-calls.js";
import { storeRunnable } from "./runnable-objects.js";

/** What the samples of the spec name, under other names: one project with everything they make in it. */
export interface Tenant {
  project_id: string;
  /** The same text with this tenant's ids in place of those of the samples. */
  rename(text: string): string;
  /** The sample request of an operation, asking for this tenant's ids in a project, by default its own. */
  request(operation: SpecOperation, project_id?: string): RequestParts;
}

/** Is in all content of a tenant that was filled with it, and in none of its ids. */
export const secret = "only-for-its-owner";

const ids = {
  uuid: /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g,
  digest: /\b(?:[0-9a-f]{64}|(?=[0-9A-Za-z]*\d)[0-9A-Za-z]{43})\b/g,
  span: /\b(?:[0-9a-f]{32}|[0-9a-f]{16})\b/g,
};
const objectName = /\bquestions\b/g;
const content =
  /What is a heddle\?|A part of a loom\.|2\+2\?|café|\bhello\b|\bproduction\b|\breviewed\b|(?<="term":")heddle/g;

/** The key with which examples log in. */
const exampleKey = "Xk3vQ9eB7hTz1mPwR5sYc8nJd2fLg6aUo4iVqK0x";

/** Makes two responses equal that differ in nothing but ids, names and times. */
export function withoutNames(text: string): string {
  return text
    .replace(ids.uuid, "<id>")
    .replace(ids.digest, "<digest>")
    .replace(ids.span, "<id>")
    .replace(/\bquestions-\w+/g, "<name>")
    .replace(/\bacme\/p-\w+/g, "<project>")
    .replace(/"project":"p-\w+"/g, '"project":"<name>"')
    .replace(/"run_id":"\w+"/g, '"run_id":"<id>"')
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "<time>")
    .replace(/"projects":\["p-\w+"\]/g, '"projects":["<name>"]')
    .replace(/"(secret|prefix|code)":"\w+"/g, '"$1":"<secret>"')
    .replace(/"created":\d+/g, '"created":<time>');
}

/** Names that nothing in the service has. */
export function emptyTenant(projectId: string): Tenant {
  const names = new Map<string, string>();
  const missing = (found: string) => remembered(names, found, () => look(found));
  return tenantOf(projectId, randomUUID().slice(0, 8), (text) => text.replace(ids.digest, missing), missing);
}

export interface SeedOptions {
  /** Puts the secret into all content. */
  hidden?: boolean;
  /** Only operations of this group and those it builds on; by default those of all groups. */
  group?: string;
}

/** Groups whose samples name what those of other groups make. */
const builtOn: Record<string, string[]> = {
  annotationQueues: ["calls"],
  evaluations: ["datasets", "scorers"],
  evaluationRuns: ["evaluations", "models"],
  predictions: ["evaluationRuns"],
  scores: ["predictions"],
  evaluationService: ["evaluationRuns"],
  checkpoints: ["models"],
  trainingJobs: ["models", "artifacts"],
  traceToTraining: ["models"],
};

/** A project in which every sample that makes or changes something was sent. */
export async function seededTenant(
  service: TestService,
  projectId: string,
  { hidden = false, group }: SeedOptions = {},
): Promise<Tenant> {
  const names = new Map<string, string>();
  const digests = new Map<string, string>();
  const digest = (text: string) => text.replace(ids.digest, (found) => digests.get(found) ?? found);
  const tenant = tenantOf(projectId, randomUUID().slice(0, 8), digest, (found) =>
    remembered(names, found, () => look(found)),
  );
  if (group === undefined || group === "evaluationService") await storeRunnable(service, tenant, digests);
  if (group === undefined || group === "traceToTraining") await storeRatedCall(service, projectId);
  const groups = group === undefined ? undefined : withBasis(group);
  const seeds = operations.filter(
    (operation) => writes(operation) && !operation.destructive && (groups?.includes(operation.group) ?? true),
  );
  const sentLast = new Map<SpecOperation, string>();
  const sendSeed = async (seed: SpecOperation) => {
    const parts = withoutExpectations(tenant.request(seed));
    if (sentLast.get(seed) === JSON.stringify(parts)) return;
    sentLast.set(seed, JSON.stringify(parts));
    const sent = hidden ? renamed(parts, (text) => text.replace(content, (found) => `${secret} ${found}`)) : parts;
    const response = await send(service, seed, sent, service.owner_key);
    expect([seed.id, response.status, response.text]).toEqual([seed.id, 200, expect.anything()]);
    if (response.text.startsWith("{")) learn(sampleOf(seed, "Response"), JSON.parse(response.text), { digests, names });
  };
  // Digests follow from content, and some ids are the service's: they are learned from responses. Where that changes a
  // request it is sent again, so that it finds what the first round made.
  for (let round = 0; round < 2; round++) await eachGroup(seeds, sendSeed);
  // What runs in the background must not change the project while it is compared.
  await vi.waitFor(
    async () => {
      const due = await service.services.control.jobs.nextDue([
        "evaluate",
        "rescore",
        "score-calls",
        "train-rl",
        "train-sft",
      ]);
      expect(due).toBeUndefined();
    },
    { timeout: 20_000, interval: 50 },
  );
  return tenant;
}

const withBasis = (group: string): string[] => [group, ...(builtOn[group] ?? []).flatMap(withBasis)];

/** In each group one after the other, a group after those that it is built on, and else all at once. */
async function eachGroup(seeds: readonly SpecOperation[], work: (seed: SpecOperation) => Promise<void>): Promise<void> {
  const groups = new Map<string, Promise<void>>();
  const run = async (group: string) => {
    await Promise.all((builtOn[group] ?? []).map(started));
    for (const seed of seeds) if (seed.group === group) await work(seed);
  };
  const started = (group: string): Promise<void> => {
    const running = groups.get(group) ?? run(group);
    groups.set(group, running);
    return running;
  };
  await Promise.all(seeds.map(({ group }) => started(group)));
}

export interface Sent {
  status: number;
  headers: Headers;
  text: string;
}

export async function send(
  service: TestService,
  operation: SpecOperation,
  parts: RequestParts,
  key: string | undefined,
): Promise<Sent> {
  const headers: Record<string, string> = key === undefined ? {} : { authorization: `Bearer ${key}` };
  const response = await service.fetch(...toRequest(operation, parts, headers));
  return { status: response.status, headers: response.headers, text: await response.text() };
}

function tenantOf(
  projectId: string,
  mark: string,
  digest: (text: string) => string,
  name: (found: string) => string,
): Tenant {
  const rename = (text: string, target = projectId) => {
    const [entity = "", project = ""] = target.split("/");
    return digest(text.replaceAll(exampleKey, ownerKey))
      .replace(ids.uuid, name)
      .replace(ids.span, name)
      .replace(objectName, `questions-${mark}`)
      .replace(/\bacme\b/g, entity)
      .replace(/\bdemo\b/g, project);
  };
  return {
    project_id: projectId,
    rename: (text) => rename(text),
    request: (operation, target) => renamed(sampleRequest(operation), (text) => rename(text, target)),
  };
}

function renamed(parts: RequestParts, rename: (text: string) => string): RequestParts {
  return JSON.parse(rename(JSON.stringify(parts))) as RequestParts;
}

/** `expected_digest` belongs to the content of the sample, which a seed may have changed. */
function withoutExpectations(parts: RequestParts): RequestParts {
  return JSON.parse(JSON.stringify(parts), (key, value: unknown) =>
    key === "expected_digest" ? undefined : value,
  ) as RequestParts;
}

/** Notes which digest or id the service gave where the sample response has its own. */
function learn(sample: unknown, actual: unknown, known: Record<"digests" | "names", Map<string, string>>): void {
  if (typeof sample === "string" && typeof actual === "string") {
    if (sample.search(ids.digest) === 0) known.digests.set(sample, actual);
    else if (sample.search(ids.uuid) === 0) known.names.set(sample, actual);
  } else if (typeof sample === "object" && typeof actual === "object" && sample !== null && actual !== null) {
    for (const [key, value] of Object.entries(sample)) learn(value, (actual as Record<string, unknown>)[key], known);
  }
}

/** Another id of the same look. */
function look(id: string): string {
  if (id.includes("-")) return randomUUID();
  if (/^[0-9a-f]+$/.test(id)) return randomBytes(id.length / 2).toString("hex");
  return `0${randomBytes(64)
    .toString("base64")
    .replace(/[^0-9A-Za-z]/g, "")
    .slice(0, 42)}`;
}

function remembered(names: Map<string, string>, key: string, make: () => string): string {
  const value = names.get(key) ?? make();
  names.set(key, value);
  return value;
}
