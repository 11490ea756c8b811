import { deref } from "../../model/openapi.js";
import type { MediaType, OpenApi } from "../../model/openapi.js";
import { at } from "../../model/pointer.js";

export interface Example {
  /** One line of plain text, or nothing. */
  summary: string;
  value: unknown;
}

/** The examples of a media type, given by the JSON pointer to it, in the order of the document. */
export function examplesAt(document: OpenApi, pointer: string): Example[] {
  const { value: media, pointer: location } = deref<MediaType>(document, { $ref: `#${pointer}` }, pointer);
  if (media.examples === undefined) return "example" in media ? [{ summary: "", value: media.example }] : [];
  return Object.entries(media.examples).flatMap(([name, example]) => {
    const { value } = deref<{ summary?: string; value?: unknown }>(
      document,
      example as { $ref: string },
      at(location, "examples", name),
    );
    return "value" in value ? [{ summary: value.summary ?? "", value: value.value }] : [];
  });
}

/** The pointer to a media type, from the pointer to its schema. */
export function mediaPointer(schemaPointer: string): string {
  return schemaPointer.replace(/\/schema$/, "");
}
