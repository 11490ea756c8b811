import { excerpt } from "./excerpt.js";

/** What happened, for people and for programs. */
export interface CauseDescription {
  text: string;
  code: string | undefined;
}

/**
 * Describes why there was no response. `fetch` itself only reports that it failed; the innermost causes say why. Code and
 * host follow in parentheses where their messages leave them out.
 */
export function describeCause(cause: unknown, host: string | undefined): CauseDescription {
  const [first, ...more] = innermost(cause);
  const { name, code } = first as Error & { code?: unknown };
  const ownCode = typeof code === "string" ? code : name === "TimeoutError" ? name : undefined;
  const message = excerpt([first!, ...more].map((each) => each.message).join(", ")) || name;
  const hostname = host?.replace(/:\d*$/, "");
  const missing = [
    ...(typeof code === "string" && !message.includes(code) ? [code] : []),
    ...(hostname && !message.includes(hostname) ? [host] : []),
  ];
  return { text: missing.length > 0 ? `${message} (${missing.join(", ")})` : message, code: ownCode };
}

/** More than one where every address of a host name was tried. */
function innermost(cause: unknown): Error[] {
  if (!(cause instanceof Error)) return [new Error(String(cause))];
  const { errors } = cause as Partial<AggregateError>;
  if (Array.isArray(errors) && errors.length > 0) return errors.flatMap(innermost);
  return cause.cause === undefined ? [cause] : innermost(cause.cause);
}
