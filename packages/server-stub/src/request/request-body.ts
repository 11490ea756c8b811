import { mediaTypeOf, openBody, readBody } from "./body.js";
import { missing, parseJson, parseText } from "./json-body.js";
import type { BodyEntry, GroupDefinition } from "../operations/definition.js";
import type { BodyForm, HttpRequest } from "../http.js";
import type { Plan } from "../json/plan.js";
import type { LinkedGroup } from "../operations/linked-group.js";
import type { JsonBody } from "../json/read.js";
import { readMultipart } from "./multipart.js";
import { Problem } from "../problem.js";
import type { Detail } from "../problem.js";
import { withSuggestions } from "./unknown-keys.js";
import { detailsOf } from "../validation/validation.js";

/** Returns what else is wrong with a body that does not fit its schema in the ways that are given. */
export type FurtherMistakes = (body: unknown, details: readonly Detail[]) => readonly Detail[];

/** Reads, decodes and validates what a request carries. Throws the Problem that says what is wrong with it. */
export async function readRequestBody(
  request: HttpRequest,
  entry: BodyEntry,
  group: LinkedGroup,
  further?: FurtherMistakes,
): Promise<unknown> {
  checkMediaType(request, entry, group.interface);
  if (entry.streamed) {
    return {
      stream: openBody(request, entry.maxBytes),
      mediaType: mediaTypeOf(request) || (entry.mediaTypes[0] ?? ""),
    };
  }
  const bytes = await readBody(request, entry.maxBytes, formOf(entry));
  if (entry.kind === "raw") return { bytes, mediaType: mediaTypeOf(request) || mediaTypeBy(bytes, entry.mediaTypes) };
  if (bytes.length === 0 && !entry.required) return undefined;
  if (bytes.length === 0 && entry.kind === "json") throw missing();
  if (entry.kind === "json")
    return validated(await parseJson(request, bytes, planOf(entry, group)), entry, group, further);
  const value = readMultipart(bytes, request.header("content-type"), entry.files ?? []);
  return validated({ value, mistakes: [], values: 0 }, entry, group);
}

/** What is enough of a body that a framework has read before. */
function formOf({ kind, exact }: BodyEntry): BodyForm {
  if (kind !== "json") return "bytes";
  return exact ? "text" : "value";
}

/** Throws the Problem that lists all that is wrong with the body. */
function validated(
  { value, mistakes }: JsonBody,
  entry: BodyEntry,
  group: LinkedGroup,
  further?: FurtherMistakes,
): unknown {
  const check = entry.validator === undefined ? undefined : group.validators[entry.validator];
  const details = check === undefined || check(value) ? [] : detailsOf(check.errors, ["body"], value);
  if (mistakes.length === 0 && details.length === 0) return value;
  const found = [...mistakes, ...withSuggestions(details, planOf(entry, group))];
  throw Problem.invalid([...found, ...(further?.(value, found) ?? [])]);
}

function planOf({ plan }: BodyEntry, { plans }: LinkedGroup): Plan | undefined {
  return plan === undefined ? undefined : plans[plan];
}

/**
 * Reads JSON text as the body of an operation would be read: for a handler that cuts its body into parts
 * (`x-heddle-streamed-body`). Throws the Problem that says what is wrong with it.
 */
export function readBodyText(group: LinkedGroup, id: string, text: string): unknown {
  const body = group.operations.find((operation) => operation.id === id)?.body;
  if (body?.plan === undefined) throw new TypeError(`${id} has no JSON body`);
  // Such a handler bounds its parts itself.
  const parsed = parseText(text, group.plans[body.plan], { noControls: false, values: Infinity });
  return validated(parsed, body, group);
}

/** The tracing interface reads JSON whatever the header says, because its clients often send none. */
function checkMediaType(request: HttpRequest, entry: BodyEntry, kind: GroupDefinition["interface"]): void {
  if (entry.kind === "json" && kind === "tracing") return;
  const mediaType = mediaTypeOf(request);
  if (entry.kind === "json" && (mediaType === "" || /^application\/([^/]+\+)?json$/.test(mediaType))) return;
  if (entry.mediaTypes.includes(mediaType)) return;
  if (mediaType === "" && entry.kind === "raw") return;
  const wanted = entry.mediaTypes.join(", ");
  throw new Problem(415, `${mediaType || "a body without content-type"} is not supported; send ${wanted}`, {
    headers: { "accept-post": wanted },
  });
}

/** What bytes without content-type are: JSON where they begin like an object and JSON is possible, else another type. */
function mediaTypeBy(bytes: Uint8Array, possible: readonly string[]): string {
  const isObject = bytes.find((byte) => byte > 0x20) === 0x7b;
  return possible.find((type) => type.endsWith("json") === isObject) ?? possible[0] ?? "";
}
