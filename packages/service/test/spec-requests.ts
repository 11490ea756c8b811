import { fileURLToPath } from "node:url";
import { exampleRequest, readContract, toHttp, writes } from "@heddle/conformance/testing";
import type { PlanOperation, RequestParts } from "@heddle/conformance/testing";
import { readModel } from "@heddle/tools/model";
import type { Model, Operation, Schema } from "@heddle/tools/model";

// Tests that go over every operation take it from here: what the spec gains is in them by itself.

const models = ["tracing", "training"].map((name) =>
  readModel(fileURLToPath(new URL(`../../../spec/dist/${name}.json`, import.meta.url))),
);
const plans = new Map(readContract().operations.map((plan) => [plan.id, plan]));

export interface SpecOperation extends Operation {
  model: Model;
  /** The same operation, as requests are made of it. */
  plan: PlanOperation;
}

/** Every operation of both interfaces, in the order of the documents. */
export const operations: SpecOperation[] = models.flatMap((model) =>
  model.operations.map((operation) => Object.assign({}, operation, { model, plan: planOf(operation.id) })),
);

/**
 * Their URL is their key, which is made for a few requests and cannot be guessed: what goes over every operation with samples
 * cannot expect success of them.
 */
export const signedOperations: ReadonlySet<string> = new Set(["exportDownload"]);

function planOf(id: string): PlanOperation {
  const plan = plans.get(id);
  if (plan === undefined) throw new Error(`no operation ${id}`);
  return plan;
}

export function operationOf(id: string): SpecOperation {
  const operation = operations.find((each) => each.id === id);
  if (operation === undefined) throw new Error(`no operation ${id}`);
  return operation;
}

export { writes };
export type { RequestParts, Schema };

/** The sample request of an operation: body and required parameters. */
export const sampleRequest = ({ plan }: SpecOperation): RequestParts => exampleRequest(plan);

/** The parts as arguments of `fetch`. */
export function toRequest(
  { plan }: Pick<SpecOperation, "plan">,
  parts: RequestParts,
  headers: Record<string, string> = {},
): [url: string, init: RequestInit] {
  const { method, target, headers: own, body } = toHttp(plan, parts);
  const init = { method, headers: { ...own, ...headers }, ...(body !== undefined && { body }) };
  return [`http://in-process${target}`, init];
}
