import { CheckFailure, CheckSkipped } from "../exchange.js";
import type { Exchange } from "../exchange.js";
import type { Operation } from "../contract.js";
import { judgeable } from "../judgeable.js";
import { checkResponse } from "../response-check.js";
import type { Fixture } from "../fixture.js";
import { namesOne, readersOf } from "../readers.js";
import type { Case } from "./check.js";

/** The examples of an operation have the success response that is described, under every path and as a stream. */
export function exampleCases(operation: Operation, fixture: Fixture): Case[] {
  const { body, stream, streamOptional, aliases, schemas } = operation;
  const request = () => fixture.own.request(operation);
  const success = (exchange: Exchange) =>
    void checkResponse(operation, judgeable(exchange, operation, fixture), schemas);
  const cases: Case[] = [
    {
      name: "example",
      run: async () => {
        const there =
          operation.method === "DELETE" ? await readable(readersOfDeleted(operation, fixture), fixture) : [];
        const exchange = judgeable(await fixture.send(operation, request()), operation, fixture);
        checkResponse(operation, exchange, schemas, [operation.success]);
        await expectGone(there, fixture);
      },
    },
  ];
  // Further examples may show refused items and the like: any described response will do.
  for (const { name, mediaType, value } of body?.examples.slice(1) ?? []) {
    const run = async () =>
      success(await fixture.send(operation, { ...request(), body: fixture.own.renamed(value), mediaType }));
    cases.push({ name: `example ${name}`, run });
  }
  for (const alias of aliases) {
    const run = async () => {
      const exchange = await fixture.send({ ...operation, path: alias }, request());
      checkResponse(operation, judgeable(exchange, operation, fixture), schemas, [operation.success]);
    };
    cases.push({ name: `path ${alias}`, run });
  }
  if (stream !== undefined && streamOptional) {
    const run = async () => {
      const { params, body: example } = request();
      const exchange = await fixture.send(operation, { params, body: { ...(example as object), stream: true } });
      const value = checkResponse(operation, judgeable(exchange, operation, fixture), schemas, [operation.success]);
      if (!Array.isArray(value)) throw new CheckSkipped("no stream although one was requested");
    };
    cases.push({ name: "example as a stream", run });
  }
  return cases;
}

/** Operations that read the thing that another one deletes: their paths name at least as much. */
function readersOfDeleted(operation: Operation, fixture: Fixture): Operation[] {
  const named = ({ params }: Operation) => params.filter((param) => param.in === "path").map(({ name }) => name);
  return readersOf(operation, fixture).filter(
    (reader) => namesOne(reader) && named(operation).every((name) => named(reader).includes(name)),
  );
}

/** Those of the operations whose example has a success response. */
async function readable(readers: readonly Operation[], fixture: Fixture): Promise<Operation[]> {
  const statuses = await Promise.all(
    readers.map(async (reader) => (await fixture.send(reader, fixture.own.request(reader))).status),
  );
  return readers.filter(({ success }, index) => statuses[index] === success);
}

/** What was deleted cannot be read: the examples of a group are about the same thing. */
async function expectGone(readers: readonly Operation[], fixture: Fixture): Promise<void> {
  if (readers.length === 0) return;
  const exchanges = await Promise.all(readers.map(async (reader) => fixture.send(reader, fixture.own.request(reader))));
  const stillThere = exchanges.filter(({ status }, index) => status === readers[index]?.success);
  if (stillThere.length < readers.length) return;
  const expected = "another response to those who read it than before";
  throw new CheckFailure("what was deleted can still be read", { expected, exchange: stillThere[0] });
}
