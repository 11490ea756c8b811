import type { Page } from "playwright-core";
import { beforeAll, describe, expect, test } from "vitest";
import { chromiumPath } from "../browser.js";
import type { Visit } from "../browser.js";
import { openConsole } from "../open-console.js";
import { stepsOf } from "./guide-steps.js";
import { picture } from "./picture.js";
import { whenRead } from "./when-read.js";
import { otherCalls, writeOthers } from "./among-many.js";
import { fillSupportAgent, makeQueue, supportAgent, supportEvals, trainTutor, writeRuns } from "./support-agent.js";

/** What is seen after a step; a step of which nothing is said has no name here. */
type Seen = Record<number, (page: Page) => Promise<unknown>>;

const current = (page: Page) => page.locator(".grid-body [aria-selected=true]");
const heading = (page: Page, name: string | RegExp) => page.getByRole("heading", { name, level: 1 }).waitFor();

const walks: Record<string, { project: string; begin?: string; seen: Seen }> = {
  "The slowest failed call of today, and the tool that failed": {
    project: supportAgent,
    seen: {
      2: (page) => current(page).getByText("12.7 s").waitFor(),
      3: (page) => heading(page, "agent.answer"),
      4: async (page) => {
        await page.locator("[role=treegrid] [aria-selected=true]").getByText("parcels.track").waitFor();
        await page.getByText("TimeoutError: no response within 11500 ms").first().waitFor();
        await picture(page, "trace");
      },
    },
  },
  "The dearest thread of the week": {
    project: supportAgent,
    seen: {
      2: (page) => current(page).getByText("customer-8841").waitFor(),
      3: async (page) => {
        await heading(page, "customer-8841");
        await page.locator(".turn").getByText("Why did it take a week?").waitFor();
        await picture(page, "thread");
      },
    },
  },
  "All calls of one user that mention a phrase, into a queue": {
    project: supportAgent,
    seen: {
      3: async (page) => {
        await page.getByText("20 calls", { exact: true }).waitFor();
        await picture(page, "calls");
      },
      4: (page) => page.getByRole("dialog").getByText("20 calls match.").waitFor(),
    },
  },
  "Twenty items of a queue without the mouse": {
    project: supportAgent,
    seen: {
      0: (page) => current(page).getByText("0 of 20").waitFor(),
      1: async (page) => {
        await page.locator(".queue-values").getByText("gift card").first().waitFor();
        await picture(page, "queue");
      },
    },
  },
  "The example that got worse between two evaluations, and why the judge said so": {
    project: supportEvals,
    seen: {
      1: (page) => page.getByText("2 chosen").waitFor(),
      2: (page) => current(page).getByText("When does order 8817 arrive?").waitFor(),
      3: async (page) => {
        await page.getByText("3 weeks are 21 days").first().waitFor();
        await picture(page, "evaluation");
      },
      4: (page) => heading(page, /judge/),
    },
  },
  "The rollout with the highest reward of the last step, and its reinforced tokens": {
    project: supportAgent,
    seen: {
      1: (page) => page.getByRole("region", { name: "Rollouts" }).getByText("2 groups, 8 rollouts").waitFor(),
      3: async (page) => {
        await page.getByRole("article").locator(".token.is-reinforced").first().waitFor();
        await page.getByRole("article").getByText("reward 1").first().waitFor();
        await picture(page, "training");
      },
    },
  },
  "Whether the new checkpoint answers better than its base, on three recorded calls": {
    project: supportAgent,
    seen: {
      1: async (page) => {
        await page.getByRole("region", { name: "Recorded" }).waitFor();
        await page.getByRole("region", { name: "heddle/starter" }).waitFor();
      },
      3: async (page) => {
        await bothAnswered(page);
        await picture(page, "playground");
      },
      4: bothAnswered,
      5: async (page) => {
        await bothAnswered(page);
        await page
          .getByRole("region", { name: "Tokens compared with the base" })
          .getByText(/difference/)
          .waitFor();
        expect(answered.size).toBe(3);
      },
    },
  },
};

/** Recorded calls that both models have answered. */
const answered = new Set<string | null>();

async function bothAnswered(page: Page): Promise<void> {
  for (const name of ["heddle/starter", `${supportAgent}/tutor`])
    await page
      .getByRole("region", { name, exact: true })
      .getByText(/✓ done/)
      .waitFor();
  answered.add(new URL(page.url()).searchParams.get("call"));
}

describe.skipIf(chromiumPath === undefined)("the guide leads, key by key, to", () => {
  const tested = openConsole();
  const sections = stepsOf("console-walkthroughs");
  let visited: Visit;
  let isRead: () => Promise<void>;

  beforeAll(
    async () => {
      await writeRuns(tested.service);
      await trainTutor(tested.service);
      await fillSupportAgent(tested.service);
      await makeQueue(tested.service);
      await writeOthers(tested.service, supportAgent);
      visited = await tested.open(`${supportAgent}/calls`);
      isRead = whenRead(visited.page);
      await current(visited.page).waitFor();
      await visited.page.setViewportSize({ width: 1200, height: 750 });
    },
    240_000 + 20 * otherCalls,
  );

  test("what the tests know of, and nothing else", () => {
    expect([...sections.keys()]).toEqual(Object.keys(walks));
  });

  test.each(Object.entries(walks))("%s", { timeout: 240_000 }, async (title, { project, seen }) => {
    const { page, problems } = visited;
    await page.goto(`${tested.url}/console/${project}/library`);
    await page.getByRole("link", { name: "Calls" }).waitFor();
    for (const [index, { text, actions }] of (sections.get(title) ?? []).entries()) {
      const times = text.includes("Twenty times") ? 20 : 1;
      // Not the keys that it names for those who want something else.
      for (let time = 0; time < times; time++)
        for (const act of actions.slice(0, times > 1 ? 2 : undefined)) {
          await isRead();
          await act(page);
        }
      await isRead();
      await seen[index]?.(page);
    }
    if (title.startsWith("Twenty")) await page.getByText("All items are done.").waitFor();
    expect(problems).toEqual([]);
  });
});
