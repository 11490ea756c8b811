import { CheckFailure } from "../exchange.js";
import type { Operation } from "../contract.js";
import { checkError, checkResponse } from "../response-check.js";
import { secret } from "../tenant.js";
import type { Fixture } from "../fixture.js";
import type { Case } from "./check.js";

/** What an operation does for requests without a key, with a wrong one, with one for other projects, and in each form. */
export function accessCases(operation: Operation, fixture: Fixture): Case[] {
  const { schemas, plan, access } = operation;
  if (access === undefined) {
    const run = async () =>
      void checkResponse(
        operation,
        await fixture.send(operation, fixture.own.request(operation), { key: null }),
        schemas,
      );
    return [{ name: "without a key", run: async () => accepted(run) }];
  }
  const unauthorized = (name: string, key: string | null): Case => ({
    name,
    run: async () => {
      const exchange = await fixture.send(operation, fixture.own.request(operation), { key });
      checkError(operation, exchange, schemas, 401);
      if (exchange.headers.has("www-authenticate")) return;
      throw new CheckFailure("no header www-authenticate", { expected: "www-authenticate with a 401", exchange });
    },
  });
  const cases = [unauthorized("without a key", null), unauthorized("with a wrong key", "w".repeat(40))];
  if (fixture.otherApiKey !== undefined) cases.push(...otherKeyCases(operation, fixture, fixture.otherApiKey));
  // All operations share how a key is read: the first one that reads shows it.
  if (operation.id !== plan.operations.find((one) => one.access?.right === "read")?.id) return cases;
  for (const { scheme, name } of plan.security) {
    const run = async () => {
      const headers = credentials(scheme, name, fixture.apiKey);
      const exchange = await fixture.send(operation, fixture.own.request(operation), { key: null, headers });
      if (exchange.status === 401 || exchange.status === 403) {
        throw new CheckFailure(`status ${exchange.status}`, { expected: "the key to be accepted", exchange });
      }
    };
    cases.push({ name: `key as ${scheme === "header" ? `header ${name}` : scheme}`, run });
  }
  return cases;
}

function credentials(scheme: string, name: string | undefined, key: string): Record<string, string> {
  if (scheme === "header") return { [name ?? "authorization"]: key };
  if (scheme === "bearer") return { authorization: `Bearer ${key}` };
  return { authorization: `Basic ${Buffer.from(`api:${key}`).toString("base64")}` };
}

/** A key that may not use a project learns nothing of it. */
function otherKeyCases(operation: Operation, fixture: Fixture, key: string): Case[] {
  const { access, schemas } = operation;
  const name = "with a key of another project";
  if (access === undefined || access.project === "none") return [];
  if (access.project === "items" || access.project === "several") {
    const run = async () => {
      const exchange = await fixture.send(operation, fixture.neighbour.request(operation), { key });
      checkResponse(operation, exchange, schemas);
      if (exchange.text.includes(secret)) {
        throw new CheckFailure("content of the project", { expected: "nothing of the project", exchange });
      }
    };
    return [{ name, run }];
  }
  const status = access.project === "record" ? 404 : 403;
  const run = async () =>
    void checkError(operation, await fixture.send(operation, fixture.own.request(operation), { key }), schemas, status);
  return [{ name, run }];
}

/** A public operation may be refused for other reasons than the key. */
async function accepted(run: () => Promise<void>): Promise<void> {
  try {
    await run();
  } catch (error) {
    if (error instanceof CheckFailure && error.exchange?.status === 503) return;
    throw error;
  }
}
