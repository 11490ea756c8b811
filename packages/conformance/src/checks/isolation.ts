import { CheckFailure } from "../exchange.js";
import type { Exchange } from "../exchange.js";
import { writes } from "../contract.js";
import type { Operation } from "../contract.js";
import { checkError, checkResponse } from "../response-check.js";
import { secret, withoutNames } from "../tenant.js";
import type { Fixture } from "../fixture.js";
import { namesOne, readersOf } from "../readers.js";
import type { Case } from "./check.js";

/** In one project the ids of another look like ids that nothing has. */
export function isolationCases(operation: Operation, fixture: Fixture): Case[] {
  const { access, schemas } = operation;
  if (access === undefined || access.project === "none" || access.project === "several") return [];
  let first: Promise<Exchange> | undefined;
  // Both checks of a read look at the same response.
  const toUnknown = () => (first ??= fixture.send(operation, fixture.missing.request(operation, fixture.empty.reads)));
  const unknown: Case = {
    name: "unknown ids",
    run: async () => {
      const exchange = await toUnknown();
      const mustBeMissing = !writes(operation) && namesOne(operation);
      if (mustBeMissing) checkError(operation, exchange, schemas, 404);
      else checkResponse(operation, exchange, schemas);
    },
  };
  // The id of a record alone names its project: the key of this run may read both.
  if (access.project === "record") return writes(operation) ? [] : [unknown];
  const target = writes(operation) ? fixture.empty.writes : fixture.empty.reads;
  const foreign: Case = {
    name: "ids of another project",
    run: async () => {
      const readers = operation.destructive ? readersOf(operation, fixture) : [];
      const before = await contentOf(fixture, readers);
      const exchange = await fixture.send(operation, fixture.neighbour.request(operation, target));
      expectNothingOf(exchange);
      checkResponse(operation, exchange, schemas);
      if ((await contentOf(fixture, readers)) !== before) {
        throw new CheckFailure("the other project has changed", { expected: "the other project as before", exchange });
      }
      if (writes(operation)) return;
      const missing = await toUnknown();
      // What ran out of time holds less, whatever it was asked for.
      const ranOut = [exchange, missing].some(({ text }) => text.includes('"complete":false'));
      const [found, expected] = [exchange, missing].map(({ status, text }) =>
        ranOut ? String(status) : `${status} ${withoutNames(text)}`,
      );
      if (found !== expected) {
        const message = "another response than to ids that nothing has";
        throw new CheckFailure(message, { expected: `as to unknown ids: ${expected?.slice(0, 300)}`, exchange });
      }
    },
  };
  return writes(operation) ? [foreign] : [unknown, foreign];
}

/** What the neighbour's project has. */
async function contentOf(fixture: Fixture, readers: readonly Operation[]): Promise<string> {
  const responses = await Promise.all(
    readers.map(async (reader) => fixture.send(reader, fixture.neighbour.request(reader))),
  );
  return JSON.stringify(responses.map(({ status, text }) => [status, text]));
}

function expectNothingOf(exchange: Exchange): void {
  // What a write was sent may be in its response.
  const sent = typeof exchange.request.body === "string" ? exchange.request.body : "";
  if (!exchange.text.includes(secret) || sent.includes(secret)) return;
  throw new CheckFailure("content of another project", { expected: "nothing of another project", exchange });
}
