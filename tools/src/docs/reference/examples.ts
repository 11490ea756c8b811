import type { MediaType, OpenApi } from "../../model/openapi.js";
import { deref } from "../../model/openapi.js";
import { at } from "../../model/pointer.js";
import type { ExactExamples } from "../../samples/exact-examples.js";
import { notations, writeLiteral } from "../../samples/literals.js";
import type { Literal } from "../../samples/literals.js";
import { codeBlock } from "../page/markdown-text.js";

export interface Example {
  /** One line of plain text, or nothing. */
  summary: string;
  value: Literal;
}

/** The examples of a media type, given by the JSON pointer to it, in the order of the document. */
export function examplesAt(document: OpenApi, pointer: string, exact: ExactExamples): Example[] {
  const { value: media, pointer: location } = deref<MediaType>(document, { $ref: `#${pointer}` }, pointer);
  if (media.examples === undefined) return "example" in media ? [{ summary: "", value: media.example as Literal }] : [];
  return Object.entries(media.examples).flatMap(([name, example]) => {
    const found = deref<{ summary?: string; value?: Literal }>(
      document,
      example as { value?: Literal },
      at(location, "examples", name),
    );
    const { summary = "", value } = found.value;
    if (value === undefined) return [];
    return [{ summary, value: exact.get(found.pointer.split("/").at(-1) ?? "") ?? value }];
  });
}

/** The pointer to a media type, from the pointer to its schema. */
export function mediaPointer(schemaPointer: string): string {
  return schemaPointer.replace(/\/schema$/, "");
}

/** The value as JSON text. */
export function exampleText({ value }: Example): string {
  return writeLiteral(value, notations.json, { indent: 0, before: 0 });
}

/** Blocks of code, one for each example. */
export function exampleBlocks(examples: readonly Example[]): string[] {
  return examples.map((example) =>
    codeBlock("json", exampleText(example), example.summary === "" ? "Example" : `Example: ${example.summary}`),
  );
}
