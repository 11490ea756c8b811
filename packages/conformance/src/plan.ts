import type { OperationEntry } from "@heddle/server-stub";

/** One interface of the spec, as far as a judge of servers needs it. Generated from the bundled document. */
export interface Plan {
  interface: "tracing" | "training";
  title: string;
  version: string;
  /** How a key may be sent. `name`: of the header. */
  security: readonly { scheme: "basic" | "bearer" | "header"; name?: string }[];
  /** In the order of the document. */
  operations: readonly PlanOperation[];
  /** Named schemas, without descriptions. */
  schemas: Readonly<Record<string, JsonSchema>>;
}

export interface PlanOperation {
  /** The operationId. */
  id: string;
  group: string;
  /** Upper case. */
  method: string;
  path: string;
  aliases: readonly string[];
  /** Needs no credential. */
  public: boolean;
  /** What a key needs (`x-heddle-access`); absent where the operation is public. */
  access?: NonNullable<OperationEntry["access"]>;
  /** What it names cannot be read afterwards. */
  destructive: boolean;
  /** Its example names a model of a provider, which a server may not have (`x-heddle-needs-provider`). */
  needsProvider: boolean;
  params: readonly PlanParameter[];
  body?: PlanBody;
  /** The example of a success response, of its first media type. */
  response?: unknown;
  /** By status. */
  responses: Readonly<Record<string, PlanResponse>>;
  /** Status of the success response. */
  success: number;
  stream?: "jsonl" | "sse";
  /** The example of one item of the stream. */
  item?: unknown;
  /** The success response is JSON or, when a stream is requested, the stream. */
  streamOptional: boolean;
  readBack?: ReadBack;
}

interface PlanParameter {
  name: string;
  in: "path" | "query" | "header";
  required: boolean;
  schema: JsonSchema;
  example?: unknown;
}

interface PlanBody {
  kind: "json" | "multipart" | "raw";
  required: boolean;
  mediaTypes: readonly string[];
  /** Absent for `raw`. */
  schema?: JsonSchema;
  /** The handler of the service reads the body as it arrives. */
  streamed: boolean;
  /** The first one is sent to prepare a project. */
  examples: readonly PlanExample[];
}

interface PlanExample {
  name: string;
  mediaType: string;
  value: unknown;
}

export interface PlanResponse {
  contents: readonly { mediaType: string; kind: "json" | "jsonl" | "sse" | "bytes"; schema?: JsonSchema }[];
}

/** The link `readBack` of a success response: how to read what was written, and what the reading must show. */
interface ReadBack {
  operationId: string;
  requestBody: Readonly<Record<string, string>>;
  "x-heddle-shows": readonly string[];
}

/** JSON schema with the extensions that change what is validated. */
export interface JsonSchema {
  $ref?: string;
  type?: string | readonly string[];
  properties?: Readonly<Record<string, JsonSchema>>;
  required?: readonly string[];
  additionalProperties?: boolean | JsonSchema;
  items?: JsonSchema;
  allOf?: readonly JsonSchema[];
  anyOf?: readonly JsonSchema[];
  oneOf?: readonly JsonSchema[];
  "x-heddle-raw-json"?: boolean;
  "x-heddle-max-items"?: number;
  [keyword: string]: unknown;
}

/** A workflow of an Arazzo document. */
export interface Story {
  /** workflowId */
  id: string;
  steps: readonly StoryStep[];
}

export interface StoryStep {
  id: string;
  operationId: string;
  /** By name; values may be runtime expressions. */
  params: Readonly<Record<string, unknown>>;
  /** May hold runtime expressions. */
  payload?: unknown;
  /** Both sides of each `==`. A side is a runtime expression or JSON. */
  conditions: readonly { left: string; right: string }[];
  /** Runtime expressions by name. */
  outputs: Readonly<Record<string, string>>;
}
