import { HeddleError } from "@heddle/errors";
import { Problem } from "@heddle/server-stub";
import type { Detail } from "@heddle/server-stub";
import { readBodyPart } from "@heddle/server-stub/training";
import { compactTrajectory, readTrajectoryGroups } from "@heddle/training";
import { JsonMemory } from "../limits/json-memory.js";
import { decodeParts } from "./decode-parts.js";
import type { ScannedMembers, ScannedTrajectory } from "./trajectory-scanner.js";

/** A part of the body of an RL job, with its location in it. */
export type BodyPart =
  | { kind: "trajectory"; group: number; index: number; trajectory: ScannedTrajectory }
  | { kind: "group"; group: number; members: ScannedMembers }
  /** An item of `trajectory_groups` that is not an object. */
  | { kind: "other"; group: number; text: string };

/** The lines of the parts and what they take in memory when they are read, or why the request is refused. */
export type PackedParts =
  | { lines: Uint8Array; memory: number }
  | { problem: { status: number; message: string; details: Detail[] | undefined } };

type Loc = readonly (string | number)[];

export const rlOperation = "createRlTrainingJob";
const anyModel = '"model_id":"00000000-0000-0000-0000-000000000000"';

/**
 * Validates parts and packs them for storage: JSON Lines, one line for each trajectory, with the bytes of its text as it
 * was sent, and then one for its group.
 */
export function packParts(parts: readonly BodyPart[]): PackedParts {
  try {
    const memory = new JsonMemory();
    const lines = parts.map((part) => {
      const line = Buffer.from(packPart(part));
      memory.push(line);
      return line;
    });
    return { lines: lines.length === 1 && lines[0] ? lines[0] : Buffer.concat(lines), memory: memory.bytes };
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    const { status, message, details } = error;
    return { problem: { status, message, details } };
  }
}

function packPart(part: BodyPart): string {
  const reader = new PartReader(part.group);
  if (part.kind === "trajectory") return reader.trajectory(part.trajectory, ["trajectories", part.index]);
  if (part.kind === "group") return reader.members(part.members);
  reader.read([`[${part.text}]`], []);
  return "";
}

/** Reads parts of one group as those of a body that has nothing else. */
class PartReader {
  readonly #group: number;

  constructor(group: number) {
    this.#group = group;
  }

  trajectory({ parts, end, hasBareNumber }: ScannedTrajectory, loc: Loc): string {
    if (hasBareNumber) throw this.#bareNumber(loc);
    const [group] = this.read(['[{"trajectories":[', ...decodeParts(parts, end), "]}]"], loc);
    const { trajectories } = group as { trajectories: [unknown] };
    this.#check([{ trajectories }], loc);
    const bytes = parts.reduce((sum, { length }) => sum + length, 0);
    return `${JSON.stringify({ trajectory: compactTrajectory(trajectories[0]), bytes })}\n`;
  }

  members({ text, hasBareNumber }: ScannedMembers): string {
    if (hasBareNumber) throw this.#bareNumber([]);
    const [group] = this.read([`[{${text}}]`], []);
    this.#check([{ ...(group as object), trajectories: [{ reward: 0 }] }], []);
    const { trajectories: _, logs: __, ...rest } = group as Record<string, unknown>;
    return `${JSON.stringify({ group: rest })}\n`;
  }

  read(groups: readonly string[], loc: Loc): unknown[] {
    try {
      const body = readBodyPart(rlOperation, [`{${anyModel},"trajectory_groups":`, ...groups, "}"].join(""));
      return (body as { trajectory_groups: unknown[] }).trajectory_groups;
    } catch (error) {
      throw error instanceof Problem ? this.#located(error, loc) : error;
    }
  }

  /** Checks what the spec does not describe. */
  #check(groups: unknown[], loc: Loc): void {
    try {
      readTrajectoryGroups(groups);
    } catch (error) {
      if (!(error instanceof HeddleError)) throw error;
      const found = error.loc?.slice(1) ?? [];
      throw this.#invalid([...loc, ...(loc.length === 0 ? found : found.slice(2))], error.message);
    }
  }

  /** They would count as null, which is a reward of 0. */
  #bareNumber(loc: Loc): Problem {
    return this.#invalid(loc, "NaN and Infinity are not JSON numbers");
  }

  #invalid(loc: Loc, msg: string): Problem {
    return Problem.invalid([{ loc: ["body", "trajectory_groups", this.#group, ...loc], msg, type: "value_error" }]);
  }

  /** The error with its location in the whole body: that of a part has index 0 in each list. */
  #located(problem: Problem, loc: Loc): Problem {
    const base = ["body", "trajectory_groups", this.#group, ...loc];
    if (problem.details === undefined) {
      const [message = ""] = problem.message.split(" at position ", 1);
      return new Problem(problem.status, `${base.slice(1).join(".")}: ${message}`);
    }
    const details = problem.details.map((detail: Detail) => ({
      ...detail,
      loc: [...base, ...detail.loc.slice(base.length)],
    }));
    return Problem.invalid(details);
  }
}
