import type { HttpRequest } from "@heddle/server-stub";
import { expect, test } from "vitest";
import { behindProxies } from "./behind-proxies.js";

interface Seen {
  remoteAddress: string | undefined;
  protocol: string | undefined;
}

async function seenFrom(
  remoteAddress: string | undefined,
  headers: Record<string, string>,
  trusted = ["127.0.0.0/8", "10.1.0.0/16", "fd00::/8"],
): Promise<Seen> {
  let seen: Seen | undefined;
  const server = behindProxies(async (request) => {
    seen = { remoteAddress: request.remoteAddress, protocol: request.header("x-forwarded-proto") };
    return { status: 200, headers: {} };
  }, trusted);
  await server({ method: "GET", target: "/", remoteAddress, header: (name) => headers[name] } as HttpRequest);
  if (seen === undefined) throw new Error("the request did not arrive");
  return seen;
}

test.each<[string, string, string, string]>([
  ["a proxy names its client", "127.0.0.1", "203.0.113.9", "203.0.113.9"],
  ["proxies in a row", "127.0.0.1", "203.0.113.9, 10.1.2.3", "203.0.113.9"],
  ["what the client invented in front", "127.0.0.1", "8.8.8.8, 203.0.113.9", "203.0.113.9"],
  ["trusted all the way: the first of them asked", "10.1.0.1", "10.1.2.3, 10.1.2.4", "10.1.2.3"],
  ["IPv6 in brackets, with a port", "fd00::1", "[2001:db8::7]:1234", "2001:db8::7"],
  ["IPv4 with a port", "127.0.0.1", "203.0.113.9:555", "203.0.113.9"],
  ["IPv4 as IPv6", "127.0.0.1", "::ffff:203.0.113.9", "203.0.113.9"],
  ["text that is not an address", "127.0.0.1", "203.0.113.9, unknown", "127.0.0.1"],
  ["text behind a proxy", "127.0.0.1", "_hidden, 10.1.0.9", "10.1.0.9"],
  ["nothing", "127.0.0.1", "", "127.0.0.1"],
  ["a peer that is not a proxy", "203.0.113.200", "10.1.0.9", "203.0.113.200"],
  ["a neighbour of the network", "10.2.0.1", "203.0.113.9", "10.2.0.1"],
])("%s", async (_, peer, header, client) => {
  expect((await seenFrom(peer, { "x-forwarded-for": header })).remoteAddress).toBe(client);
});

test("the protocol is that of a trusted proxy alone", async () => {
  const https = { "x-forwarded-proto": "https" };
  expect(await seenFrom("127.0.0.1", https)).toEqual({ remoteAddress: "127.0.0.1", protocol: "https" });
  expect(await seenFrom("203.0.113.200", https)).toEqual({ remoteAddress: "203.0.113.200", protocol: undefined });
  expect(await seenFrom(undefined, https)).toEqual({ remoteAddress: undefined, protocol: undefined });
  expect((await seenFrom("127.0.0.1", https, [])).protocol).toBe(undefined);
});
