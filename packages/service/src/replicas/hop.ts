import type { ControlPlane } from "@heddle/control-plane";
import type { HttpRequest, HttpResponse, HttpServer } from "@heddle/server-stub";
import { WrappedRequest } from "../limits/wrapped-request.js";

/**
 * Of a request that another replica has forwarded: the network address that it had there, and a signature which only
 * services of this control plane can make.
 */
const hopHeader = "heddle-forwarded";
/**
 * The same of one for what the other replica works on itself. One of a version that does not know this takes the request for
 * that of a client, and does the same.
 */
const wholeHeader = "heddle-sent-whole";
/** No id of a key. */
const signer = "replica";
const unknownAddress = "-";

type Signing = Pick<ControlPlane, "urlSignatures">;

export function hopHeaders(
  { urlSignatures }: Signing,
  request: HttpRequest,
  { isWhole = false } = {},
): Record<string, string> {
  const address = request.remoteAddress ?? unknownAddress;
  return { [isWhole ? wholeHeader : hopHeader]: `${address} ${urlSignatures.sign(signer, address)}` };
}

interface HopServers {
  /** For requests of clients. */
  direct: HttpServer;
  /** For those of replicas, which must not be forwarded again. */
  forwarded: HttpServer;
  whole: HttpServer;
}

/** A server that sees requests of other replicas as they came there, and refuses with 401 those that say so without being one. */
export function acceptHops({ urlSignatures }: Signing, { direct, forwarded, whole }: HopServers): HttpServer {
  const hops = [
    [hopHeader, forwarded],
    [wholeHeader, whole],
  ] as const;
  return async (request) => {
    for (const [name, server] of hops) {
      const header = request.header(name);
      if (header === undefined) continue;
      const [address = "", signature = ""] = header.split(" ", 2);
      if (!urlSignatures.verify(signer, address, signature)) return refusal(name);
      return await server(new ForwardedByReplica(request, address));
    }
    return await direct(request);
  };
}

function refusal(header: string): HttpResponse {
  const message = `The header ${header} is for replicas of this service only`;
  return {
    status: 401,
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ reason: message, detail: message }),
    drain: true,
  };
}

class ForwardedByReplica extends WrappedRequest {
  readonly #address: string;

  constructor(request: HttpRequest, address: string) {
    super(request);
    this.#address = address;
  }

  override get remoteAddress(): string | undefined {
    return this.#address === unknownAddress ? undefined : this.#address;
  }
}
