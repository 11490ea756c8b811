import { setTimeout as delay } from "node:timers/promises";
import { callPages, followCalls } from "@heddle/client/calls";
import { callsPage, callsQueryStream, connectTracing } from "@heddle/client/tracing";
import type { CallRow } from "@heddle/client/tracing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { changeCalls } from "./changing-writer.js";
import { openHeddle, ownerKey } from "./heddle-process.js";
import type { HeddleProcess } from "./heddle-process.js";
import { killTargets } from "./kill-targets.js";
import { openLedger } from "./ledger.js";
import { random } from "./random.js";
import { wire } from "./wire.js";
import { writeAll } from "./writers.js";

// Readers follow every change during every kill; `pnpm faults` runs twenty rounds, the suite two.
const rounds = Number(process.env["FAULT_ROUNDS"] ?? 2);
const seed = Number(process.env["FAULT_SEED"] ?? 4680);

let heddle: HeddleProcess;
beforeAll(async () => (heddle = await openHeddle()), 60_000);
afterAll(() => heddle.remove());

const project = { project_id: "faults/tail" };
const shape = { select: ["name", "status"], include: ["feedback" as const] };

test(
  `readers who go on after ${rounds} kills of service and engine have seen what is stored`,
  async () => {
    const next = random(seed);
    const client = wire(heddle.url);
    let stopped = false;
    const writing = { wire: client, ...project, ledger: openLedger(), random: next, stopped: () => stopped };
    const readers = [startReader(0), startReader(1), startReader(2)];
    const writers = Promise.all([writeAll(writing), changeCalls(writing), changeCalls(writing)]);
    const failed = writers.then(() => Promise.reject(new Error("writers stopped early")));
    failed.catch(() => undefined);
    const kills = Object.entries(killTargets);
    for (let round = 0; round < rounds; round++) {
      await Promise.race([progress(readers), failed]);
      await delay(next() * 300);
      await kills[round % kills.length]?.[1](heddle);
    }
    await Promise.race([progress(readers), failed]);
    stopped = true;
    await writers;

    const connection = connectTracing({ baseUrl: heddle.url, apiKey: ownerKey });
    const { seq } = await callsPage(connection, { ...project, limit: 1 });
    const stored = await storedState();
    for (const reader of readers) {
      await reader.caughtUp(BigInt(seq));
      expect(differences(reader.state, stored)).toEqual([]);
      await reader.leave();
    }
    console.log(
      `tail: ${rounds} rounds, seed ${seed}, ${stored.size} calls, ` +
        readers.map(({ events, gaps }) => `${events()} events with ${gaps()} gaps`).join(", "),
    );
    expect(client.hung()).toBe(0);
  },
  120_000 + rounds * 60_000,
);

/** What a reader knows of a call: name, status and the ids of its feedback. */
type Known = Map<string, string>;

interface Reader {
  state: Known;
  events: () => number;
  gaps: () => number;
  /** Resolves when everything up to a sequence has come. */
  caughtUp(seq: bigint): Promise<void>;
  leave(): Promise<void>;
}

/** Follows the project from its beginning; reads all calls again where there is a gap. */
function startReader(number: number): Reader {
  const connection = connectTracing({ baseUrl: heddle.url, apiKey: ownerKey, retries: 10 });
  const leaving = new AbortController();
  const options = { signal: leaving.signal, headers: { "x-request-id": `reader-${number}` } };
  const state: Known = new Map();
  const seen = { events: 0, gaps: 0, upTo: 0n };
  const reading = (async () => {
    for await (const { kind, seq, id = "", call } of followCalls(
      connection,
      { ...project, ...shape, after: "0" },
      options,
    )) {
      seen.events += 1;
      if (kind === "changed" && call !== undefined) state.set(id, textOf(call));
      if (kind === "removed") state.delete(id);
      if (kind === "gap") {
        seen.gaps += 1;
        state.clear();
        const request = { ...project, ...shape, limit: 1000 };
        for await (const { calls } of callPages(connection, request))
          for (const row of calls) state.set(row.id, textOf(row));
      }
      if (kind === "caught_up") seen.upTo = BigInt(seq);
    }
  })();
  reading.catch(() => undefined);
  return {
    state,
    events: () => seen.events,
    gaps: () => seen.gaps,
    async caughtUp(seq) {
      for (; seen.upTo < seq;) await Promise.race([delay(50), reading]);
    },
    async leave() {
      leaving.abort(new Error("left"));
      await reading.catch(() => undefined);
    },
  };
}

function textOf({ name, status, feedback = [] }: CallRow): string {
  return describeCall(name, status, feedback);
}

function describeCall(name: unknown, status: unknown, feedback: ReadonlyArray<{ id?: unknown }>): string {
  const ids = feedback.map(({ id }) => String(id)).toSorted();
  return JSON.stringify([name, status, ids]);
}

/** The same of all calls, read another way. */
async function storedState(): Promise<Known> {
  const connection = connectTracing({ baseUrl: heddle.url, apiKey: ownerKey });
  const stored: Known = new Map();
  for await (const { id, summary } of callsQueryStream(connection, { ...project, include_feedback: true })) {
    const { trace_name, status, feedback } = summary?.weave ?? {};
    stored.set(id, describeCall(trace_name, status, feedback ?? []));
  }
  return stored;
}

function differences(seen: Known, stored: Known): string[] {
  const ids = new Set([...seen.keys(), ...stored.keys()]);
  const wrong = [...ids].filter((id) => seen.get(id) !== stored.get(id));
  return wrong.map((id) => `${id}: seen ${seen.get(id)}, stored ${stored.get(id)}`);
}

/** Resolves when every reader has had two hundred events more. */
async function progress(readers: readonly Reader[]): Promise<void> {
  const before = readers.map(({ events }) => events());
  while (readers.some(({ events }, at) => events() < (before[at] ?? 0) + 200)) await delay(20);
}
