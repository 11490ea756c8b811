import type { JsonSchema, SchemaValue } from "../llm-models/schema-value.js";
import type { Variables } from "../llm-models/variables.js";

/** A JSON schema with what readers of the documentation need. */
export interface ParameterSchema extends JsonSchema {
  type: string | readonly string[];
  description: string;
  default?: unknown;
  isRequired?: true;
}

type ParameterSchemas = Readonly<Record<string, ParameterSchema>>;

export type Parameters = Readonly<Record<string, unknown>>;

/** Parameters that were checked and have their defaults. */
type ParametersOf<Schemas> = {
  readonly [Name in keyof Schemas]:
    | SchemaValue<Schemas[Name]>
    | (Schemas[Name] extends { default: unknown } | { isRequired: true } ? never : undefined);
};

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
  parameters: ParameterSchemas;
  /** Members of the result, for the documentation. */
  result: Readonly<Record<string, string>>;
  /**
   * Whether SDKs have a class of this name that does the same: its objects then hold an op `score` and members that the
   * service does not know.
   */
  isSdkClass?: true;
  /** Whether it scores the calls of a group at once, not single outputs. */
  ranksGroups?: true;
  /** Throws `invalid` for parameters that fit the schema and cannot be used. */
  check?: (parameters: Parameters) => void;
  /** Makes a scorer of parameters that were checked and have their defaults. Absent for a class that asks a model. */
  open?: (parameters: Parameters) => Score;
}

interface ScorerDefinition<Schemas> extends Omit<ScorerClass, "parameters" | "check" | "open"> {
  parameters: Schemas;
  check?: (parameters: ParametersOf<Schemas>) => void;
  open?: (parameters: ParametersOf<Schemas>) => Score;
}

/** Describes a class: its code gets its parameters with the types of their schemas. */
export function scorerClass<const Schemas extends ParameterSchemas>({
  check,
  open,
  ...described
}: ScorerDefinition<Schemas>): ScorerClass {
  return {
    ...described,
    ...(check && { check: (parameters) => check(parameters as ParametersOf<Schemas>) }),
    ...(open && { open: (parameters) => open(parameters as ParametersOf<Schemas>) }),
  };
}
