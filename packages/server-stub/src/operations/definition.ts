import type { PlanEntry } from "../json/plan.js";
import type { Validator } from "../validation/validation.js";

/** One group of an interface as the generator wrote it. */
export interface GroupDefinition {
  interface: "tracing" | "training";
  /** The name of the group among the handlers: `annotationQueues`. */
  group: string;
  operations: readonly OperationEntry[];
  plans: readonly PlanEntry[];
  /** Checks of requests, by name. */
  validators: Readonly<Record<string, Validator>>;
  /**
   * Checks of responses, by name; loaded when responses are validated. Absent from the modules of single groups: bundlers
   * would carry them.
   */
  responseValidators?: () => Promise<Readonly<Record<string, Validator>>>;
}

export interface OperationEntry {
  id: string;
  group: string;
  method: string;
  /** The path and its further spellings. */
  paths: readonly string[];
  /** Needs no credential. */
  public: boolean;
  /** Errors have the object `error` of the OpenAI API besides the body of the interface. */
  errorObject?: boolean;
  /** It works with the token of a share, for what that shares. */
  share?: boolean;
  /** What a key needs; absent where the operation is public. */
  access?: AccessEntry;
  /** Parameters that the operation reads; absent where it reads none. */
  path?: ParametersEntry;
  query?: ParametersEntry;
  header?: ParametersEntry;
  body?: BodyEntry;
  response: ResponseEntry;
}

export interface AccessEntry {
  right: "read" | "write" | "admin";
  /**
   * Steps to the project in the body, or names of the parameters that form it. `entity`: the optional member of the body
   * with the entity of the project.
   */
  project:
    | { in: "body" | "query" | "header" | "path"; at: readonly string[]; entity?: string }
    | "record"
    | "items"
    | "several"
    | "none";
}

export interface ParametersEntry {
  entries: readonly ParameterEntry[];
  /** Name of the validator of all of them as one object. */
  validator: string;
}

export interface ParameterEntry {
  name: string;
  type: "string" | "integer" | "number" | "boolean";
  array?: boolean;
  default?: unknown;
}

export interface BodyEntry {
  kind: "json" | "multipart" | "raw";
  required: boolean;
  mediaTypes: readonly string[];
  /** After inflating. */
  maxBytes: number;
  /** The handler reads the body as it arrives, and validates it. */
  streamed?: true;
  /** `json`: index into the plans, -1 where the body is read without a plan. */
  plan?: number;
  /** Name of the validator; absent for `raw`. */
  validator?: string;
  /** `json`: parsing and writing it again may change it: it holds free JSON or exact integers. */
  exact?: true;
  /** `multipart`: the parts that are files. */
  files?: readonly string[];
}

export interface ResponseEntry {
  status: number;
  json: boolean;
  stream?: "jsonl" | "sse";
  /** It holds a secret. */
  secret?: true;
  /** Media type of a response that is neither JSON nor a stream of it. */
  bytes?: string;
  /** Name of the validator of the JSON response, and of one item of the stream. */
  validator?: string;
  itemValidator?: string;
}
