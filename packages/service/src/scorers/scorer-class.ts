import type { Variables } from "../llm-models/variables.js";
import type { Services } from "../services.js";

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

/** Returns a value for `JSON.stringify`, or the JSON text itself as `RawJson`; throws as `Scorer.score` does. */
type Score = (variables: Variables, signal: AbortSignal) => unknown;

export interface ScorerContext {
  services: Pick<Services, "store" | "providers" | "completions">;
  projectId: string;
}

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
  /** Makes a scorer of parameters that were checked and have their defaults. */
  open(parameters: Parameters, context: ScorerContext): Score | Promise<Score>;
}
