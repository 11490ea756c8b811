import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { callCommands } from "../call/call-commands.js";
import { compareWithCommands } from "../call/compare-with/compare-with-commands.js";
import { comparisonCommands } from "../comparison/comparison-commands.js";
import { comparedRunsCommands } from "../evaluations/comparison/comparison-commands.js";
import { evaluationsCommands, startRunCommands } from "../evaluations/evaluations-commands.js";
import { feedbackCommands } from "../call/feedback/feedback-commands.js";
import { replayCommands, spanCommands } from "../call/span-commands.js";
import { timeCommands, traceCommands } from "../call/trace-commands.js";
import { callsCommands } from "../calls/calls-commands.js";
import { histogramCommands } from "../calls/histogram/histogram-commands.js";
import { railCommands } from "../calls/time-rail/rail-commands.js";
import { homeCommands } from "../home/home-commands.js";
import { libraryCommands, rowCommands, versionCommands } from "../library/library-commands.js";
import { keysCommands, settingsCommands, usageCommands } from "../settings/settings-commands.js";
import { playCommands } from "../playground/play-commands.js";
import { queuesCommands, workCommands } from "../queue/queue-commands.js";
import { shellCommands } from "../shell/shell-commands.js";
import { threadCommands, threadsCommands } from "../threads/threads-commands.js";
import { curvesCommands, modelCommands, rolloutsCommands, trainingCommands } from "../training/training-commands.js";
import { partsOf } from "./command.js";
import type { Commands } from "./command.js";

const scopes: Record<string, Commands> = {
  Everywhere: shellCommands,
  Projects: homeCommands,
  Calls: callsCommands,
  Histogram: histogramCommands,
  "Time rail": railCommands,
  Call: callCommands,
  Trace: traceCommands,
  "Times of the trace": timeCommands,
  Span: spanCommands,
  Replay: replayCommands,
  Feedback: feedbackCommands,
  "Compare with": compareWithCommands,
  Comparison: comparisonCommands,
  Threads: threadsCommands,
  Thread: threadCommands,
  Training: trainingCommands,
  "Trained model": modelCommands,
  Curves: curvesCommands,
  Rollouts: rolloutsCommands,
  Queues: queuesCommands,
  Queue: workCommands,
  Playground: playCommands,
  Evaluations: evaluationsCommands,
  "New run": startRunCommands,
  "Comparison of runs": comparedRunsCommands,
  Library: libraryCommands,
  Version: versionCommands,
  Rows: rowCommands,
  Settings: settingsCommands,
  "Usage and costs": usageCommands,
  Keys: keysCommands,
};
const screens = [
  ["Projects"],
  ["Calls"],
  ["Histogram"],
  ["Time rail"],
  ["Call", "Trace", "Times of the trace", "Span", "Replay", "Feedback"],
  ["Compare with"],
  ["Comparison"],
  ["Threads"],
  ["Thread"],
  ["Training"],
  ["Trained model", "Curves", "Rollouts"],
  ["Queues"],
  ["Queue"],
  ["Playground"],
  ["Evaluations"],
  ["Comparison of runs"],
  ["Library"],
  ["Version", "Rows"],
  ["Settings", "Usage and costs"],
  ["Settings", "Keys"],
];

test.each(screens)("no key of the screen %s does two things", (...names) => {
  const keys = ["Everywhere", ...names].flatMap((name) =>
    Object.values(scopes[name] ?? {}).flatMap((command) => command.keys),
  );
  expect(keys.filter((key, index) => keys.indexOf(key) !== index)).toEqual([]);
  // A key alone would never let the second of two come.
  const begun = keys.map(partsOf).filter(({ length }) => length > 1);
  expect(begun.filter(([first = ""]) => keys.includes(first))).toEqual([]);
});

test("the guide lists the keys: run with -u to write it", async () => {
  const path = fileURLToPath(new URL("../../../docs/guides/console.md", import.meta.url));
  const [begin, end] = ["<!-- keys -->\n", "<!-- end of keys -->"];
  const guide = readFileSync(path, "utf8");
  const [from, to] = [guide.indexOf(begin) + begin.length, guide.indexOf(end)];
  expect(to).toBeGreaterThanOrEqual(from);
  const rows = Object.entries(scopes).flatMap(([scope, commands]) =>
    Object.values(commands)
      .filter(({ keys }) => keys.length > 0)
      .map(({ title, keys }) => `| ${scope} | ${keys.map((key) => `\`${key}\``).join(" or ")} | ${title} |`),
  );
  const table = ["| Where | Key | What it does |", "| --- | --- | --- |", ...rows].join("\n");
  await expect(`${guide.slice(0, from)}\n${table}\n\n${guide.slice(to)}`).toMatchFileSnapshot(path);
});
