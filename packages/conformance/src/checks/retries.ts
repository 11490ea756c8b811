import { randomUUID } from "node:crypto";
import { CheckFailure } from "../exchange.js";
import type { Exchange } from "../exchange.js";
import type { Operation } from "../contract.js";
import { judgeable } from "../judgeable.js";
import { checkResponse } from "../response-check.js";
import type { Fixture } from "../fixture.js";
import type { Case } from "./check.js";

const header = "X-Weave-Retry-Id";

/** A request that is repeated with its retry id is the same request. */
export function retryCases(operation: Operation, fixture: Fixture): Case[] {
  if (!operation.params.some(({ name }) => name === header)) return [];
  const run = async () => {
    const { params, body } = fixture.own.request(operation);
    const send = async (expected?: object) => {
      const request = {
        params: { ...params, [header]: randomUUID() },
        body: { ...(withoutOwnIds(body) as object), ...expected },
      };
      return { request, first: judgeable(await fixture.send(operation, request), operation, fixture) };
    };
    let { request, first } = await send();
    // The example may have deleted what it selects.
    const actual = first.status === 409 ? actualCount(first) : undefined;
    if (actual !== undefined) ({ request, first } = await send({ expected_count: actual }));
    checkResponse(operation, first, operation.schemas, [operation.success]);
    const exchange = await fixture.send(operation, request);
    checkResponse(operation, exchange, operation.schemas, [operation.success]);
    if (withoutTimes(exchange.text) !== withoutTimes(first.text)) {
      const expected = `the first response: ${first.text.slice(0, 200)}`;
      throw new CheckFailure("another response than to the first request", { expected, exchange });
    }
  };
  return [{ name: "repeated with the same retry id", run }];
}

/** The count of what matches, which a request has to expect. */
function actualCount({ text }: Exchange): number | undefined {
  return (JSON.parse(text) as { actual_count?: number }).actual_count;
}

/** Without the ids that a client may leave to the server. */
function withoutOwnIds(body: unknown): unknown {
  return JSON.parse(JSON.stringify(body), (key, value: unknown) =>
    key === "id" || key === "trace_id" ? undefined : value,
  ) as unknown;
}

function withoutTimes(text: string): string {
  return text.replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "<time>");
}
