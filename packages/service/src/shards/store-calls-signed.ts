import type { ControlPlane } from "@heddle/control-plane";
import type { HttpRequest } from "@heddle/server-stub";

const header = "heddle-store-call";
/** No id of a key. */
const signer = "replica store";

type Signing = Pick<ControlPlane, "urlSignatures">;

/** By these a replica knows that another one of the same installation calls the store of a shard. */
export const storeCallHeaders = ({ urlSignatures }: Signing, shard: string): Record<string, string> => ({
  [header]: urlSignatures.sign(signer, shard),
});

export const isSignedStoreCall = ({ urlSignatures }: Signing, request: HttpRequest, shard: string): boolean =>
  urlSignatures.verify(signer, shard, request.header(header) ?? "");
