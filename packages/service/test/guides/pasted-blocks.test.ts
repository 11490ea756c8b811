import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";
import { drawCurve, drawTerminal, expectPicture, takesPictures } from "./end-picture.js";

// The guides of training train; on a crowded machine that takes its time.
vi.setConfig({ testTimeout: takesPictures ? 900_000 : 240_000 });

const docs = join(import.meta.dirname, "../../../docs");
const runner = join(import.meta.dirname, "run-blocks.mjs");
let service: TestService;
let env: Record<string, string | undefined>;

beforeAll(async () => {
  service = await openTestService();
  const key = await service.key({ entity: "local", role: "admin" });
  env = { ...process.env, HEDDLE_URL: await service.listen(), HEDDLE_API_KEY: key };
});
afterAll(() => service.close());

/** Guides whose shell blocks are requests, not the installation of something. */
const requestsByShell = new Set(["artifacts.md", "read-back.md", "streaming-and-pages.md"]);
/** Programs that other tests run, with what they need: providers, a rising curve. */
const testedElsewhere = /run-an-evaluation|learn-from-thumbs|send-opentelemetry|integrations|evaluate-with-weave/;

interface Block {
  language: string;
  code: string;
}

/** What is to be run of a guide, in its order. Programs are in files of their own, or in the text. */
function blocksOf(guide: string): Block[] {
  const text = readFileSync(join(docs, "guides", guide), "utf8");
  const found = [...text.matchAll(/^```(ts|js|sh)(?: file=(\S+))?\n([^]*?)^```$/gm)];
  return found.flatMap(([, language = "", file, code = ""]) => {
    if (language === "sh" && !requestsByShell.has(guide)) return [];
    if (file === undefined) return [{ language, code }];
    return testedElsewhere.test(file) ? [] : [{ language, code: readFileSync(join(docs, "guides", file), "utf8") }];
  });
}

/** The guide of the server stub starts servers of its own, and has a test that does. */
const guides = readdirSync(join(docs, "guides"), { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".md") && name !== "server-stub.md" && blocksOf(name).length > 0)
  .toSorted();

interface Ran {
  printed: string;
  failure: string | null;
}

/** What the pictures of guides show: a curve that the program wrote to a file, or else what it printed. */
const pictures: Record<string, { label: string; file?: string }> = {
  "evaluate-a-model.md": { label: "A table of rows, right or wrong in each of two runs" },
  "trace-to-training.md": { label: "Rounds with bars: the mean rating rises" },
  "train-an-agent.md": { label: "The mean reward of the agent rises from step to step", file: "rewards.svg" },
  "train-with-examples.md": { label: "The loss falls from batch to batch", file: "loss.svg" },
  "train-with-rewards.md": { label: "The mean reward rises from step to step", file: "rewards.svg" },
};

/** Runs blocks in order, in a directory in which the packages that they import are found. */
async function run(blocks: readonly Block[], directory: string): Promise<Ran[]> {
  const files = blocks.map(({ language, code }, index) => {
    const file = join(directory, `block-${index + 1}.${language}`);
    writeFileSync(file, code.replaceAll("http://127.0.0.1:4680", env["HEDDLE_URL"]!));
    return file;
  });
  const child = fork(runner, files, { cwd: directory, env, execArgv: ["--import", "tsx", "-C", "@heddle/source"] });
  const ran: Ran[] = [];
  child.on("message", (one: Ran) => ran.push(one));
  await once(child, "exit");
  return ran;
}

/** What a reader sees in the end of some guides. */
const ends: Record<string, RegExp[]> = {
  "evaluate-a-model.md": [
    /^QUESTION +AT 0 +AT 1 *\n(?:.*respond with .* {2}[✓✗] ".*" +[✓✗] ".*" *\n){4}.*\/console\/local\/evaluate-a-model\/evaluations\n$/,
    /1 rows got worse by scores\.exact_match/,
  ],
  "trace-to-training.md": [
    /^round {1,2}1 of \d+ {2}[█·]{20} {2}mean rating [01]\.\d\d\n[^]*\/console\/local\/trace-to-training\/calls\n$/,
    /training_ended/,
  ],
  "train-with-rewards.md": [/^step {1,2}1 of \d+ {2}[█·]{20} {2}mean reward [01]\.\d\d\n/, /training_ended/],
  "train-an-agent.md": [
    /^step {1,2}1 of \d+ {2}[█·]{20} {2}mean reward [01]\.\d\d\n[^]*"reasoning": "(?:left|middle|right)"/,
  ],
  "annotation-queues.md": [/3 0/, /3\+4\?/],
  "read-back.md": [/timeout/, /^1 \[\]/],
  "exports.md": [/inputs\.question/],
  "costs.md": [/gpt-4o-mini/],
};

test.each(guides)("the blocks of %s run in its order, and end as it says", async (guide) => {
  const blocks = blocksOf(guide);
  mkdirSync(join(docs, "dist"), { recursive: true });
  const directory = mkdtempSync(join(docs, "dist/pasted-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const ran = await run(blocks, directory);
  expect(ran.map(({ failure }) => failure)).toEqual(blocks.map(() => null));
  for (const end of ends[guide] ?? [])
    expect(ran.map(({ printed }) => printed)).toContainEqual(expect.stringMatching(end));
  const picture = pictures[guide];
  if (picture === undefined) return;
  const { label, file } = picture;
  const svg =
    file === undefined
      ? drawTerminal(ran[0]?.printed.replace(/^http.*\n/m, "") ?? "", label)
      : drawCurve(readFileSync(join(directory, file), "utf8"), label);
  expectPicture({ guide: guide.replace(/\.md$/, ""), label, svg });
});

test("guides have no made-up ids and no blanks to fill in", () => {
  for (const guide of guides)
    for (const { code } of blocksOf(guide))
      expect(code, guide).not.toMatch(
        /[0-9a-f]{8}-[0-9a-f]{4}-7|[0-9a-f]{32}|<(?:key|id|name|entity|project|run|model)>/,
      );
});
