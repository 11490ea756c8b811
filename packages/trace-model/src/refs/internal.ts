import { HeddleError } from "@heddle/errors";
import { decodeString, spaceEnd, stringEnd } from "@heddle/exact-json";
import type { JsonText } from "@heddle/exact-json";
import { runSteps } from "../steps.js";
import type { Steps } from "../steps.js";

const internalScheme = "weave-trace-internal:///";

/** Gives `entity/project` of an internal project id, or undefined when the caller may not know it. */
export interface ProjectOf {
  (internalId: string): string | undefined;
  /** Long texts that were rewritten before, and why others cannot be. */
  readonly rewritten?: ReadonlyMap<JsonText, JsonText | HeddleError>;
}

/** Refs that are rewritten in one step. */
const refsPerStep = 256;

/** Turns an internal ref into the external one; other text comes back as it is. Throws `invalid` on an unknown id. */
export function externalRef(text: string, projectOf: ProjectOf): string {
  if (!text.startsWith(internalScheme)) return text;
  const slash = text.indexOf("/", internalScheme.length);
  const id = text.slice(internalScheme.length, slash < 0 ? undefined : slash);
  const project = projectOf(id);
  if (project === undefined) throw new HeddleError("invalid", `unknown project in the ref ${text}`);
  return `weave:///${project}${slash < 0 ? "" : text.slice(slash)}`;
}

/** The same for every string value in a JSON text; the rest of the text stays untouched. */
export function externalRefs(text: JsonText, projectOf: ProjectOf): JsonText {
  const known = projectOf.rewritten?.get(text);
  if (known instanceof HeddleError) throw known;
  return known ?? runSteps(externalRefsInSteps(text, projectOf));
}

export function* externalRefsInSteps(text: JsonText, projectOf: ProjectOf): Steps<JsonText> {
  let at = text.indexOf('"weave-trace-internal:');
  if (at < 0) return text;
  const pieces: string[] = [];
  let copied = 0;
  for (let found = 1; at >= 0; found++) {
    if (found % refsPerStep === 0) yield;
    let next = at + 1;
    if (text[at - 1] !== "\\") {
      const end = stringEnd(text, at);
      const value = decodeString(text, at, end);
      if (text[spaceEnd(text, end)] !== ":" && value.startsWith(internalScheme)) {
        pieces.push(text.slice(copied, at), JSON.stringify(externalRef(value, projectOf)));
        copied = end;
        next = end;
      }
    }
    at = text.indexOf('"weave-trace-internal:', next);
  }
  return pieces.join("") + text.slice(copied);
}
