/** What every handler gets besides the parts its operation describes. */
export interface Incoming {
  /** Network address of the peer; a proxy's, behind a proxy. Unknown where there is no socket. */
  readonly remoteAddress: string | undefined;
  /** Aborts when the client goes away before the answer is complete. */
  readonly signal: AbortSignal;
}

/** The parts an operation does not have. */
export interface None {
  readonly [none]?: never;
}

declare const none: unique symbol;

/** Body of an operation marked x-heddle-raw-body: what was sent, inflated. */
export interface RawBody {
  bytes: Uint8Array;
  /** Lower case, without parameters. */
  media_type: string;
}

/** An answer that is neither JSON nor a stream of it. */
export type Bytes = Uint8Array | AsyncIterable<Uint8Array>;

/** Handlers by group; whatever is missing answers 501. */
export type PartialHandlers<Handlers> = { readonly [Group in keyof Handlers]?: Partial<Handlers[Group]> };

/** Named schemas of both directions; where a name stands in both, requests win. A side without any is `never`. */
export type SchemasOf<Requests, Answers> = [Requests] extends [never]
  ? Answers
  : [Answers] extends [never]
    ? Requests
    : Omit<Answers, keyof Requests> & Requests;
