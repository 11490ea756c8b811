import { isIP } from "node:net";

/** `10.0.0.0/8`, or an address; undefined for other text. */
export function parseNetwork(
  network: string,
): { address: string; prefix: number; family: "ipv4" | "ipv6" } | undefined {
  const [address = "", given] = network.split("/", 2);
  const version = isIP(address);
  if (version === 0 || address.includes("%")) return undefined;
  const bits = version === 4 ? 32 : 128;
  if (given !== undefined && !/^\d{1,3}$/.test(given)) return undefined;
  const prefix = given === undefined ? bits : Number(given);
  if (prefix > bits || network.split("/").length > 2) return undefined;
  return { address, prefix, family: version === 4 ? "ipv4" : "ipv6" };
}
