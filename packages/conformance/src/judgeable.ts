import type { Operation } from "./contract.js";
import { CheckSkipped } from "./exchange.js";
import type { Exchange } from "./exchange.js";
import type { Fixture } from "./fixture.js";

/** Returns the response to an example. Throws `CheckSkipped` for one that says nothing about the operation. */
export function judgeable(exchange: Exchange, operation: Operation, { unserved }: Fixture): Exchange {
  const { status, text } = exchange;
  if (status === 503) throw new CheckSkipped(`the server cannot serve it now: ${text.slice(0, 120)}`);
  if (status === 400 && operation.needsProvider) {
    throw new CheckSkipped(`the server has no provider for the model of the example: ${text.slice(0, 200)}`);
  }
  if ((status === 401 || status === 404) && operation.public) {
    throw new CheckSkipped("the key, code or link of the example is not one of the server");
  }
  if (status === 404 && unserved.size > 0 && !operation.public) {
    throw new CheckSkipped(`what it reads could not be stored: ${[...unserved].join(", ")} not implemented`);
  }
  return exchange;
}
