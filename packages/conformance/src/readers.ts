import { writes } from "./contract.js";
import type { Operation } from "./contract.js";
import type { Fixture } from "./fixture.js";

/** Operations that read one thing of the same group. */
export function readersOf({ group, plan }: Operation, { contract }: Fixture): Operation[] {
  return contract.operations.filter((other) => other.plan === plan && other.group === group && readsOne(other));
}

function readsOne(operation: Operation): boolean {
  return !writes(operation) && (namesOne(operation) || operation.id.endsWith("Read"));
}

/** Whether the response is one thing that the path names, so that there is nothing to respond with without it. */
export function namesOne({ method, path, responses }: Operation): boolean {
  return method === "GET" && path.endsWith("}") && "404" in responses;
}
