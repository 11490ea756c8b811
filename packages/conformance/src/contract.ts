import { stories } from "./generated/stories.js";
import { tracing } from "./generated/tracing.js";
import { training } from "./generated/training.js";
import type { Plan, PlanOperation, Story } from "./plan.js";
import { Schemas } from "./schemas.js";

/** An operation with what the interface that it is of says of all operations. */
export interface Operation extends PlanOperation {
  plan: Plan;
  schemas: Schemas;
}

export interface Contract {
  /** Of both interfaces, in the order of the documents. */
  operations: readonly Operation[];
  stories: readonly Story[];
}

/** The contract that this package was generated from. */
export function readContract(): Contract {
  const operations = [tracing, training].flatMap((plan) => {
    const schemas = new Schemas(plan);
    return plan.operations.map((operation) => Object.assign({}, operation, { plan, schemas }));
  });
  return { operations, stories };
}

/** Whether an operation changes something: its key needs more than to read. */
export const writes = ({ access }: Pick<PlanOperation, "access">): boolean =>
  access !== undefined && access.right !== "read";
