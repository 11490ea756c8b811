import { writes } from "./contract.js";
import type { Operation } from "./contract.js";
import { CheckFailure } from "./exchange.js";
import { storeMore, storeRatedCall, storeRunnable } from "./prerequisites.js";
import { createTenant } from "./tenant.js";
import type { Tenant } from "./tenant.js";
import type { World } from "./world.js";

/** Groups whose examples name what those of other groups make. */
const builtOn: Readonly<Record<string, readonly string[]>> = {
  annotationQueues: ["calls"],
  checkpoints: ["models"],
  trainingJobs: ["models", "artifacts"],
  traceToTraining: ["models"],
  evaluationRuns: ["datasets", "scorers", "models", "evaluations"],
  predictions: ["datasets", "scorers", "models", "evaluations", "evaluationRuns"],
  scores: ["datasets", "scorers", "models", "evaluations", "evaluationRuns", "predictions"],
  evalResults: ["datasets", "scorers", "models", "evaluations", "evaluationRuns", "predictions", "scores"],
  evaluations: ["datasets", "scorers"],
  completeCalls: ["calls"],
  threads: ["calls", "completeCalls"],
  costs: ["calls"],
  feedback: ["calls"],
  refs: ["objects", "tables"],
  projects: ["calls"],
  service: ["calls"],
};

/**
 * Fills projects of the run with everything that the examples make. What a server responds to it is judged later, by the
 * checks; here only what it says of ids is read.
 */
export async function prepare(world: World, judged: readonly Operation[]): Promise<void> {
  const groups = new Set(judged.flatMap(({ group }) => [group, ...(builtOn[group] ?? [])]));
  const seeds = world.contract.operations.filter(
    (operation) => writes(operation) && !operation.destructive && groups.has(operation.group),
  );
  const fill = async (tenant: Tenant) => {
    if (groups.has("evaluationService")) await storeRunnable(world, tenant);
    if (groups.has("traceToTraining")) await storeRatedCall(world, tenant.projectId);
    await sendAll(world, seeds, tenant);
  };
  await Promise.all([fill(world.own), fill(world.neighbour)]);
  await storeMore(world, groups);
  // A project comes into being with the first write to it.
  await Promise.all(
    Object.values(world.empty).map(async (projectId) => {
      for (const seed of ["objCreate", "callStart"]) {
        await world.send(world.operation(seed), createTenant({ projectId }).request(world.operation(seed)));
      }
    }),
  );
}

/**
 * Sends the example of each operation. Digests follow from content, and some ids are the server's: they are learned from
 * responses, so that the second round finds what the first made.
 */
async function sendAll(world: World, seeds: readonly Operation[], tenant: Tenant): Promise<void> {
  for (const seed of [...seeds, ...seeds]) {
    if (world.unserved.has(seed.id)) continue;
    try {
      const { status, text } = await world.send(seed, tenant.request(seed));
      if (status === 501) world.unserved.add(seed.id);
      else if (status === seed.success && text.startsWith("{")) tenant.learn(seed.response, JSON.parse(text));
    } catch (error) {
      // The checks of the operation meet it again and report it.
      if (!(error instanceof CheckFailure || error instanceof SyntaxError)) throw error;
    }
  }
}
