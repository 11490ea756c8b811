import { gzipSync } from "node:zlib";
import { writes } from "../contract.js";
import type { Operation } from "../contract.js";
import { toHttp } from "../requests.js";
import { checkError, checkResponse } from "../response-check.js";
import type { Fixture } from "../fixture.js";
import type { Case } from "./check.js";

/** Bodies that are not JSON are refused with the reason, and compressed ones are read. */
export function bodyCases(operation: Operation, fixture: Fixture): Case[] {
  const { body, schemas } = operation;
  if (body?.kind !== "json" || body.streamed) return [];
  const request = () => fixture.own.request(operation);
  const refused = (name: string, status: number, text: string): Case => ({
    name,
    run: async () =>
      void checkError(operation, await fixture.send(operation, { ...request(), body: text }), schemas, status),
  });
  const cases = [refused("body that is not JSON", 400, '{"a": ')];
  if (body.required) cases.push(refused("body missing", 422, ""));
  if (writes(operation)) return cases;
  const run = async () => {
    const { body: text, ...parts } = toHttp(operation, request());
    const compressed = new Uint8Array(gzipSync(text as string));
    const exchange = await fixture.sendHttp(
      { ...parts, body: compressed },
      { headers: { "content-encoding": "gzip" } },
    );
    if (exchange.status === 404 || exchange.status === 503) checkResponse(operation, exchange, schemas);
    else checkResponse(operation, exchange, schemas, [operation.success]);
  };
  return [...cases, { name: "body compressed with gzip", run }];
}
