import { setTimeout as delay } from "node:timers/promises";
import { expect, onTestFailed, onTestFinished, test, vi } from "vitest";
import { writeArtifacts } from "./artifact-writer.js";
import { check } from "./check.js";
import { writeEvaluations } from "./evaluation-writer.js";
import type { HeddleProcess } from "./heddle-process.js";
import { openLedger } from "./ledger.js";
import type { Ledger } from "./ledger.js";
import { random } from "./random.js";
import { controlPlanes, openReplicas, replicaNames } from "./replica-set.js";
import type { ReplicaName, ReplicaSet } from "./replica-set.js";
import { writeScoredCalls } from "./scoring-writer.js";
import { patient, wire } from "./wire.js";
import { writeAll } from "./writers.js";

// Every kind of write goes on at random replicas while random ones are killed, suspended and ended, and what they share
// is killed or cut off; `pnpm faults` goes on for ten minutes, the suite has each trouble once.
const isLong = process.env["FAULT_ROUNDS"] !== undefined;
const lastsMs = isLong ? Number(process.env["FAULT_SECONDS"] ?? 600) * 1000 : 0;
const seed = Number(process.env["FAULT_SEED"] ?? 4680);

const writers = [writeAll, writeArtifacts, writeEvaluations, writeScoredCalls];
const shards = ["east"];
/** Each in another tracing database. */
const projectIds = ["faults/one", "faults/two"];
// Nothing depends on the clocks of replicas.
const skewHours = { a: 1, b: 0, c: -1 };

type Troubles = Record<string, (name: ReplicaName) => Promise<void>>;

function troublesOf(set: ReplicaSet): Troubles {
  let killed = 0;
  return {
    async "kill -9"(name) {
      await end(set.replicas[name], "SIGKILL");
      await delay(1000);
    },
    async SIGTERM(name) {
      await end(set.replicas[name], "SIGTERM");
    },
    async SIGSTOP(name) {
      const replica = set.replicas[name];
      if (replica.pid() === 0) return;
      const wasWriter = (await currentWriter(set)) === name;
      process.kill(replica.pid(), "SIGSTOP");
      await delay(isLong ? 20_000 : 6000);
      process.kill(replica.pid(), "SIGCONT");
      // A former writer ends by itself; if nobody has taken over from one, it goes on.
      const ended = wasWriter ? await Promise.race([replica.ended(), delay(30_000)]) : undefined;
      if (ended !== undefined) return expect(ended.code).toBe(1);
      if (wasWriter) expect(await currentWriter(set)).toBe(name);
      await end(replica, "SIGTERM");
    },
    async "kill -9 of a ClickHouse server, while"() {
      const pids = set.enginePids();
      process.kill(pids[killed++ % pids.length]!, "SIGKILL");
      await delay(500);
    },
    async "no control plane, while"() {
      // Longer than a lease: nobody may write, and nobody can take over.
      await set.whileCutOff(async () => {
        await delay(3000);
        for (const name of replicaNames) {
          // A replica waits up to 30 s for one that works on the database, which nobody can take over now.
          const client = wire(set.urlOf(name), 40_000);
          const body = { project_id: projectIds[0], limit: 1 };
          const write = {
            batch: [
              {
                mode: "end",
                req: { end: { project_id: projectIds[0], id: "cut", ended_at: "2026-04-10T09:00:01Z", summary: {} } },
              },
            ],
          };
          const [read, written] = [
            await client.post("/calls/stream_query", body),
            await client.post("/call/upsert_batch", write),
          ];
          console.log(
            `without a control plane ${name} responds ${read.status} to reads, ${written.status} to writes: ${written.text}`,
          );
          expect([200, 503]).toContain(read.status);
        }
      });
    },
  };
}

async function end(replica: HeddleProcess, signal: NodeJS.Signals): Promise<void> {
  if (replica.pid() !== 0) await replica.end(signal);
}

/** The replica that works on the traces, once there is one again. */
async function currentWriter(set: ReplicaSet): Promise<ReplicaName> {
  return await vi.waitFor(() => set.writer(), { timeout: 60_000, interval: 200 });
}

/** As whoever runs it would, when it ends because the control plane did not respond for a moment. */
async function startAgain(replica: HeddleProcess): Promise<void> {
  await replica.start().catch(async () => await replica.start());
}

/** One that was so busy that another one has taken over ends by itself, and is started again as any. */
async function startEnded({ replicas }: ReplicaSet): Promise<void> {
  const ended = Object.values(replicas).filter((each) => each.pid() === 0);
  await Promise.all(ended.map(startAgain));
}

/** Starts again what ends, until it is stopped. */
function supervise(set: ReplicaSet): { stop(): Promise<void> } {
  const ending = new AbortController();
  const watching = (async () => {
    while (!ending.signal.aborted) {
      await startEnded(set);
      await delay(500, undefined, { signal: ending.signal }).catch(() => undefined);
    }
  })();
  watching.catch(() => undefined);
  return {
    async stop() {
      ending.abort();
      await watching.catch(() => undefined);
    },
  };
}

test.each(controlPlanes)(
  "with a control plane on %s nothing that one acknowledged is lost, doubled or split, whatever ends which of them",
  async (_, makeControlPlane) => {
    // Of each attempt its own: one that begins with what another has left says nothing.
    const set = await openReplicas(makeControlPlane, { shards, servers: 2, skewHours });
    let [stopped, isRemoved] = [false, false];
    let writing: Promise<unknown> = Promise.resolve();
    onTestFailed(() => console.log(replicaNames.map((name) => errorsIn(set.replicas[name].log())).join("\n")));
    onTestFinished(async () => {
      stopped = true;
      isRemoved = true;
      await set.remove();
      await writing.catch(() => undefined);
    }, 60_000);
    const troubles = troublesOf(set);
    const next = random(seed);
    const ledgers = new Map(projectIds.map((projectId) => [projectId, openLedger()]));
    const up = new Set<ReplicaName>(replicaNames);
    const anyUp = () => {
      // What must be sent until it is acknowledged is sent no more.
      if (isRemoved) throw new Error("the replicas are removed");
      return set.urlOf([...up][Math.floor(next() * up.size)]!);
    };
    const client = wire(anyUp);
    writing = Promise.all(
      Array.from(ledgers, async ([projectId, ledger]) => {
        const each = { wire: client, project_id: projectId, ledger, random: next, stopped: () => stopped };
        await Promise.all(writers.map(async (write) => await write(each)));
      }),
    );
    writing.catch(() => undefined);
    const ackedIn = (ledger: Ledger) => [...ledger.acked().values()].reduce((sum, n) => sum + n, 0);
    const acked = () => Math.min(...Array.from(ledgers.values(), ackedIn));
    const done: string[] = [];
    const names = Object.keys(troubles);
    const began = performance.now();
    for (let round = 0; round < names.length || performance.now() - began < lastsMs; round++) {
      // Each kind once, and then any; the replica that works, and then any.
      const trouble = names[round < names.length ? round : Math.floor(next() * names.length)]!;
      const name = round % 2 === 0 ? await currentWriter(set) : replicaNames[Math.floor(next() * 3)]!;
      await delay(500 + next() * 500);
      done.push(`${trouble} of ${name}`);
      up.delete(name);
      await troubles[trouble]!(name);
      const before = acked();
      // The others take writes again.
      await Promise.race([
        writing.then(() => Promise.reject(new Error("the writers have ended"))),
        expect.poll(acked, { timeout: 120_000, interval: 100 }).toBeGreaterThan(before + 10),
      ]);
      await startEnded(set);
      up.add(name);
    }
    stopped = true;
    await writing;
    const supervised = supervise(set);
    onTestFinished(async () => await supervised.stop());
    for (const name of replicaNames) {
      // Databases are still opened, and divided among those that were started last.
      for (const [projectId, ledger] of ledgers) {
        const { missing, doubled, wrong, ...counts } = await check(patient(wire(set.urlOf(name))), projectId, ledger);
        console.log(`${done.join(", ")}; ${projectId} at ${name}: ${counts.acked} acked, ${counts.checked} checked`);
        // The error itself does not name all.
        if (missing.length > 0) console.log(missing.join("\n"));
        expect({ missing, doubled, wrong }, name).toEqual({ missing: [], doubled: [], wrong: [] });
      }
    }
    expect(acked()).toBeGreaterThan(50);
    // Projects were made while the databases were.
    for (const name of replicaNames) expect(set.replicas[name].log()).not.toContain("was empty when it met");
  },
  540_000 + 2 * lastsMs,
);

/** The entries of a log that are errors, with their frames. */
function errorsIn(log: string): string {
  const entries = log.split(/\n(?=\d{4}-\d\d-\d\dT)/);
  return entries.filter((entry) => /^\S+ error /.test(entry)).join("\n");
}
