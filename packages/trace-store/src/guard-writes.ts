import { HeddleError } from "@heddle/errors";
import type { Engine } from "./engine/engine.js";
import type { InFlight } from "./ingest/in-flight.js";
import type { Objects } from "./objects/objects.js";

/**
 * An engine that writes only while `mayWrite` says so, asked at the moment of each statement. A write that is refused
 * in the middle of a commit leaves an unknown outcome like any other: ingest recovers before it writes again.
 *
 * What a process handed over an instant before it was stopped can still arrive late; the pass that ingest makes every
 * minute over what was received since the last one mends what that doubles.
 */
export function guardWrites(engine: Engine, mayWrite: () => boolean): Engine {
  const check = () => checkAlone(mayWrite);
  return {
    ...engine,
    async insert(table, columns, rows) {
      check();
      await engine.insert(table, columns, rows);
    },
    async command(statement, options) {
      check();
      await engine.command(statement, options);
    },
  };
}

/** Objects that answer from memory only while `mayWrite` says that nobody else can have written them. */
export function guardObjects(objects: Objects, mayWrite: () => boolean): Objects {
  return {
    ...objects,
    async create(request) {
      checkAlone(mayWrite);
      return await objects.create(request);
    },
  };
}

/** What readers are told: while somebody else may have deleted or renamed calls, they look. */
export function guardReads(inFlight: InFlight, mayWrite: () => boolean): InFlight {
  return {
    closing: (project_id) => inFlight.closing(project_id),
    hasHidden: (project_id) => !mayWrite() || inFlight.hasHidden(project_id),
    hasNames: (project_id) => !mayWrite() || inFlight.hasNames(project_id),
  };
}

function checkAlone(mayWrite: () => boolean): void {
  if (!mayWrite()) {
    throw new HeddleError("busy", "This service cannot tell whether it is still the only one that writes");
  }
}
