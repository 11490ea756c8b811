import type { TokenSequence } from "@heddle/training";
import { isJsonObject } from "@heddle/exact-json";
import { unknownOutcome } from "./unknown-outcome.js";

interface Tensor {
  data: number[];
  dtype: "int64" | "float32";
  shape: [number];
}

/** One sequence of the wire. Position i of every tensor belongs to the prediction of the token after input i. */
export interface Datum {
  model_input: { chunks: [{ type: "encoded_text"; tokens: number[] }] };
  loss_fn_inputs: Record<string, Tensor>;
}

/** Number of predictions of a sequence, which is the length of its tensors. */
export function predictions({ tokens }: TokenSequence): number {
  return tokens.length - 1;
}

/**
 * Creates the wire form of a sequence. Every array has an entry per token, as in the port; its first entry is dropped
 * because nothing predicts the first token.
 */
export function datumOf(sequence: TokenSequence, arrays: Record<string, Float64Array>): Datum {
  const tokens = Array.from(sequence.tokens);
  const inputs: Datum["loss_fn_inputs"] = { target_tokens: tensor(tokens.slice(1), "int64") };
  for (const [name, values] of Object.entries(arrays)) inputs[name] = tensor(Array.from(values.subarray(1)), "float32");
  return {
    model_input: { chunks: [{ type: "encoded_text", tokens: tokens.slice(0, -1) }] },
    loss_fn_inputs: inputs,
  };
}

function tensor(data: number[], dtype: Tensor["dtype"]): Tensor {
  return { data, dtype, shape: [data.length] };
}

/**
 * Reads the log-probabilities of a result, aligned with the port: NaN at the first token and at untrained tokens.
 *
 * Throws `failed` when the result does not fit the sequences. JSON has `null` where the server computed NaN: its weights
 * are then unusable, and no later call could tell.
 */
export function readLogprobs(result: Record<string, unknown>, sequences: TokenSequence[]): Float64Array[] {
  const outputs = result["loss_fn_outputs"];
  if (!Array.isArray(outputs) || outputs.length !== sequences.length) {
    throw unknownOutcome(`the training server returned no result for each of ${sequences.length} sequences`);
  }
  return sequences.map((sequence, index) => {
    const output: unknown = outputs[index];
    const values = isJsonObject(output) && isJsonObject(output["logprobs"]) ? output["logprobs"]["data"] : undefined;
    if (!Array.isArray(values) || values.length !== predictions(sequence)) {
      throw unknownOutcome(`the training server returned no log-probability for each token of sequence ${index}`);
    }
    return Float64Array.from(sequence.tokens, (_, t) => {
      if (t === 0) return NaN;
      const value: unknown = values[t - 1];
      if (typeof value !== "number" || !Number.isFinite(value)) {
        throw unknownOutcome(
          `the training server returned ${JSON.stringify(value)} as a log-probability: its weights are not finite`,
        );
      }
      return sequence.mask[t] ? value : NaN;
    });
  });
}
