import type { UrlSignatures } from "@heddle/control-plane";
import { HeddleError } from "@heddle/errors";
import { canonicalJson } from "@heddle/exact-json";
import { writeJson } from "@heddle/server-stub";
import type { Schemas } from "@heddle/server-stub/tracing";
import type { OrderPosition } from "@heddle/trace-store";

type PageRequest = Schemas["CallsPageReq"];

/** In whose name cursors are signed: no key has this id. */
const signer = "calls/page";

/**
 * The cursors of one list: places in its order, signed with its project, selection and order, so that each is good for that
 * list alone.
 */
export class CallCursors {
  readonly #signatures: UrlSignatures;
  readonly #list: string;

  constructor(signatures: UrlSignatures, { project_id, filter, query, search, sort_by }: PageRequest) {
    this.#signatures = signatures;
    this.#list = canonicalJson(writeJson({ project_id, filter, query, search, sort_by: sort_by ?? [] }));
  }

  write(position: OrderPosition): string {
    const payload = Buffer.from(JSON.stringify(position)).toString("base64url");
    return `${payload}.${this.#signatures.sign(signer, this.#signed(payload))}`;
  }

  /** Throws `unprocessable`, with the member of the request as its loc, for what is not a cursor of this list. */
  read(cursor: string, member: "after" | "before"): OrderPosition {
    const [payload = "", signature = ""] = cursor.split(".");
    if (!this.#signatures.verify(signer, this.#signed(payload), signature)) {
      throw new HeddleError("unprocessable", "not a cursor of this project, selection and order", { loc: [member] });
    }
    return JSON.parse(Buffer.from(payload, "base64url").toString()) as OrderPosition;
  }

  #signed(payload: string): string {
    return `${payload}\n${this.#list}`;
  }
}
