import { deref } from "./openapi.js";
import type { MediaType, OpenApi, OperationObject, RequestBodyObject, ResponseObject, Schema } from "./openapi.js";
import { at } from "./pointer.js";
import { UnsupportedSpecError } from "./unsupported-spec-error.js";

export interface Body {
  /**
   * `json`: parsed and validated. `multipart`: form parts. `raw`: bytes as sent (`x-heddle-raw-body`), after
   * content-decoding.
   */
  kind: "json" | "multipart" | "raw";
  required: boolean;
  /** The handler reads the body as it arrives (`x-heddle-streamed-body`), and validates it. */
  streamed: boolean;
  /** Media types in the order of the document. */
  mediaTypes: string[];
  /** Absent for `raw`. */
  schema?: Schema;
  /** JSON pointer to `schema`. */
  pointer: string;
}

export interface DescribedResponse {
  status: number;
  description: string;
  /** Empty when the response has no body. */
  contents: Content[];
  headers: string[];
}

export interface Content {
  mediaType: string;
  /** `jsonl` and `sse`: `schema` describes one item. `bytes`: anything else but JSON. */
  kind: "json" | "jsonl" | "sse" | "bytes";
  schema?: Schema;
  /** JSON pointer to `schema`. */
  pointer: string;
}

export function readBody(document: OpenApi, operation: OperationObject, pointer: string): Body | undefined {
  if (operation.requestBody === undefined) {
    for (const extension of ["x-heddle-raw-body", "x-heddle-streamed-body"] as const) {
      if (operation[extension]) throw new UnsupportedSpecError(pointer, `${extension} without a requestBody`);
    }
    return undefined;
  }
  const body = deref<RequestBodyObject>(document, operation.requestBody, at(pointer, "requestBody"));
  const content = at(body.pointer, "content");
  const media = Object.entries(body.value.content ?? {});
  const mediaTypes = media.map(([name]) => name);
  const [first, ...more] = media;
  if (first === undefined) throw new UnsupportedSpecError(content, "a request body needs a media type");
  const required = body.value.required === true;
  const streamed = operation["x-heddle-streamed-body"] === true;
  if (operation["x-heddle-raw-body"]) return { kind: "raw", required, streamed, mediaTypes, pointer: content };
  const [mediaType, { schema }] = first;
  const kind =
    mediaType === "application/json" ? "json" : mediaType === "multipart/form-data" ? "multipart" : undefined;
  if (kind === undefined) {
    throw new UnsupportedSpecError(
      at(content, mediaType),
      "only JSON and multipart bodies are read; mark others x-heddle-raw-body",
    );
  }
  if (more.length > 0)
    throw new UnsupportedSpecError(content, "one media type per request body; mark others x-heddle-raw-body");
  if (schema === undefined) throw new UnsupportedSpecError(at(content, mediaType), "a request body needs a schema");
  if (streamed && kind === "multipart")
    throw new UnsupportedSpecError(content, "a form cannot be x-heddle-streamed-body");
  return { kind, required, streamed, mediaTypes, schema, pointer: at(content, mediaType, "schema") };
}

export function readResponses(document: OpenApi, operation: OperationObject, pointer: string): DescribedResponse[] {
  return Object.entries(operation.responses ?? {}).flatMap(([status, value]) => {
    const response = deref<ResponseObject>(document, value, at(pointer, "responses", status));
    if (status === "default") return [];
    if (!/^[1-5]\d\d$/.test(status)) {
      throw new UnsupportedSpecError(
        at(pointer, "responses", status),
        "responses are named by their status; ranges are not supported",
      );
    }
    return [
      {
        status: Number(status),
        description: response.value.description ?? "",
        contents: Object.entries(response.value.content ?? {}).map(([mediaType, media]) =>
          readContent(mediaType, media, at(response.pointer, "content", mediaType)),
        ),
        headers: Object.keys(response.value.headers ?? {}),
      },
    ];
  });
}

function readContent(mediaType: string, media: MediaType, pointer: string): Content {
  const kind = contentKinds[mediaType] ?? "bytes";
  if ("itemSchema" in media)
    throw new UnsupportedSpecError(at(pointer, "itemSchema"), "let `schema` describe one item instead");
  if (kind !== "bytes" && media.schema === undefined)
    throw new UnsupportedSpecError(pointer, `${mediaType} needs a schema`);
  return { mediaType, kind, ...(media.schema && { schema: media.schema }), pointer: at(pointer, "schema") };
}

const contentKinds: Record<string, Content["kind"]> = {
  "application/json": "json",
  "application/jsonl": "jsonl",
  "text/event-stream": "sse",
};
