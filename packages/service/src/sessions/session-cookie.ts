import type { HttpRequest } from "@heddle/server-stub";
import { isHttpsHost } from "./session-hosts.js";

/** The header with the token of a session. Where a request has it, the session alone decides who sends it. */
export const sessionHeader = "x-heddle-session";

/** Seconds that a browser keeps the cookie; the session itself may end before. */
const keptSeconds = 30 * 86_400;

/**
 * The name of the cookie of a session. Browsers send cookies to every port of a host, so the port is in the name; below
 * https the prefix `__Host-` binds the cookie to the host.
 */
function cookieName(host: string, publicUrls: readonly string[]): string {
  if (isHttpsHost(host, publicUrls)) return "__Host-heddle_session";
  const port = /:(\d+)$/.exec(host)?.[1] ?? "80";
  return `heddle_session_${port}`;
}

/** The values of the cookie of a session that a request has: other servers of the host may have set some of that name. */
export function sessionCookies(request: HttpRequest, publicUrls: readonly string[]): string[] {
  const prefix = `${cookieName(request.header("host") ?? "", publicUrls)}=`;
  const cookies = (request.header("cookie") ?? "").split(/[;,]/).map((cookie) => cookie.trim());
  return cookies.filter((cookie) => cookie.startsWith(prefix)).map((cookie) => cookie.slice(prefix.length));
}

/** Value of `Set-Cookie` that keeps a session; without one it removes the cookie. */
export function setSessionCookie(host: string, publicUrls: readonly string[], value?: string): string {
  const secure = isHttpsHost(host, publicUrls) ? "; Secure" : "";
  const age = value === undefined ? 0 : keptSeconds;
  const name = cookieName(host, publicUrls);
  return `${name}=${value ?? ""}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${age}${secure}`;
}
