import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { ServerError } from "../engine/server-error.js";

/**
 * The host knows one user, `default`. Its password may come as Basic, in X-ClickHouse-User and -Key,
 * or as `user=` and `password=`. Without a password (Unix socket) every request is accepted.
 */
export function authenticate(
  request: IncomingMessage,
  parameters: URLSearchParams,
  password: string | undefined,
): void {
  if (password === undefined) return;
  const given = credentials(request, parameters);
  if (given.user !== "default" || !equal(given.password, password)) {
    throw ServerError.of(
      516,
      "AUTHENTICATION_FAILED",
      `${given.user}: Authentication failed: password is incorrect, or there is no user with such name.`,
    );
  }
}

function credentials(request: IncomingMessage, parameters: URLSearchParams): { user: string; password: string } {
  const basic = /^Basic (.+)$/i.exec(request.headers.authorization ?? "")?.[1];
  if (basic !== undefined) {
    const text = Buffer.from(basic, "base64").toString();
    const colon = text.indexOf(":");
    return { user: text.slice(0, colon), password: text.slice(colon + 1) };
  }
  return {
    user: header(request, "x-clickhouse-user") ?? parameters.get("user") ?? "default",
    password: header(request, "x-clickhouse-key") ?? parameters.get("password") ?? "",
  };
}

function header(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name];
  return typeof value === "string" ? value : undefined;
}

function equal(left: string, right: string): boolean {
  return timingSafeEqual(digest(left), digest(right));
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
