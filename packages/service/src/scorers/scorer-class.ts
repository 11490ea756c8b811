import type { Variables } from "../llm-models/variables.js";

/** A JSON schema with what readers of the documentation need. */
export interface ParameterSchema {
  type: string | readonly string[];
  description: string;
  default?: unknown;
  enum?: readonly string[];
  items?: object;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  maxItems?: number;
}

export type Parameters = Readonly<Record<string, unknown>>;

/** Returns a value for `JSON.stringify`; throws as `Scorer.score` does. Computes, and does nothing else. */
type Score = (variables: Variables) => unknown;

/** A class of scorers that the service runs by itself: all that is said of it anywhere follows from this. */
export interface ScorerClass {
  /** `_class_name` of its objects. */
  name: string;
  /** One sentence for the documentation. */
  description: string;
  /** Names of the values that it reads, which `column_map` may map. */
  reads: readonly string[];
  parameters: Readonly<Record<string, ParameterSchema>>;
  required?: readonly string[];
  /** Members of the result, for the documentation. */
  result: Readonly<Record<string, string>>;
  /**
   * Whether SDKs have a class of this name that does the same: its objects then hold an op `score` and members that the
   * service does not know.
   */
  isSdkClass?: true;
  /** Throws `invalid` for parameters that fit the schema and cannot be used. */
  check?: (parameters: Parameters) => void;
  /** Makes a scorer of parameters that were checked and have their defaults. Absent for a class that asks a model. */
  open?: (parameters: Parameters) => Score;
}
