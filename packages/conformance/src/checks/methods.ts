import { CheckFailure } from "../exchange.js";
import type { Operation } from "../contract.js";
import { toHttp } from "../requests.js";
import { checkPathError } from "../response-check.js";
import type { Fixture } from "../fixture.js";
import type { Case } from "./check.js";

/** Other methods on the path of an operation. */
export function methodCases(operation: Operation, fixture: Fixture): Case[] {
  const { method, path, plan } = operation;
  const taken = new Set(plan.operations.filter((other) => other.path === path).map((other) => other.method));
  // Not DELETE, which would delete where a server takes it for another operation.
  const unused = ["PATCH", "PUT", "POST", "GET"].find((candidate) => !taken.has(candidate)) ?? "PATCH";
  const cases: Case[] = [
    {
      name: `method ${unused}`,
      run: async () => {
        const { target } = toHttp(operation, fixture.missing.request(operation));
        const exchange = await fixture.sendHttp({ method: unused, target, headers: {} });
        checkPathError(operation, exchange, 405);
        const allow =
          exchange.headers
            .get("allow")
            ?.split(",")
            .map((name) => name.trim()) ?? [];
        if (allow.includes(method)) return;
        throw new CheckFailure(`allow: ${allow.join(", ")}`, { expected: `a header allow with ${method}`, exchange });
      },
    },
  ];
  if (method !== "GET") return cases;
  const run = async () => {
    const parts = toHttp(operation, fixture.own.request(operation));
    const get = await fixture.sendHttp(parts);
    const exchange = await fixture.sendHttp({ ...parts, method: "HEAD" });
    for (const [what, found, expected] of [
      ["status", exchange.status, get.status],
      ["content-type", exchange.headers.get("content-type"), get.headers.get("content-type")],
      ["length of the body", exchange.bytes.length, 0],
    ] as const) {
      if (found !== expected) {
        throw new CheckFailure(`${what} ${found}`, { expected: `${what} ${expected}, as of GET`, exchange });
      }
    }
  };
  return [...cases, { name: "method HEAD", run }];
}
