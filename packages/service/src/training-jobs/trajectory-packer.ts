import { HeddleError } from "@heddle/errors";
import { Problem } from "@heddle/server-stub";
import type { Detail } from "@heddle/server-stub";
import { readBodyPart } from "@heddle/server-stub/training";
import { compactTrajectory, readTrajectoryGroups } from "@heddle/training";
import { TrajectoryScanner } from "./trajectory-scanner.js";
import type { ScannedPart } from "./trajectory-scanner.js";

/** The members of an RL request but its trajectories, as the spec describes them. */
export interface RlRequestHeader {
  model_id: string;
  experimental_config?: Record<string, unknown>;
}

const operation = "createRlTrainingJob";
const anyModel = '"model_id":"00000000-0000-0000-0000-000000000000"';

/**
 * Validates the body of an RL job while it arrives, and packs its trajectories for storage: JSON Lines, one line for each
 * trajectory and then one for its group. Throws the Problem that the request gets, with the location in the body.
 */
export class TrajectoryPacker {
  readonly #scanner: TrajectoryScanner;
  #lines: string[] = [];
  readonly #members: string[] = [];
  #group = 0;
  #trajectory = 0;

  constructor() {
    this.#scanner = new TrajectoryScanner({
      trajectory: (part) => this.#addTrajectory(part),
      group: (members) => this.#addGroup(members),
      other: (text) => void this.#read(`[${text}]`, []),
      noObject: (text) => void readBodyPart(operation, text),
      member: (key, text) => void this.#members.push(`${JSON.stringify(key)}:${text}`),
    });
  }

  /** Returns the lines that are complete. */
  push(chunk: Uint8Array): Uint8Array {
    this.#scanner.push(chunk);
    const lines = Buffer.from(this.#lines.join(""));
    this.#lines = [];
    return lines;
  }

  /** Returns the rest of the request, after its last chunk. */
  finish(): RlRequestHeader {
    this.#scanner.end();
    const groups = this.#scanner.hasGroups ? ['"trajectory_groups":[]'] : [];
    const header = readBodyPart(operation, `{${[...this.#members, ...groups].join(",")}}`);
    const { model_id, experimental_config } = header as RlRequestHeader;
    return { model_id, ...(experimental_config !== undefined && { experimental_config }) };
  }

  #addTrajectory({ text, hasBareNumber }: ScannedPart): void {
    const loc = ["trajectories", this.#trajectory];
    if (hasBareNumber) throw this.#bareNumber(loc);
    const [group] = this.#read(`[{"trajectories":[${text}]}]`, loc);
    const { trajectories } = group as { trajectories: [unknown] };
    this.#check([{ trajectories }], loc);
    this.#lines.push(`${JSON.stringify({ trajectory: compactTrajectory(trajectories[0]) })}\n`);
    this.#trajectory += 1;
  }

  #addGroup({ text: members, hasBareNumber }: ScannedPart): void {
    if (hasBareNumber) throw this.#bareNumber([]);
    const [group] = this.#read(`[{${members}}]`, []);
    const checked = this.#trajectory === 0 ? [] : [{ reward: 0 }];
    this.#check([{ ...(group as object), trajectories: checked }], []);
    const { trajectories: _, logs: __, ...rest } = group as Record<string, unknown>;
    this.#lines.push(`${JSON.stringify({ group: rest })}\n`);
    this.#group += 1;
    this.#trajectory = 0;
  }

  /** Reads groups as those of a body that has nothing else. */
  #read(groups: string, loc: readonly (string | number)[]): unknown[] {
    try {
      const body = readBodyPart(operation, `{${anyModel},"trajectory_groups":${groups}}`);
      return (body as { trajectory_groups: unknown[] }).trajectory_groups;
    } catch (error) {
      throw error instanceof Problem ? this.#located(error, loc) : error;
    }
  }

  /** Checks what the spec does not describe. */
  #check(groups: unknown[], loc: readonly (string | number)[]): void {
    try {
      readTrajectoryGroups(groups);
    } catch (error) {
      if (!(error instanceof HeddleError)) throw error;
      const found = error.loc?.slice(1) ?? [];
      throw this.#invalid([...loc, ...(loc.length === 0 ? found : found.slice(2))], error.message);
    }
  }

  /** They would count as null, which is a reward of 0. */
  #bareNumber(loc: readonly (string | number)[]): Problem {
    return this.#invalid(loc, "NaN and Infinity are no JSON numbers");
  }

  #invalid(loc: readonly (string | number)[], msg: string): Problem {
    return Problem.invalid([{ loc: ["body", "trajectory_groups", this.#group, ...loc], msg, type: "value_error" }]);
  }

  /** The error with its location in the whole body: that of a part has index 0 in each list. */
  #located(problem: Problem, loc: readonly (string | number)[]): Problem {
    const base = ["body", "trajectory_groups", this.#group, ...loc];
    if (problem.details === undefined) {
      const message = problem.message.replace(/ at position .*$/, "");
      return new Problem(problem.status, `${base.slice(1).join(".")}: ${message}`);
    }
    const details = problem.details.map((detail: Detail) => ({
      ...detail,
      loc: [...base, ...detail.loc.slice(base.length)],
    }));
    return Problem.invalid(details);
  }
}
