import { HeddleError } from "@heddle/errors";
import { exceedsNesting } from "@heddle/exact-json";
import type { OutgoingResponse } from "./outgoing.js";
import type { ConnectedProvider } from "./providers.js";

const maxErrorLength = 1000;
/** As deep as free JSON may be. */
const maxNesting = 200;

/** The body of a response as a JSON object. Throws `failed` for any other body. */
export function jsonObject({ body }: OutgoingResponse): Record<string, unknown> {
  const value = parsed(body.toString("utf8"));
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new HeddleError("failed", "the response is not a JSON object");
}

/** What a response with an error status says, without the key of the provider. */
export function errorText({ status, body }: OutgoingResponse, provider: ConnectedProvider): string {
  const message = messageOf(parsed(body.toString("utf8")));
  const text = message === undefined ? `status ${status}` : `status ${status}: ${message}`;
  return provider.withoutKey(text).slice(0, maxErrorLength);
}

/** Undefined for text that is not JSON, or nested too deeply to be kept. */
function parsed(text: string): unknown {
  try {
    return exceedsNesting(text, maxNesting) ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Servers put it in different members. */
function messageOf(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  if (typeof value !== "object" || value === null) return undefined;
  const { error, message, detail } = value as Record<string, unknown>;
  return messageOf(error) ?? messageOf(message) ?? messageOf(detail);
}
