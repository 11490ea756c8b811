/** What every handler gets besides the parts its operation describes. */
export interface Incoming {
  /** Id of the request, as in `x-request-id` of the response; undefined without an adapter. */
  readonly requestId: string | undefined;
  /** Network address of the peer; a proxy's, behind a proxy. Unknown where there is no socket. */
  readonly remoteAddress: string | undefined;
  /** Aborts when the client disconnects before the response is complete. */
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
  mediaType: string;
}

/** Body of an operation marked x-heddle-streamed-body: what is sent, inflated. */
export interface StreamedBody {
  /** Throws a `Problem` for what cannot be inflated and beyond the limit of the operation. Can be read once. */
  stream: AsyncIterable<Uint8Array>;
  /** Lower case, without parameters. */
  mediaType: string;
}

/** A response that is neither JSON nor a stream of it. */
export type Bytes = Uint8Array | AsyncIterable<Uint8Array>;

/** Handlers by group; a missing one responds with 501. */
export type PartialHandlers<Handlers> = { readonly [Group in keyof Handlers]?: Partial<Handlers[Group]> };

/** Named schemas of both directions; where a name is in both, requests win. A side without any is `never`. */
export type SchemasOf<Requests, Responses> = [Requests] extends [never]
  ? Responses
  : [Responses] extends [never]
    ? Requests
    : Omit<Responses, keyof Requests> & Requests;
