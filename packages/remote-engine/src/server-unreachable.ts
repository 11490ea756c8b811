import { HeddleError } from "@heddle/errors";

const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: "it refuses connections",
  ECONNRESET: "it closed the connection",
  ENOTFOUND: "its name cannot be resolved",
  EAI_AGAIN: "its name cannot be resolved now",
  ETIMEDOUT: "no connection in time",
  RESPONSE_TIMEOUT: "no response in time",
  RESPONSE_TOO_LARGE: "its response is too large",
};

/** A request without a complete response. Used inside this package; `toHeddleError` converts it for callers. */
export class ServerUnreachable extends Error {
  /** Whether the server may have received and processed the request. */
  readonly sent: boolean;
  /** Whether the caller's signal ended the request. */
  readonly aborted: boolean;

  constructor(host: string, cause: unknown, { sent, aborted }: { sent: boolean; aborted: boolean }) {
    const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
    const reason = /CERT|SELF_SIGNED|UNABLE_TO_VERIFY|ERR_TLS/u.test(code)
      ? "its certificate is not valid"
      : reasons[code];
    super(`${host} cannot be reached: ${reason ?? "the connection failed"}`, { cause });
    this.sent = sent;
    this.aborted = aborted;
  }
}

/** Converts an error of a request to the error that callers of this package receive. */
export function toHeddleError(error: unknown): unknown {
  if (!(error instanceof ServerUnreachable)) return error;
  if (error.aborted) return new HeddleError("aborted", "the request was aborted", { cause: error });
  return new HeddleError("busy", error.message, { cause: error });
}
