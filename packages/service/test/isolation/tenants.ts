import { createTenant, secret, storeRatedCall, storeRunnable, withSecret, writes } from "@heddle/conformance/testing";
import * as shared from "@heddle/conformance/testing";
import type { PlanOperation, Tenant as SharedTenant } from "@heddle/conformance/testing";
import { expect, vi } from "vitest";
import { ownerKey } from "../test-service.js";
import { operationOf, operations, toRequest } from "../spec-requests.js";
import type { RequestParts, SpecOperation } from "../spec-requests.js";
import type { TestService } from "../test-service.js";

export { secret };

/** One project with everything that the samples of the spec make in it. */
export interface Tenant {
  project_id: string;
  /** The same text with this tenant's ids in place of those of the samples. */
  rename(text: string): string;
  /** The sample request of an operation, asking for this tenant's ids in a project, by default its own. */
  request(operation: SpecOperation, projectId?: string): RequestParts;
}

/** The key with which examples log in. */
const exampleKey = "Xk3vQ9eB7hTz1mPwR5sYc8nJd2fLg6aUo4iVqK0x";
const rewrite = (text: string) => text.replaceAll(exampleKey, ownerKey);

/** Makes two responses equal that differ in nothing but ids, names and times. */
export function withoutNames(text: string): string {
  return shared
    .withoutNames(text)
    .replace(/\bacme(?:\/|%2F)p-\w+/g, "<project>")
    .replace(/"project":"p-\w+"/g, '"project":"<name>"')
    .replace(/"projects":\["p-\w+"\]/g, '"projects":["<name>"]')
    .replace(/"(secret|prefix|code)":"[\w+/=]+"/g, '"$1":"<secret>"');
}

/** Names that nothing in the service has. */
export const emptyTenant = (projectId: string): Tenant =>
  tenantOf(createTenant({ projectId, isMissing: true, rewrite }));

const tenantOf = (tenant: SharedTenant): Tenant => ({
  project_id: tenant.projectId,
  rename: (text) => tenant.rename(text),
  request: ({ plan }, projectId) => tenant.request(plan, projectId),
});

export interface SeedOptions {
  /** Puts the secret into all content. */
  hidden?: boolean;
  /** Only operations of this group and those it builds on; by default those of all groups. */
  group?: string;
}

/** Groups whose samples name what those of other groups make. */
const builtOn: Record<string, string[]> = {
  annotationQueues: ["calls"],
  feedback: ["calls"],
  shares: ["calls"],
  datasets: ["calls"],
  evaluations: ["datasets", "scorers"],
  evaluationRuns: ["evaluations", "models"],
  predictions: ["evaluationRuns"],
  scores: ["predictions"],
  evaluationService: ["evaluationRuns"],
  evalResults: ["scores", "evaluationService"],
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
  const tenant = createTenant({ projectId, rewrite });
  const sender = {
    operation: (id: string) => operationOf(id).plan,
    send: (plan: PlanOperation, parts: RequestParts) => sendTo(service, plan, parts, service.owner_key),
  };
  if (group === undefined || group === "evaluationService") await storeRunnable(sender, tenant);
  if (group === undefined || group === "traceToTraining") await storeRatedCall(sender, projectId);
  const groups = group === undefined ? undefined : withBasis(group);
  const seeds = operations
    .map(({ plan }) => plan)
    .filter((plan) => writes(plan) && !plan.destructive && (groups?.includes(plan.group) ?? true));
  const sentLast = new Map<PlanOperation, string>();
  const sendSeed = async (seed: PlanOperation) => {
    const text = JSON.stringify(tenant.request(seed));
    if (sentLast.get(seed) === text) return;
    sentLast.set(seed, text);
    const parts = JSON.parse(hidden ? withSecret(text) : text) as RequestParts;
    const response = await sender.send(seed, parts);
    expect([seed.id, response.status, response.text]).toEqual([seed.id, 200, expect.anything()]);
    if (response.text.startsWith("{")) tenant.learn(seed.response, JSON.parse(response.text));
  };
  // Digests follow from content, and some ids are the service's: they are learned from responses. Where that changes a
  // request it is sent again, so that it finds what the first round made.
  for (let round = 0; round < 2; round++) await eachGroup(seeds, sendSeed);
  // What runs in the background must not change the project while it is compared.
  await vi.waitFor(
    async () => {
      const kinds = ["evaluate", "rescore", "score-calls", "rank-calls", "train-rl", "train-sft", "train-preference"];
      const due = await service.services.control.jobs.msToNextDue({ kinds, lease_us: 0n });
      expect(due).toBeUndefined();
    },
    { timeout: 20_000, interval: 50 },
  );
  return tenantOf(tenant);
}

const withBasis = (group: string): string[] => [group, ...(builtOn[group] ?? []).flatMap(withBasis)];

/** In each group one after the other, a group after those that it is built on, and else all at once. */
async function eachGroup(seeds: readonly PlanOperation[], work: (seed: PlanOperation) => Promise<void>): Promise<void> {
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

export const send = (
  service: TestService,
  { plan }: SpecOperation,
  parts: RequestParts,
  key: string | undefined,
): Promise<Sent> => sendTo(service, plan, parts, key);

async function sendTo(
  service: TestService,
  plan: PlanOperation,
  parts: RequestParts,
  key: string | undefined,
): Promise<Sent> {
  const headers: Record<string, string> = key === undefined ? {} : { authorization: `Bearer ${key}` };
  const response = await service.fetch(...toRequest({ plan }, parts, headers));
  return { status: response.status, headers: response.headers, text: await response.text() };
}
