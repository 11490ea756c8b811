/**
 * Searches for a rare, a common and a missing word beside `$contains`, and what each index of words costs: processor time of the
 * engine per 1,000 calls that are ingested and merged, and bytes on disk. Texts have a vocabulary like that of natural ones.
 *
 *   node --import tsx --conditions @heddle/source packages/trace-store/bench/search.ts [--calls 1000000] [--index bloom|text|off]
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
import { startEngineHost } from "@heddle/embedded-clickhouse";
import type { CallPart } from "@heddle/trace-model";
import { newId } from "@heddle/trace-model";
import { connectEngine } from "../src/engine/engine.js";
import type { TextIndex } from "../src/migrations/text-index.js";
import { openTraceStore } from "../src/store.js";
import { seededRandom } from "./payload.js";

const { values } = parseArgs({ options: { calls: { type: "string" }, index: { type: "string" } } });
const callCount = Number(values.calls ?? 100_000);
const indexes: readonly TextIndex[] =
  values.index === undefined ? ["off", "bloom", "text"] : [values.index as TextIndex];
const rounds = 9;
const batchSize = 1000;
const projectId = "acme/bench";

const table: Record<string, Record<string, number>> = {};
for (const textIndex of indexes) table[textIndex] = await measureIndex(textIndex);
console.log(`\n${callCount} calls of about 2 KB; ms, medians of ${rounds}`);
console.table(table);

async function measureIndex(textIndex: TextIndex): Promise<Record<string, number>> {
  const directory = mkdtempSync(join(tmpdir(), "heddle-bench-"));
  const host = await startEngineHost({ directory });
  const client = host.connection();
  const store = await openTraceStore({ client, database: "bench_search", controlPlaneId: "bench", textIndex });
  const engine = connectEngine(client, "bench_search");
  const engines = childProcesses();
  const before = processorMs(engines);
  const random = seededRandom(1);
  for (let from = 0; from < callCount; from += batchSize) {
    await store.ingest(Array.from({ length: batchSize }, (_, at) => call(from + at, random)));
  }
  for (let idle = 0; idle < 4;) {
    const [row] = await engine.rows<{ merges: string }>({ sql: "SELECT count() AS merges FROM system.merges" });
    idle = row?.merges === "0" ? idle + 1 : 0;
    await delay(500);
  }
  const ingest = processorMs(engines) - before;
  const [size] = await engine.rows<{ all: string; index: string }>({
    sql: `SELECT sum(bytes_on_disk) AS all, sum(secondary_indices_compressed_bytes) AS index FROM system.parts
      WHERE database = currentDatabase() AND table = 'calls' AND active`,
  });
  const page = (text: string) => async () =>
    await store.callPages.page({ project_id: projectId, search: { text }, limit: 50, preview_chars: 100 });
  const contains = (word: string) => async () => {
    const ofColumn = (column: string) => ({
      $contains: { input: { $getField: column }, substr: { $literal: word }, case_insensitive: true },
    });
    const query = { $expr: { $or: [ofColumn("inputs"), ofColumn("output")] } };
    await store.callPages.page({ project_id: projectId, query, limit: 50, preview_chars: 100 });
  };
  const result = {
    "engine ms per 1,000 calls": rounded((1000 * ingest) / callCount),
    "MB on disk": rounded(Number(size?.all ?? 0) / 2 ** 20),
    "MB of indexes": rounded(Number(size?.index ?? 0) / 2 ** 20),
    rare: await median(page("xylophone")),
    common: await median(page("the")),
    missing: await median(page("nowhere")),
    "missing text": await median(page('"owhe re"')),
    "contains, rare": await median(contains("xylophone")),
    "contains, common": await median(contains("the")),
    "contains, missing": await median(contains("nowhere")),
  };
  console.log(textIndex, result);
  await store.close();
  await engine.close();
  await host.close();
  rmSync(directory, { recursive: true, force: true });
  return result;
}

/** Every word of a text is one of 50,000, the frequent ones far more often; one in thirty is a number. */
function call(n: number, random: () => number): CallPart {
  const word = (): string => {
    if (random() < 0.033) return String(Math.floor(random() * 100_000));
    const rank = Math.floor(50_000 ** random());
    return rank < 20 ? "the" : `w${rank.toString(36)}`;
  };
  const sentence = (length: number) => Array.from({ length }, word).join(" ");
  const id = newId();
  const startedAt = BigInt(Date.now()) * 1000n - BigInt(callCount - n) * 1_000_000n;
  const rare = n % 100_000 === 50_000 ? "xylophone " : "";
  const messages = [{ role: "user", content: `${rare}${sentence(180)}\n"${sentence(3)}"` }];
  return {
    part: "complete",
    start: {
      project_id: projectId,
      id,
      trace_id: id,
      op_name: "weave:///acme/bench/op/answer:R2M3VnB8",
      started_at: startedAt,
      attributes: '{"weave":{"client_version":"0.52.0"}}',
      inputs: JSON.stringify({ model: "gpt-x", messages }),
    },
    end: {
      project_id: projectId,
      id,
      ended_at: startedAt + 1_250_000n,
      output: JSON.stringify({ choices: [{ message: { role: "assistant", content: sentence(180) } }] }),
      summary: "{}",
    },
  };
}

/** The processes that this one has started. */
function childProcesses(): string[] {
  return readdirSync("/proc").filter((pid) => /^\d+$/.test(pid) && statOf(pid)[1] === String(process.pid));
}

function processorMs(pids: readonly string[]): number {
  // Clock ticks are a hundredth of a second on Linux.
  return pids.reduce((sum, pid) => sum + 10 * (Number(statOf(pid)[11]) + Number(statOf(pid)[12])), 0);
}

/** The fields of /proc/<pid>/stat from the state on. */
function statOf(pid: string): string[] {
  try {
    return readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ") ?? [];
  } catch {
    return [];
  }
}

async function median(work: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const start = performance.now();
    await work();
    times.push(performance.now() - start);
  }
  return rounded(times.toSorted((a, b) => a - b)[Math.floor(rounds / 2)] ?? Number.NaN);
}

function rounded(value: number): number {
  return Math.round(value * 10) / 10;
}
