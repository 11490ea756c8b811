import { HeddleError } from "@heddle/errors";
import type { HttpRequest } from "@heddle/server-stub";
import type { Config } from "../config/config.js";

const hostPattern = /^(?:[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i;

/**
 * Returns where clients reach the service, without a slash at the end: as the settings say it, else as the request does.
 * Throws `invalid` for a request whose header `Host` is none.
 */
export function publicUrl(config: Pick<Config, "publicUrl">, request: HttpRequest): string {
  if (config.publicUrl !== undefined) return config.publicUrl;
  // A proxy that ends TLS says so, since the service itself speaks plain HTTP. Of peers that are not trusted it is not there.
  const protocol = request.header("x-forwarded-proto") === "https" ? "https" : "http";
  const host = request.header("host") ?? "localhost";
  if (hostPattern.test(host)) return `${protocol}://${host}`;
  throw new HeddleError("invalid", "the header Host must be a name or an address, with or without a port");
}
