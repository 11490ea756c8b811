import { HeddleError } from "@heddle/errors";
import { DatabaseError } from "pg";

/**
 * The server is there but cannot serve now: connections, read-only mode (a standby, a full disk), transactions that
 * were undone, resources, locks and closed databases, cancelled statements and shut-downs, its own files.
 */
const busyStates = /^(08|25006|25P|40|53|55|57|58)/;
/** It turns us away: password, unknown database or schema, missing rights. */
const refusedStates = /^(28|3D|3F|42501)/;
/** The driver says so in words only: no password for a server that wants one, no TLS where it is asked for. */
const refusedByDriver = /SASL|SSL|certificate/i;

/** Turns what the driver throws into an error of ours; a fault in our own SQL stays as it is. */
export function postgresFailure(error: unknown, url: string): unknown {
  if (!(error instanceof Error)) return error;
  const place = placeOf(url);
  const refused = (): HeddleError =>
    new HeddleError("denied", "the control plane refuses this service", {
      cause: new Error(`the Postgres server at ${place} refuses: ${error.message}`, { cause: error }),
    });
  const silent = (what: string): HeddleError =>
    new HeddleError("busy", "the control plane does not answer", {
      cause: new Error(`${what}: ${error.message || codeOf(error)}`, { cause: error }),
    });
  if (error instanceof DatabaseError) {
    const { code = "" } = error;
    if (refusedStates.test(code)) return refused();
    if (busyStates.test(code)) return silent(`the Postgres server at ${place} is not ready`);
    return error;
  }
  if (error instanceof TypeError || error instanceof RangeError) return error;
  if (refusedByDriver.test(error.message)) return refused();
  return silent(`no answer from the Postgres server at ${place}`);
}

function codeOf(error: Error): string {
  return "code" in error ? String(error.code) : error.name;
}

/** Host and database of a URL, without its password. */
function placeOf(url: string): string {
  if (!URL.canParse(url)) return "the configured address";
  const { host, pathname, searchParams } = new URL(url);
  return `${host || (searchParams.get("host") ?? "localhost")}${pathname}`;
}
