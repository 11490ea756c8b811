import { HeddleError } from "@heddle/errors";
import { DatabaseError } from "pg";

/**
 * The server is there but cannot serve now: connections, read-only mode (a standby, a full disk), transactions that
 * were undone, resources, locks and closed databases, cancelled statements and shut-downs, its own files.
 */
const busyStates = /^(08|25006|25P|40|53|55|57|58)/;
/** The server rejects the service: password, unknown database or schema, missing rights. */
const refusedStates = /^(28|3D|3F|42501)/;
/** Errors of the driver without a code: a missing password, TLS that the server does not offer. */
const refusedByDriver = /SASL|SSL|certificate/i;

/** Turns an error of the driver into a HeddleError; an error in the SQL of this package is returned as it is. */
export function postgresFailure(error: unknown, url: string): unknown {
  if (!(error instanceof Error)) return error;
  const address = addressOf(url);
  const refused = (): HeddleError =>
    new HeddleError("denied", "the control plane refuses this service", {
      cause: new Error(`the Postgres server at ${address} refuses access: ${error.message}`, { cause: error }),
    });
  const unreachable = (what: string): HeddleError =>
    new HeddleError("busy", "the control plane does not respond", {
      cause: new Error(`${what}: ${error.message || codeOf(error)}`, { cause: error }),
    });
  if (error instanceof DatabaseError) {
    const { code = "" } = error;
    if (refusedStates.test(code)) return refused();
    if (busyStates.test(code)) return unreachable(`the Postgres server at ${address} is not ready`);
    return error;
  }
  if (error instanceof TypeError || error instanceof RangeError) return error;
  if (refusedByDriver.test(error.message)) return refused();
  return unreachable(`no response from the Postgres server at ${address}`);
}

function codeOf(error: Error): string {
  return "code" in error ? String(error.code) : error.name;
}

/** Host and database of a URL, without its password. */
function addressOf(url: string): string {
  if (!URL.canParse(url)) return "the configured address";
  const { host, pathname, searchParams } = new URL(url);
  return `${host || (searchParams.get("host") ?? "localhost")}${pathname}`;
}
