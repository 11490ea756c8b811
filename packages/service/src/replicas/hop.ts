import type { ControlPlane } from "@heddle/control-plane";
import type { HttpRequest, HttpResponse, HttpServer } from "@heddle/server-stub";
import { WrappedRequest } from "../limits/wrapped-request.js";

/**
 * Of a request that another replica has forwarded: the network address that it had there, and a signature which only
 * services of this control plane can make.
 */
const hopHeader = "heddle-forwarded";
/** No id of a key. */
const signer = "replica";
const unknownAddress = "-";

type Signing = Pick<ControlPlane, "urlSignatures">;

export function hopHeaders({ urlSignatures }: Signing, request: HttpRequest): Record<string, string> {
  const address = request.remoteAddress ?? unknownAddress;
  return { [hopHeader]: `${address} ${urlSignatures.sign(signer, address)}` };
}

/**
 * A server that sees requests of other replicas as they came there, and refuses with 401 those that say so without being
 * one. `forwarded` gets those of replicas, which it must not forward again.
 */
export function acceptHops(
  { urlSignatures }: Signing,
  servers: { direct: HttpServer; forwarded: HttpServer },
): HttpServer {
  return async (request) => {
    const header = request.header(hopHeader);
    if (header === undefined) return await servers.direct(request);
    const [address = "", signature = ""] = header.split(" ", 2);
    if (!urlSignatures.verify(signer, address, signature)) return refusal;
    return await servers.forwarded(new ForwardedByReplica(request, address));
  };
}

const refusal: HttpResponse = {
  status: 401,
  headers: { "content-type": "application/json" },
  body: JSON.stringify({
    reason: `The header ${hopHeader} is for replicas of this service only`,
    detail: `The header ${hopHeader} is for replicas of this service only`,
  }),
  drain: true,
};

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
