import { CheckFailure } from "../exchange.js";
import type { Operation } from "../contract.js";
import { mutationsOf } from "../mutations.js";
import type { Mutation } from "../mutations.js";
import type { RequestParts } from "../requests.js";
import { checkError } from "../response-check.js";
import type { Fixture } from "../fixture.js";
import type { Case } from "./check.js";

/** Requests that do not fit the spec are refused with the location of what is wrong. */
export function validationCases(operation: Operation, fixture: Fixture): Case[] {
  const request = fixture.own.request(operation);
  const inBody = operation.body?.kind === "json" ? mutationsOf(operation, request.body) : [];
  const mutations = [...parameterMutations(operation), ...inBody];
  return mutations.map((mutation) => ({
    name: mutation.name,
    run: async () => {
      const { parts, status, loc } = mutation;
      const exchange = await fixture.send(operation, { ...request, ...parts(request) });
      const expected = `status ${status}${status === 422 ? ` with loc ${JSON.stringify(loc)}` : ""}`;
      const body = checkError(operation, exchange, operation.schemas, status);
      if (status === 422 && !namesLocation(body, loc)) {
        throw new CheckFailure("no detail has the location", { expected, exchange });
      }
    },
  }));
}

/** Whether a detail is about the location, something in it, or the choice between shapes that it is part of. */
function namesLocation(body: unknown, loc: Mutation["loc"]): boolean {
  const { detail } = body as { detail?: { loc: (string | number)[] }[] };
  return (
    Array.isArray(detail) &&
    detail.some((entry) => {
      const length = Math.min(entry.loc.length, loc.length);
      return length >= 2 && loc.slice(0, length).every((step, index) => String(step) === String(entry.loc[index]));
    })
  );
}

function parameterMutations({ params, schemas }: Operation): Mutation[] {
  const found: Mutation[] = [];
  for (const { name, in: location, required, schema } of params) {
    const loc = [location, name];
    const withValue = (value: unknown) => (request: RequestParts) => ({ params: { ...request.params, [name]: value } });
    if (required && location !== "path") {
      found.push({ name: `${location} ${name} missing`, status: 422, loc, parts: withValue(undefined) });
    }
    const resolved = schemas.resolved(schema);
    const [type] = [resolved.type ?? []].flat();
    if (type === "integer" || type === "number" || type === "boolean") {
      found.push({ name: `${location} ${name} of a wrong type`, status: 422, loc, parts: withValue("x") });
    }
    const { maximum, minimum, enum: choices } = resolved;
    if (typeof maximum === "number") {
      found.push({ name: `${location} ${name} over its limit`, status: 422, loc, parts: withValue(maximum + 1) });
    }
    if (typeof minimum === "number") {
      found.push({ name: `${location} ${name} below its limit`, status: 422, loc, parts: withValue(minimum - 1) });
    }
    if (Array.isArray(choices)) {
      found.push({ name: `${location} ${name} of no choice`, status: 422, loc, parts: withValue("no-such-choice") });
    }
  }
  return found;
}
