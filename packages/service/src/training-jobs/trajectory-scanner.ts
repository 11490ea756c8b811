import { Problem } from "@heddle/server-stub";
import { valueBytes } from "../limits/json-memory.js";
import { decodeParts } from "./decode-parts.js";

/** The members of a group but its trajectories, as the inside of an object. */
export interface ScannedMembers {
  text: string;
  /** Whether they have `NaN` or `Infinity` outside of strings. */
  hasBareNumber: boolean;
}

/** A trajectory, as it was sent. */
export interface ScannedTrajectory {
  parts: readonly Uint8Array[];
  /** Position of its end in the body. */
  end: number;
  hasBareNumber: boolean;
}

/** What the scanner finds, in the order of the text. */
export interface ScannedParts {
  /** An item of `trajectories` of the group that is open. */
  trajectory(trajectory: ScannedTrajectory): void;
  /** The end of a group. */
  group(members: ScannedMembers): void;
  /** An item of `trajectory_groups` that is not an object. */
  other(text: string): void;
  /** A body that is not an object. */
  noObject(text: string): void;
  /** Another member of the body. */
  member(key: string, text: string): void;
}

/** The bytes of one trajectory, and of all other members together. */
const maxTrajectoryBytes = 64 * 1024 * 1024;
const maxMemberBytes = 1024 * 1024;

type Container = "body" | "groups" | "group" | "trajectories";
/** What may come next between two values. */
type Expected = "first" | "key" | "colon" | "value" | "next";

interface Frame {
  container: Container;
  expected: Expected;
  key: string;
  /** Of a group: its members but the trajectories. */
  members: string[];
  hasBareNumber: boolean;
  /** Whether the list that is read item by item has been there. */
  hasList: boolean;
}

/** A value that is being read as a whole. */
interface Capture {
  role: "key" | "value";
  parts: Uint8Array[];
  bytes: number;
  depth: number;
  inString: boolean;
  isEscaped: boolean;
  hasBareNumber: boolean;
  /** Characters outside of strings that begin a value or separate two. */
  separators: number;
  isAscii: boolean;
  /** A number, true, false or null, which ends with what follows it. */
  isScalar: boolean;
}

const byteOrderMark = [0xef, 0xbb, 0xbf];
const bracket = { body: 0x7d, group: 0x7d, groups: 0x5d, trajectories: 0x5d } as const;

/**
 * Cuts the body of an RL job into its trajectories while it arrives, so that none of it is held in memory but the
 * trajectory that is read. Throws a Problem for what is not JSON at this level; what is inside of the parts is not checked.
 */
export class TrajectoryScanner {
  readonly #found: ScannedParts;
  readonly #frames: Frame[] = [];
  #state: "start" | "inside" | "end" = "start";
  #capture: Capture | undefined;
  #memberBytes = 0;
  /** Bytes before the chunk. */
  #offset = 0;

  constructor(found: ScannedParts) {
    this.#found = found;
  }

  /** Whether `trajectory_groups` was a list. */
  hasGroups = false;

  /** The memory that the value takes which is being read: its text, and what it becomes by being parsed. */
  get memory(): number {
    if (this.#capture === undefined) return 0;
    const { bytes, isAscii, separators } = this.#capture;
    return bytes * (isAscii ? 1 : 2) + separators * valueBytes;
  }

  push(chunk: Uint8Array): void {
    let at = 0;
    while (this.#state === "start" && at < chunk.length && chunk[at] === byteOrderMark[this.#offset + at]) at += 1;
    while (at < chunk.length) {
      if (this.#capture !== undefined) at = this.#continue(this.#capture, chunk, at);
      else if (isSpace(chunk[at] ?? 0)) at += 1;
      else at = this.#step(chunk, at);
    }
    this.#offset += chunk.length;
  }

  /** To be called after the last chunk. */
  end(): void {
    if (this.#capture?.isScalar === true && this.#frames.length === 0) this.#captured(this.#capture, 0);
    if (this.#state === "start") this.#found.noObject("");
    if (this.#state !== "end") throw this.#malformed("it ends too early", 0);
  }

  /** Reads one character between values; returns the position after it. */
  #step(chunk: Uint8Array, at: number): number {
    const c = chunk[at] ?? 0;
    const frame = this.#frames.at(-1);
    if (frame === undefined) {
      if (this.#state === "end") throw this.#malformed("something follows the end of the value", at);
      this.#state = "inside";
      if (c !== 0x7b) {
        this.#begin("value", c);
        return at;
      }
      this.#enter("body");
      return at + 1;
    }
    const isObject = frame.container === "body" || frame.container === "group";
    const mayClose = frame.expected === "first" || frame.expected === "next";
    if (mayClose && c === bracket[frame.container]) {
      this.#leave(frame);
      return at + 1;
    }
    if (frame.expected === "next") {
      if (c !== 0x2c) throw this.#malformed("a comma is missing", at);
      frame.expected = isObject ? "key" : "value";
      return at + 1;
    }
    if (frame.expected === "colon") {
      if (c !== 0x3a) throw this.#malformed("a colon is missing", at);
      frame.expected = "value";
      return at + 1;
    }
    if (isObject && frame.expected !== "value") {
      if (c !== 0x22) throw this.#malformed("a key is missing", at);
      this.#begin("key", c);
      return at;
    }
    return this.#value(frame, c, at);
  }

  #value(frame: Frame, c: number, at: number): number {
    const isList = c === 0x5b;
    if (frame.container === "body" && frame.key === "trajectory_groups" && isList)
      return this.#list(frame, "groups", at);
    if (frame.container === "group" && frame.key === "trajectories" && isList)
      return this.#list(frame, "trajectories", at);
    if (frame.container === "groups" && c === 0x7b) {
      this.#enter("group");
      return at + 1;
    }
    if (c === 0x2c || c === 0x3a || c === 0x5d || c === 0x7d) throw this.#malformed("a value is missing", at);
    this.#begin("value", c);
    return at;
  }

  #list(frame: Frame, container: "groups" | "trajectories", at: number): number {
    if (frame.hasList) throw this.#malformed(`${frame.key} is there twice`, at);
    frame.hasList = true;
    if (container === "groups") this.hasGroups = true;
    else frame.members.push('"trajectories":[]');
    this.#enter(container);
    return at + 1;
  }

  #enter(container: Container): void {
    this.#frames.push({ container, expected: "first", key: "", members: [], hasBareNumber: false, hasList: false });
  }

  #leave({ container, members, hasBareNumber }: Frame): void {
    this.#frames.pop();
    if (container === "group") this.#found.group({ text: members.join(","), hasBareNumber });
    const outer = this.#frames.at(-1);
    if (outer === undefined) this.#state = "end";
    else outer.expected = "next";
  }

  #begin(role: Capture["role"], c: number): void {
    const isScalar = c !== 0x22 && c !== 0x7b && c !== 0x5b;
    const hasBareNumber = isScalar && isBare(c);
    const inside = { depth: 0, inString: false, isEscaped: false, hasBareNumber, separators: 0, isAscii: true };
    this.#capture = { role, parts: [], bytes: 0, isScalar, ...inside };
  }

  /** Goes on with a value; returns the position after what belongs to it. */
  #continue(capture: Capture, chunk: Uint8Array, from: number): number {
    const end = capture.isScalar ? endOfScalar(chunk, from) : endOfText(capture, chunk, from);
    const part = chunk.subarray(from, end ?? chunk.length);
    capture.parts.push(part.slice());
    capture.bytes += part.length;
    const container = this.#frames.at(-1)?.container;
    const most = container === "trajectories" ? maxTrajectoryBytes : maxMemberBytes - this.#memberBytes;
    if (capture.bytes > most) {
      const what = container === "trajectories" ? "one trajectory" : "all but the trajectories";
      const bytes = container === "trajectories" ? maxTrajectoryBytes : maxMemberBytes;
      throw new Problem(413, `Request too large: ${what} has at most ${bytes} bytes`);
    }
    if (end === undefined) return chunk.length;
    this.#capture = undefined;
    this.#captured(capture, end);
    return end;
  }

  #captured({ role, parts, bytes, hasBareNumber }: Capture, at: number): void {
    const frame = this.#frames.at(-1);
    if (frame?.container === "trajectories" && role === "value") {
      frame.expected = "next";
      this.#found.trajectory({ parts, end: this.#offset + at, hasBareNumber });
      return;
    }
    const text = [...decodeParts(parts, this.#offset + at)].join("");
    if (frame === undefined) {
      this.#state = "end";
      this.#found.noObject(text);
      return;
    }
    if (role === "key") {
      frame.key = this.#keyOf(text, at);
      frame.expected = "colon";
      return;
    }
    frame.expected = "next";
    if (frame.container === "groups") this.#found.other(text);
    else if (frame.container === "group") {
      frame.members.push(`${JSON.stringify(frame.key)}:${text}`);
      frame.hasBareNumber ||= hasBareNumber;
    } else {
      this.#memberBytes += bytes;
      this.#found.member(frame.key, text);
    }
  }

  #keyOf(text: string, at: number): string {
    try {
      return JSON.parse(text) as string;
    } catch {
      throw this.#malformed("a key is not a JSON string", at);
    }
  }

  #malformed(what: string, at: number): Problem {
    return new Problem(400, `the body is not JSON: ${what} at position ${this.#offset + at}`);
  }
}

function isSpace(c: number): boolean {
  return c === 0x20 || c === 0x0a || c === 0x0d || c === 0x09;
}

/** The first letters of NaN and Infinity; no other token outside of strings has them. */
function isBare(c: number | undefined): boolean {
  return c === 0x4e || c === 0x49;
}

function endOfScalar(chunk: Uint8Array, from: number): number | undefined {
  for (let at = from; at < chunk.length; at++) {
    const c = chunk[at] ?? 0;
    if (c === 0x2c || c === 0x5d || c === 0x7d || isSpace(c)) return at;
  }
  return undefined;
}

/** Position after the string, list or object that is captured; undefined if it ends in a later chunk. */
function endOfText(capture: Capture, chunk: Uint8Array, from: number): number | undefined {
  let { depth, inString, isEscaped, hasBareNumber, separators, isAscii } = capture;
  let end: number | undefined;
  for (let at = from; at < chunk.length && end === undefined; at++) {
    const c = chunk[at] ?? 0;
    if (c > 0x7f) isAscii = false;
    if (isEscaped) isEscaped = false;
    else if (inString) {
      if (c === 0x5c) isEscaped = true;
      else if (c === 0x22) {
        inString = false;
        if (depth === 0) end = at + 1;
      }
    } else if (c === 0x22) inString = true;
    else if (c === 0x2c || c === 0x3a) separators += 1;
    else if (c === 0x7b || c === 0x5b) {
      depth += 1;
      separators += 1;
    } else if (c === 0x7d || c === 0x5d) {
      depth -= 1;
      if (depth === 0) end = at + 1;
    } else if (isBare(c)) hasBareNumber = true;
  }
  Object.assign(capture, { depth, inString, isEscaped, hasBareNumber, separators, isAscii });
  return end;
}
