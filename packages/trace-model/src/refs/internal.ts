import { HeddleError } from "@heddle/errors";
import { decodeString, spaceEnd, stringEnd } from "@heddle/exact-json";
import type { JsonText } from "@heddle/exact-json";

const internalScheme = "weave-trace-internal:///";

/** Gives `entity/project` of an internal project id, or undefined when the caller may not know it. */
export type ProjectOf = (internalId: string) => string | undefined;

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
  let at = text.indexOf('"weave-trace-internal:');
  if (at < 0) return text;
  let result = "";
  let copied = 0;
  while (at >= 0) {
    let next = at + 1;
    if (text[at - 1] !== "\\") {
      const end = stringEnd(text, at);
      const value = decodeString(text, at, end);
      if (text[spaceEnd(text, end)] !== ":" && value.startsWith(internalScheme)) {
        result += text.slice(copied, at) + JSON.stringify(externalRef(value, projectOf));
        copied = end;
        next = end;
      }
    }
    at = text.indexOf('"weave-trace-internal:', next);
  }
  return result + text.slice(copied);
}
