import type { ModelConfig } from "../../model/config.js";
import type { ParameterSet } from "../../model/parameters.js";
import type { Constraints } from "../../sampling/structured/constraints.js";
import type { Tokenizer } from "../../text/tokenizer.js";
import type { WeightsMode } from "./prepared-weights.js";

export interface SamplerModel {
  config: ModelConfig;
  weights: ParameterSet;
  tokenizer: Pick<Tokenizer, "vocabularySize" | "tokenBytes" | "specialIds" | "eosIds">;
  /** Instead of the tokenizer's. */
  eosIds?: readonly number[];
  /** Absent: structured output is `unsupported`. */
  constraints?: Constraints;
  /** How the decode graph has its weights; default by their size, see `WeightsMode`. Bits differ between the modes. */
  mode?: WeightsMode;
}
