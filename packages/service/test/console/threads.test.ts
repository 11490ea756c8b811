import { describe, expect, test } from "vitest";
import { newProject } from "../test-service.js";
import { chromiumPath } from "./browser.js";
import { axeInBothSchemes, openConsole } from "./open-console.js";

describe.skipIf(chromiumPath === undefined)("threads in the console", () => {
  const console_ = openConsole();

  interface Turn {
    thread: string;
    id: string;
    question: string;
    answer: unknown;
    /** What a tool below the turn failed by. */
    exception?: string;
    tokens?: number;
  }

  /** Turns with a call of a model and one of a tool below each. */
  async function write(projectId: string, turns: Turn[]): Promise<void> {
    const tracing = console_.service.tracing();
    const started = Date.now() - 600_000;
    await tracing.callStartBatch({
      batch: turns.flatMap(({ thread, id, question, answer, exception, tokens = 100 }, index) => {
        const at = (ms: number) => new Date(started + index * 10_000 + ms).toISOString();
        const call = (name: string, callId: string, parentId?: string) => ({
          mode: "start" as const,
          req: {
            start: {
              project_id: projectId,
              id: callId,
              trace_id: `trace-${id}`,
              ...(parentId !== undefined && { parent_id: parentId }),
              thread_id: thread,
              turn_id: id,
              op_name: name,
              started_at: at(0),
              attributes: {},
              inputs: { question },
            },
          },
        });
        const usage = {
          "gpt-4o-mini": { prompt_tokens: tokens, completion_tokens: 0, total_tokens: tokens, requests: 1 },
        };
        const end = (
          callId: string,
          rest: { output?: unknown; exception?: string; summary?: Record<string, unknown> },
        ) => ({
          mode: "end" as const,
          req: { end: { project_id: projectId, id: callId, ended_at: at(2000), summary: {}, ...rest } },
        });
        return [
          call("answer", id),
          call("chat", `${id}-chat`, id),
          call("orders.get", `${id}-tool`, id),
          end(`${id}-chat`, { summary: { usage } }),
          end(`${id}-tool`, exception === undefined ? {} : { exception }),
          end(id, { output: answer }),
        ];
      }),
    });
  }

  test("the dearest thread of the week is found, and read turn by turn", { timeout: 120_000 }, async () => {
    const projectId = newProject();
    await console_.service.tracing().costCreate({
      project_id: projectId,
      costs: {
        "gpt-4o-mini": { prompt_token_cost: 0.01, completion_token_cost: 0.02, effective_date: "2020-01-01T00:00:00Z" },
      },
    });
    await write(projectId, [
      { thread: "costly", id: "t1", question: "Where is my parcel?", answer: "On its way.", tokens: 5000 },
      {
        thread: "costly",
        id: "t2",
        question: "Since when?",
        answer: { answer: "Since noon.", sources: [1] },
        exception: "TimeoutError: no response",
      },
      { thread: "costly", id: "t3", question: "<b>Thanks</b>\u202E", answer: { a: 1, b: [2] } },
      { thread: "cheap/../1?", id: "c1", question: "Hello", answer: "Hello!" },
    ]);
    const visited = await console_.open(`${projectId}/threads`);
    const { page, problems } = visited;
    const current = page.locator(".grid-body [aria-selected=true]");
    await current.getByText("cheap/../1?").waitFor();
    expect(await axeInBothSchemes(visited)).toEqual([]);
    await page.getByLabel("Time").selectOption("7d");
    await page.getByLabel("Order").selectOption("cost");
    await current.getByText("costly").waitFor();
    await current.getByText("✗ 1").waitFor();
    await current.getByText("52.0").waitFor();
    expect(await page.getByRole("alert").count()).toBe(0);
    await page.reload();
    await current.getByText("52.0").waitFor();
    await page.getByRole("grid").focus();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "costly", level: 1 }).waitFor();
    await page.getByText("3 turns · cost 52.0").waitFor();
    const turns = page.locator(".turn");
    expect(await turns.locator(".speech").allInnerTexts()).toEqual(
      expect.arrayContaining([expect.stringContaining("Where is my parcel?"), expect.stringContaining("On its way.")]),
    );
    await turns.nth(1).getByText("Since noon.").waitFor();
    await turns.nth(1).getByText("2 calls below · ✗ 1 failed").waitFor();
    await turns.nth(2).getByText("<b>Thanks</b>⟨202E⟩").waitFor();
    expect(await axeInBothSchemes(visited)).toEqual([]);
    await page.keyboard.press("n");
    await page.locator(".turn.is-current").getByText("Since when?").waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "answer", level: 1 }).waitFor();
    await page.goBack();
    await page.locator(".turn.is-current").getByText("Since when?").waitFor();
    await page.keyboard.press("c");
    await page.getByText("9 calls").waitFor();
    await page.goBack();
    await page.keyboard.press("Escape");
    await current.getByText("costly").waitFor();
    await page.goto(`${console_.url}/console/${projectId}/threads/${encodeURIComponent("cheap/../1?")}`);
    await turns.getByText("Hello!").waitFor();
    expect(problems).toEqual([]);
  });

  test("a project without threads says what one is; a new turn comes by itself", { timeout: 120_000 }, async () => {
    const projectId = newProject();
    const visited = await console_.open(`${projectId}/threads`);
    await visited.page.getByText("has no threads that your key may read").waitFor();
    expect(await axeInBothSchemes(visited)).toEqual([]);
    await visited.page.goto(`${console_.url}/console/${projectId}/threads/~..`);
    await visited.page.getByText("has no turns of this thread").waitFor();
    await write(projectId, [{ thread: "..", id: "l1", question: "Anybody?", answer: "Yes." }]);
    await visited.page.locator(".turn").getByText("Yes.").waitFor();
    expect(visited.problems).toEqual([]);
  });

  test("of a long thread what changes is read, and not all of it again", { timeout: 120_000 }, async () => {
    const projectId = newProject();
    const turn = (n: number) => ({
      thread: "long",
      id: `turn-${n}`,
      question: `Question ${n}?`,
      answer: `Answer ${n}.`,
    });
    await write(
      projectId,
      Array.from({ length: 45 }, (_, n) => turn(n)),
    );
    const visited = await console_.open(`${projectId}/threads/long`);
    const { page, problems } = visited;
    await page.getByText("20 turns and more").waitFor();
    await page.getByRole("button", { name: "Later turns" }).waitFor();
    await page.keyboard.press("G");
    await page.locator(".turn.is-current").getByText("Answer 44.").waitFor();
    expect(new URL(page.url()).searchParams.get("turn")).toBe("turn-44");
    await page
      .getByText("45 turns ·")
      .or(page.getByText("45 turns", { exact: true }))
      .first()
      .waitFor();
    const asked: string[][] = [];
    page.on("request", (request) => {
      if (!request.url().endsWith("/calls/page")) return;
      const { filter } = JSON.parse(request.postData() ?? "{}") as { filter?: { call_ids?: string[] } };
      asked.push(filter?.call_ids ?? []);
    });
    const tracing = console_.service.tracing();
    await tracing.callUpdate({ project_id: projectId, call_id: "turn-3", display_name: "renamed" });
    await page.locator(".turn").nth(3).getByText("renamed").waitFor();
    await write(projectId, [turn(99)]);
    await page.locator(".turn").getByText("Answer 99.").waitFor();
    await page.locator(".turn").filter({ hasText: "Question 99?" }).getByText("2 calls below").waitFor();
    expect(asked.flat().every((id) => id === "turn-3" || id === "turn-99")).toBe(true);
    expect(asked.every((ids) => ids.length === 1)).toBe(true);
    await tracing.callsDelete({ project_id: projectId, call_ids: ["turn-99"] });
    await page.locator(".turn").getByText("Answer 99.").waitFor({ state: "detached" });
    expect(problems).toEqual([]);
  });
});
