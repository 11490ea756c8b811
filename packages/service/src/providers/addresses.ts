import type { LookupAddress } from "node:dns";
import { lookup } from "node:dns/promises";
import { BlockList, isIP } from "node:net";
import type { LookupFunction } from "node:net";
import { callbackify } from "node:util";
import { HeddleError } from "@heddle/errors";

/** Networks that no server on the public internet has: RFC 6890 and its successors. */
const ipv4Networks: ReadonlyArray<readonly [network: string, prefix: number]> = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4],
];

/** Public IPv6 addresses are in 2000::/3; within it, these tunnel to other addresses or document. */
const ipv6Networks: ReadonlyArray<readonly [network: string, prefix: number]> = [
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["3fff::", 20],
];

const privateNetworks = new BlockList();
for (const [network, prefix] of ipv4Networks) privateNetworks.addSubnet(network, prefix, "ipv4");
for (const [network, prefix] of ipv6Networks) privateNetworks.addSubnet(network, prefix, "ipv6");
const publicIpv6 = new BlockList();
publicIpv6.addSubnet("2000::", 3, "ipv6");

/** Whether an IP address is none of the public internet: private, loopback, link-local, multicast, reserved. */
export function isPrivateAddress(address: string): boolean {
  const family = isIP(address);
  if (family === 4) return privateNetworks.check(address, "ipv4");
  return family !== 6 || !publicIpv6.check(address, "ipv6") || privateNetworks.check(address, "ipv6");
}

export type Resolve = (hostname: string) => Promise<LookupAddress[]>;

export const resolveHost: Resolve = (hostname) => lookup(hostname, { all: true });

/**
 * A `lookup` for sockets that resolves a name once and hands on only addresses that were checked, so that the socket
 * connects to what was checked. A name with any private address is refused as `denied`.
 */
export function checkedLookup(allowPrivate: boolean, resolve: Resolve): LookupFunction {
  const checked = callbackify(async (hostname: string): Promise<LookupAddress[]> => {
    const addresses = await resolve(hostname);
    if (!allowPrivate) for (const { address } of addresses) checkAddress(hostname, address);
    return addresses;
  });
  return (hostname, options, callback) => {
    checked(hostname, (error, addresses) => {
      const [first] = addresses ?? [];
      // The type of the callback wants an address beside an error.
      if (error !== null || first === undefined) callback(error ?? notFound(hostname), "");
      else if (options.all === true) callback(null, addresses);
      else callback(null, first.address, first.family);
    });
  };
}

function notFound(hostname: string): Error {
  return Object.assign(new Error(`${hostname} has no address`), { code: "ENOTFOUND" });
}

/** Throws `denied` for a host that is itself a private address, or a name of this machine: sockets look up names only. */
export function checkLiteral({ hostname }: URL, allowPrivate: boolean): void {
  if (allowPrivate) return;
  const address = /(^|\.)localhost\.?$/i.test(hostname) ? "127.0.0.1" : hostname.replace(/^\[|\]$/g, "");
  if (isIP(address) !== 0) checkAddress(hostname, address);
}

function checkAddress(hostname: string, address: string): void {
  if (!isPrivateAddress(address)) return;
  throw new HeddleError("denied", `${hostname} has an address that is not public, and allowPrivate is not set`, {
    cause: new Error(`${hostname} is ${address}`),
  });
}
