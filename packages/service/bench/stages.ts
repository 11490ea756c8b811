import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

interface Profile {
  nodes: Array<{ id: number; callFrame: { functionName: string; url: string }; children?: number[] }>;
  samples: number[];
  /** Microseconds between a sample and the one before it. */
  timeDeltas: number[];
  /** Microseconds of the monotonic clock, the same for all processes of a machine. */
  startTime: number;
}

/** What a request goes through inside the service, in this order. */
export const stages = [
  "read",
  "scan",
  "validate",
  "decode spans",
  "pair",
  "encode",
  "insert",
  "other",
  "collect garbage",
] as const;
type Stage = (typeof stages)[number] | "idle";

/**
 * The stage that a function belongs to, by its file; a sample belongs to the innermost function that is named here,
 * so that what node does for a stage counts as that stage.
 */
const owners: ReadonlyArray<readonly [RegExp, Stage]> = [
  [/server-stub\/dist\/(node\/|request\/request-body\.js$)/, "read"],
  [/server-stub\/dist\/json\//, "scan"],
  [/server-stub\/dist\/generated\//, "validate"],
  [/trace-model\/dist\/otlp\//, "decode spans"],
  [
    /trace-store\/dist\/(ingest\/commit\/prepare|stored-calls\/(call-sides|rows)|engine\/(row-writer|tab-separated))\.js$/,
    "encode",
  ],
  [/(trace-model|exact-json)\/dist\//, "encode"],
  [/trace-store\/dist\/engine\/|@clickhouse\/client/, "insert"],
  [/trace-store\/dist\/(ingest|stored-calls)\//, "pair"],
  [/service\/dist\/|server-stub\/dist\//, "pair"],
  [/^node:(_http_server|_http_incoming|_http_common)/, "read"],
  [/^node:(_http_client|_http_agent)/, "insert"],
];

/** Milliseconds of CPU per stage between two moments of `process.hrtime`, from the profile that `--cpu-prof` wrote. */
export function stageTimes(directory: string, pid: number, from: bigint, to: bigint): Map<Stage, number> {
  const file = readdirSync(directory).find((name) => name.split(".")[3] === String(pid));
  if (file === undefined) throw new Error(`no profile of process ${pid} in ${directory}`);
  const profile = JSON.parse(readFileSync(join(directory, file), "utf8")) as Profile;
  const stageOf = stagesOfNodes(profile);
  const times = new Map<Stage, number>();
  const [first, last] = [Number(from / 1000n), Number(to / 1000n)];
  let now = profile.startTime;
  for (const [index, node] of profile.samples.entries()) {
    now += profile.timeDeltas[index] ?? 0;
    if (now < first || now > last) continue;
    // A sample counts for the time until the next one.
    const stage = stageOf.get(node) ?? "other";
    times.set(stage, (times.get(stage) ?? 0) + (profile.timeDeltas[index + 1] ?? 0) / 1000);
  }
  return times;
}

function stagesOfNodes({ nodes }: Profile): Map<number, Stage> {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const stages = new Map<number, Stage>();
  const visit = (id: number, outer: Stage) => {
    const node = byId.get(id);
    if (node === undefined) return;
    const stage = ownStage(node.callFrame.functionName, node.callFrame.url) ?? outer;
    stages.set(id, stage);
    for (const child of node.children ?? []) visit(child, stage);
  };
  if (nodes[0] !== undefined) visit(nodes[0].id, "other");
  return stages;
}

function ownStage(name: string, url: string): Stage | undefined {
  if (name === "(idle)") return "idle";
  if (name === "(garbage collector)") return "collect garbage";
  return owners.find(([pattern]) => pattern.test(url))?.[1];
}
