import type { ModelConfig } from "../model/config.js";
import type { ParameterSet } from "../model/parameters.js";
import type { Constraints } from "@heddle/structured-outputs";
import type { Tokenizer } from "@heddle/chat-format";
import type { WeightsMode } from "./prepared-weights.js";

/** A model with everything that requests on it need. */
export interface SamplerModel {
  config: ModelConfig;
  weights: ParameterSet;
  tokenizer: Pick<Tokenizer, "vocabularySize" | "tokenBytes" | "specialIds" | "eosIds">;
  /** Replaces the end-of-text ids of the tokenizer. */
  eosIds?: readonly number[];
  /** Absent: requests with structured output are rejected with `unsupported`. */
  constraints?: Constraints;
  /**
   * How the decode graph receives its weights. Default: by their size, see `WeightsMode`. The last bits of the logits
   * differ between the modes.
   */
  mode?: WeightsMode | undefined;
}
