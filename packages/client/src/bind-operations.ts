import type { Connection } from "./connection.js";

type Operations<Client> = {
  [Name in keyof Client]: Client[Name] extends (...rest: infer Rest) => infer Result
    ? (connection: never, ...rest: Rest) => Result
    : never;
};

/** The operations as methods of one object. They need no `this`, so they may be taken out of it. */
export function bindOperations<Client extends object>(connection: Connection, operations: Operations<Client>): Client {
  const bind = ([name, operation]: [string, unknown]) => {
    const call = operation as (connection: Connection, ...rest: unknown[]) => unknown;
    return [name, (...rest: unknown[]) => call(connection, ...rest)];
  };
  return Object.fromEntries(Object.entries(operations).map(bind)) as Client;
}
