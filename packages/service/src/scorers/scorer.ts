import type { JsonText } from "@heddle/exact-json";

/** What a scorer judges. */
export interface Scored {
  /** The row of the dataset; absent when a recorded call is scored. */
  row?: JsonText | undefined;
  /** The inputs of the prediction or of the call. */
  inputs: JsonText;
  output: JsonText;
  /** The recorded call, as `/call/read` returns it. */
  call?: JsonText | undefined;
}

/** A stored scorer that compares the calls of a group. */
export interface Ranking {
  /** As of a scorer. */
  name: string;
  /** Dotted path in calls: equal values make a group. */
  groupBy: string;
  /**
   * Returns the score of each call as JSON text, in their order. `seed` is nothing that the calls could know. Throws as
   * `Scorer.score` does.
   */
  rank(group: readonly Pick<Scored, "inputs" | "output">[], seed: string, signal: AbortSignal): Promise<JsonText[]>;
}

/** A stored scorer that this service can run by itself. */
export interface Scorer {
  /** `name` of the scorer object, otherwise its object id: the key of its scores. */
  name: string;
  /**
   * Returns the score as JSON text. Throws a `HeddleError` whose message is fit for users and holds no credentials:
   * `invalid` for a row that lacks what the scorer needs, `busy` for a provider that does not respond after all retries,
   * `failed` for a judgement that cannot be used, `aborted` when `signal` ended it.
   */
  score(scored: Scored, signal: AbortSignal): Promise<JsonText>;
}
