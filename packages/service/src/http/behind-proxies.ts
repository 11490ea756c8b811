import { BlockList, isIP } from "node:net";
import type { HttpRequest, HttpServer } from "@heddle/server-stub";
import { parseNetwork } from "../config/network.js";
import { WrappedRequest } from "../limits/wrapped-request.js";

/** The headers in which a proxy says for whom it asks. Anybody can send them. */
const forwardedHeaders = ["x-forwarded-for", "x-forwarded-proto"] as const;

/**
 * A server that sees requests as the trusted proxies in front of it received them: `remoteAddress` is that of the client,
 * the last address of `X-Forwarded-For` that is none of a trusted proxy. Of other peers the headers are not there.
 */
export function behindProxies(server: HttpServer, networks: readonly string[]): HttpServer {
  const trusted = listOf(networks);
  return (request) => {
    if (forwardedHeaders.every((name) => request.header(name) === undefined)) return server(request);
    return server(new ForwardedRequest(request, trusted));
  };
}

function listOf(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const { address, prefix, family } = parseNetwork(network) ?? {};
    if (address === undefined || prefix === undefined) throw new Error(`no address or network: ${network}`);
    list.addSubnet(address, prefix, family);
  }
  return list;
}

const contains = (list: BlockList, address: string): boolean =>
  isIP(address) !== 0 && list.check(address, isIP(address) === 4 ? "ipv4" : "ipv6");

/** Proxies write an IPv6 address in brackets, and some a port behind the address. */
function addressOf(entry: string): string | undefined {
  const text = entry.trim();
  const bare = /^\[([^\]]*)\](?::\d+)?$/.exec(text)?.[1] ?? /^([\d.]+):\d+$/.exec(text)?.[1] ?? text;
  return isIP(bare) === 0 ? undefined : bare.replace(/^::ffff:(?=\d+\.)/i, "");
}

class ForwardedRequest extends WrappedRequest {
  readonly #remoteAddress: string | undefined;
  readonly #isTrusted: boolean;

  constructor(request: HttpRequest, trusted: BlockList) {
    super(request);
    const peer = request.remoteAddress;
    this.#isTrusted = peer !== undefined && contains(trusted, peer);
    this.#remoteAddress = this.#isTrusted ? clientOf(request.header("x-forwarded-for"), peer, trusted) : peer;
  }

  override get remoteAddress(): string | undefined {
    return this.#remoteAddress;
  }

  override header(name: string): string | undefined {
    if (!this.#isTrusted && (forwardedHeaders as readonly string[]).includes(name)) return undefined;
    return super.header(name);
  }
}

/** Each proxy adds the address of its client at the end: what is in front of an address that is not trusted may be invented. */
function clientOf(header: string | undefined, peer: string | undefined, trusted: BlockList): string | undefined {
  let client = peer;
  for (const entry of (header ?? "").split(",").toReversed()) {
    const address = addressOf(entry);
    if (address === undefined) return client;
    client = address;
    if (!contains(trusted, address)) return client;
  }
  return client;
}
