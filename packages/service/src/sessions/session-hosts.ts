import { isIP } from "node:net";

/** `Example.com:8080` → `example.com`; `[::1]:80` → `::1`. */
function hostName(host: string): string {
  const name = host.replace(/:\d+$/, "").toLowerCase();
  return name.startsWith("[") && name.endsWith("]") ? name.slice(1, -1) : name;
}

/**
 * Whether a browser may use sessions under this `Host`: an address, a name of this machine, or that of a public URL. The
 * owner of any other name could point it at this service, whose pages would then have the origin of it.
 */
export function isKnownHost(host: string, publicUrls: readonly string[]): boolean {
  const name = hostName(host);
  if (isIP(name) !== 0 || name === "localhost" || name.endsWith(".localhost")) return true;
  return publicUrls.some((url) => hostName(new URL(url).host) === name);
}

/** Whether clients reach this host by https, as the settings say it: a forwarded header may be anybody's. */
export function isHttpsHost(host: string, publicUrls: readonly string[]): boolean {
  return publicUrls.some((url) => url.startsWith("https:") && hostName(new URL(url).host) === hostName(host));
}

/** Whether an `Origin` is that of pages of this service. */
export function isOwnOrigin(origin: string, host: string, publicUrls: readonly string[]): boolean {
  if (publicUrls.some((url) => new URL(url).origin === origin)) return true;
  if (!URL.canParse(origin) || isHttpsHost(host, publicUrls)) return false;
  return new URL(origin).host === host.toLowerCase();
}
