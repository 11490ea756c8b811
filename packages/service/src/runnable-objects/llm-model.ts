import type { JsonText } from "@heddle/exact-json";

/** What a model returned for one row. */
export interface Prediction {
  /** A text as a JSON string, or the JSON value that the model was asked for. */
  output: JsonText;
  /** The tokens as the provider counted them, by the names of the OpenAI API; absent when it counted none. */
  usage?: Readonly<Record<string, unknown>>;
  /** `llm_model_id` of the model object: `<provider>/<model>`. */
  model: string;
  /** Seconds from the request to the response, retries included. */
  latency: number;
}

/** A stored model that this service can run by itself. */
export interface LlmModel {
  /** `name` of the model object, otherwise its object id. */
  name: string;
  /**
   * Throws a `HeddleError` whose message is fit for users and holds no credentials: `invalid` for a row that lacks a
   * variable of the template, `busy` for a provider that does not respond after all retries, `failed` for a response that
   * cannot be used, `aborted` when `signal` ended it.
   */
  predict(row: JsonText, signal: AbortSignal): Promise<Prediction>;
}
