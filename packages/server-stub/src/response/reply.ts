/** A response with a status or headers of its own; made by `reply`. */
export class Reply<Body> {
  readonly status: number;
  readonly body: Body;
  readonly headers: Record<string, string>;

  constructor(status: number, body: Body, headers: Record<string, string>) {
    this.status = status;
    this.body = body;
    this.headers = headers;
  }
}

/** `return reply(202, body, { "x-should-retry": "false" })`; header names in lower case. */
export function reply<Body>(status: number, body: Body, headers: Record<string, string> = {}): Reply<Body> {
  return new Reply(status, body, headers);
}

/** What a handler returns for a success body `Body`. */
export type Outcome<Body> = Body | Reply<Body> | Promise<Body | Reply<Body>>;
