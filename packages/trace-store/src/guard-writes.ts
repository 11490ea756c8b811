import { HeddleError } from "@heddle/errors";
import type { Engine } from "./engine/engine.js";
import type { Objects } from "./objects/objects.js";

/**
 * Returns an engine that writes only while `mayWrite` says so, called before each statement and once more when it has
 * ended: what another process may have taken over meanwhile is not acknowledged. A write that is refused in the middle of
 * a commit leaves an unknown outcome like any other: ingest recovers before it writes again.
 *
 * What a process sent an instant before it was stopped can still arrive late. Maintenance runs every minute over what was
 * received since the last time, and repairs calls that this doubles.
 */
export function guardWrites(engine: Engine, mayWrite: () => boolean): Engine {
  const check = () => checkAlone(mayWrite);
  return {
    ...engine,
    async insert(table, columns, rows) {
      check();
      await engine.insert(table, columns, rows);
      checkStillAlone(mayWrite);
    },
    async command(statement, options) {
      check();
      await engine.command(statement, options);
      checkStillAlone(mayWrite);
    },
  };
}

/** Objects that use what they remember only while `mayWrite` says that no other process can have written. */
export function guardObjects(objects: Objects, mayWrite: () => boolean): Objects {
  return {
    ...objects,
    async create(request) {
      checkAlone(mayWrite);
      return await objects.create(request);
    },
  };
}

function checkAlone(mayWrite: () => boolean): void {
  if (!mayWrite()) {
    throw new HeddleError("busy", "This service cannot tell whether it is still the only one that writes");
  }
}

function checkStillAlone(mayWrite: () => boolean): void {
  if (!mayWrite()) {
    throw new HeddleError("busy", "Another service may have taken over during this write: what was sent may be stored");
  }
}
