import { writes } from "./contract.js";
import type { Operation } from "./contract.js";
import { CheckFailure } from "./exchange.js";
import { storeExactly } from "./store-exactly.js";
import { storeMore, storeRatedCall, storeRunnable } from "./prerequisites.js";
import { createTenant } from "./tenant.js";
import type { Tenant } from "./tenant.js";
import type { Fixture } from "./fixture.js";

/**
 * Fills projects of the run with everything that the examples make. What a server responds to it is judged later, by the
 * checks; here only what it says of ids is read.
 */
export async function prepare(fixture: Fixture, judged: readonly Operation[]): Promise<void> {
  const seeds = seedsOf(fixture.contract.operations, judged);
  const groups = new Set([...judged, ...seeds].map(({ group }) => group));
  const fill = async (tenant: Tenant) => {
    if (groups.has("evaluationService")) await attempt(() => storeRunnable(fixture, tenant));
    if (groups.has("traceToTraining")) await attempt(() => storeRatedCall(fixture, tenant.projectId));
    await sendAll(fixture, seeds, tenant);
  };
  await Promise.all([fill(fixture.own), fill(fixture.neighbour)]);
  await attempt(() => storeMore(fixture, groups));
  await attempt(() => storeExactly(fixture, groups));
  // A project comes into being with the first write to it.
  await Promise.all(
    Object.values(fixture.empty).flatMap((projectId) =>
      ["objCreate", "callStart"].map(async (id) => {
        const seed = fixture.operation(id);
        await attempt(() => fixture.send(seed, createTenant({ projectId }).request(seed)));
      }),
    ),
  );
}

/** Ignores failures: the checks of the operation meet them again and report them. */
async function attempt(work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof CheckFailure || error instanceof SyntaxError)) throw error;
  }
}

/**
 * Sends the example of each operation. Digests follow from content, and some ids are the server's: they are learned from
 * responses, so that the second round finds what the first made.
 */
async function sendAll(fixture: Fixture, seeds: readonly Operation[], tenant: Tenant): Promise<void> {
  for (const seed of [...seeds, ...seeds]) {
    if (fixture.unserved.has(seed.id)) continue;
    await attempt(async () => {
      const { status, text } = await fixture.send(seed, tenant.request(seed));
      if (status === 501) fixture.unserved.add(seed.id);
      else if (status === seed.success && text.startsWith("{")) tenant.learn(seed.response, JSON.parse(text));
    });
  }
}

const id = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\b[0-9A-Za-z]{43,64}\b/g;

/**
 * Operations that make what the examples of others name: those of their groups, those that have an id of their requests in
 * an example, and so on.
 */
function seedsOf(operations: readonly Operation[], judged: readonly Operation[]): Operation[] {
  const writing = operations.filter((operation) => writes(operation) && !operation.destructive);
  const groups = new Set(judged.map(({ group }) => group));
  const named = new Set(judged.flatMap((operation) => namedBy(operation)));
  const found = new Set<Operation>();
  for (let size = -1; size < found.size;) {
    size = found.size;
    for (const operation of writing) {
      const known = [...namedBy(operation), ...idsIn(operation.response)];
      if (!groups.has(operation.group) && !known.some((one) => named.has(one))) continue;
      found.add(operation);
      for (const one of namedBy(operation)) named.add(one);
    }
  }
  return writing.filter((operation) => found.has(operation));
}

/** Ids and digests in the example request of an operation. */
function namedBy({ params, body }: Operation): string[] {
  return idsIn([params.filter(({ required }) => required).map(({ example }) => example), body?.examples[0]?.value]);
}

function idsIn(value: unknown): string[] {
  return value === undefined ? [] : (JSON.stringify(value).match(id) ?? []);
}
