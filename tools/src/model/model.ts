import type { Access } from "./access.js";
import type { OpenApi } from "./openapi.js";
import type { Parameter } from "./parameters.js";
import type { Body, DescribedResponse } from "./payloads.js";

export const methods = ["get", "put", "post", "delete", "patch"] as const;
export type Method = (typeof methods)[number];

/** One bundled document, checked and read. */
export interface Model {
  /** File name without extension: `tracing`. Generated files start with it. */
  name: string;
  /** Name of the file, for banners: `tracing.json`. */
  source: string;
  interface: "tracing" | "training";
  title: string;
  version: string;
  /** Limit of a request body after inflating, in bytes. */
  maxBodyBytes: number;
  /** In the order of the document's tags. */
  groups: Group[];
  /** In the order of the document. */
  operations: Operation[];
  /** The document itself, for generators that need schemas. */
  document: OpenApi;
}

/** One tag. "Annotation Queues" → key `annotationQueues`, typeName `AnnotationQueues`. */
export interface Group {
  key: string;
  tag: string;
  typeName: string;
  description: string;
  operations: Operation[];
}

export interface Operation {
  /** operationId: a camelCase verb phrase, unique in the document. */
  id: string;
  /** `callStart` → `CallStart`, for names of types. */
  typeName: string;
  group: string;
  tag: string;
  method: Method;
  path: string;
  /** Further spellings of the path (`x-heddle-aliases`). */
  aliases: string[];
  summary: string;
  description: string;
  deprecated: boolean;
  /** Added to the interface that the document is compatible with (`x-heddle-extension`). */
  extension: boolean;
  /** `security: []`: no credential is asked for. */
  public: boolean;
  /** What a key needs; absent for public operations. */
  access?: Access;
  /** What it names cannot be read afterwards (`x-heddle-destructive`). */
  destructive: boolean;
  /** Its errors have the object `error` of the OpenAI API besides the body of the interface. */
  errorObject: boolean;
  /** Its success response holds a secret (`x-heddle-secret`). */
  secret: boolean;
  /** It works with the token of a share (`x-heddle-share`). */
  share: boolean;
  /** JSON pointer to it in the document. */
  pointer: string;
  params: Parameter[];
  body?: Body;
  /** Every described response in the order of the document. */
  responses: DescribedResponse[];
  /** The response with the lowest 2XX status. */
  success: DescribedResponse;
  /** How the success response streams, if it does. */
  stream?: "jsonl" | "sse";
  /** The success response is JSON or, when a stream is requested, the stream. */
  streamOptional: boolean;
  maxBodyBytes: number;
}
