import type { CallKey } from "../../stored-calls/call-key.js";
import { idField } from "../../stored-calls/kept-call.js";
import type { KeptCall } from "../../stored-calls/kept-call.js";
import { blockBytes, joined, packedBlock, plainBlock } from "./row-blocks.js";
import type { RowBlock } from "./row-blocks.js";

/** A call that was just written. Its row may be part of a larger piece of memory. */
export type WrittenCall = Pick<CallKey, "project_id"> &
  Omit<KeptCall, "row" | "id" | "packedIn"> & { trace_id: string; row: Uint8Array };

/** What adds calls, to groups of its own. */
export interface Adding {
  last?: Group;
}

/** Calls that are forgotten together. */
export interface Group {
  readonly by: Adding;
  projects: Map<string, GroupOfProject>;
  bytes: number;
  isForgotten: boolean;
  /** Or is being packed. */
  isPacked: boolean;
}

interface GroupOfProject {
  calls: Member[];
  /** By the id of their trace. */
  traces: Map<string, Member[]>;
}

/** Most are never read: a view of the row and the text of the id are made when somebody does, for each of them costs as much as the rest. */
export class Member implements KeptCall {
  /** It was replaced or deleted. */
  isGone = false;
  readonly version: bigint;
  readonly started_at: bigint;
  readonly status: KeptCall["status"];
  readonly group: Group;
  readonly rowBytes: number;
  #block: RowBlock;
  #from: number;
  #idFrom: number;

  constructor({ version, started_at, status, row }: WrittenCall, group: Group, block: RowBlock, from: number) {
    this.version = version;
    this.started_at = started_at;
    this.status = status;
    this.group = group;
    this.rowBytes = row.length;
    this.#block = block;
    this.#from = from;
    this.#idFrom = from;
  }

  get packedIn(): object | undefined {
    return this.#block.isPacked ? this.#block : undefined;
  }

  get row(): Buffer {
    return this.#block.rows().subarray(this.#from, this.#from + this.rowBytes);
  }

  get id(): string {
    return this.#block.idAt(this.#idFrom);
  }

  /** Its row is there as well, and where `idAt` of the block finds its id. */
  moveTo(block: RowBlock, from: number, idFrom: number): void {
    this.#block = block;
    this.#from = from;
    this.#idFrom = idFrom;
  }
}

/**
 * Packs the rows of a group that gets no others, of each project by themselves, until it is forgotten. After each block `packed`
 * is told how much less of the memory the group takes, and may wait.
 */
export async function packGroup(group: Group, packed: (bytes: number) => Promise<void>): Promise<void> {
  group.isPacked = true;
  for (const { calls } of group.projects.values()) {
    for (const some of together(calls)) {
      const rows = some.map(({ row }) => row);
      const ids = rows.map(idField);
      const all = joined(rows);
      const packedRows = await packedBlock(all, joined(ids));
      if (group.isForgotten) return;
      const block = packedRows ?? plainBlock(all);
      let [at, idAt] = [0, 0];
      for (const [index, call] of some.entries()) {
        call.moveTo(block, at, packedRows === undefined ? at : idAt);
        at += call.rowBytes;
        idAt += ids[index]?.length ?? 0;
      }
      await packed(all.length - block.bytes);
    }
  }
}

/** As many as a block has; one that is larger stays by itself. */
function* together(calls: readonly Member[]): Generator<Member[]> {
  let some: Member[] = [];
  let bytes = 0;
  for (const call of calls) {
    if (some.length > 0 && bytes + call.rowBytes > blockBytes) {
      yield some;
      [some, bytes] = [[], 0];
    }
    some.push(call);
    bytes += call.rowBytes;
  }
  if (some.length > 0) yield some;
}
