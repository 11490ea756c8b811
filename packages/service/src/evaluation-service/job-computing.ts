import { HeddleError } from "@heddle/errors";
import type { Sharer } from "@heddle/concurrency";
import { ComputingBudget } from "@heddle/concurrency";
import { LRUCache } from "lru-cache";
import { Computing } from "../computing/computing.js";
import type { Config } from "../config/config.js";

/** Budgets of jobs by id: a job that has given its slot back goes on with what it has left. */
const budgets = new LRUCache<string, ComputingBudget>({ max: 10_000 });

/** The computing of one job: in turns with that of other keys and entities, and within the budget of a job. */
export function jobComputing(
  { evaluationComputingMs: ms }: Pick<Config, "evaluationComputingMs">,
  { id, sharer }: { id: string; sharer: Sharer },
): Computing {
  const message = `the templates and scorers of this job have computed for ${ms / 1000} s, which is all that one job may (HEDDLE_EVALUATION_COMPUTING)`;
  const budget = budgets.get(id) ?? new ComputingBudget(ms, () => new HeddleError("too_large", message));
  budgets.set(id, budget);
  return new Computing({ ...sharer, key: `jobs of ${sharer.key}` }, budget);
}
