import { raw as tracing } from "../generated/tracing-raw.js";
import { raw as training } from "../generated/training-raw.js";
import type { RawPlan, RawPlans } from "./plan.js";
import { readRaw } from "./read-raw.js";

const interfaces: Readonly<Record<string, RawPlans>> = { tracing, training };

/** Parses responses of an operation, or items of its stream, and keeps free JSON as text. */
export function rawParser(name: string, operationId: string): (text: string) => unknown {
  const { plans, operations } = interfaces[name] ?? { plans: [], operations: {} };
  const plan: RawPlan | undefined = plans[operations[operationId] ?? -1];
  return plan === undefined ? (text) => JSON.parse(text) as unknown : (text) => readRaw(text, plan, plans);
}
