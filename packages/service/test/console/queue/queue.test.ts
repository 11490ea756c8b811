import { describe, expect, test } from "vitest";
import { newProject } from "../../test-service.js";
import { chromiumPath, pressTogether } from "../browser.js";
import { axeInBothSchemes, openConsole } from "../open-console.js";
import { writeCalls } from "../write-calls.js";

describe.skipIf(chromiumPath === undefined)("annotation queues in the console", () => {
  const console_ = openConsole();
  const hostile = '<img src=x onerror="window.planted = true">\u202E';

  /** A queue of calls `c0`, `c1`… that asks whether the answer is right, how bad it is, and for a comment. */
  async function queueOf(count: number) {
    const projectId = newProject();
    const tracing = console_.service.tracing();
    const ids = Array.from({ length: count }, (_, index) => `c${index}`);
    await writeCalls(
      console_.service,
      projectId,
      ids.map((id, index) => ({
        id,
        at: index,
        ms: 1,
        inputs: `{"question":${JSON.stringify(index === 0 ? hostile : `Question ${index}?`)},"big":107505301260286111}`,
        output: `"Answer ${index}"`,
      })),
    );
    const fields = [
      { name: "right", title: "Is it right?", schema: { type: "string", enum: ["yes", "no", "partly"] } },
      { name: "severity", title: hostile, schema: { type: "integer", minimum: 1, maximum: 3 } },
      { name: "topic", title: "Topic", schema: { enum: Array.from({ length: 30 }, (_, n) => `topic ${n}`) } },
      { name: "comment", title: "Comment", schema: { type: "string" } },
    ];
    const refs: string[] = [];
    for (const { name, title, schema } of fields) {
      const { digest } = await tracing.objCreate({
        obj: {
          project_id: projectId,
          object_id: name,
          builtin_object_class: "AnnotationSpec",
          val: { name: title, field_schema: schema },
        },
      });
      refs.push(`weave:///${projectId}/object/${name}:${digest}`);
    }
    const { id: queueId } = await tracing.annotationQueueCreate({
      project_id: projectId,
      name: "Wrong answers",
      description: "Right is what a customer would call right.",
      scorer_refs: refs,
    });
    const inQueue = { project_id: projectId, queue_id: queueId };
    await tracing.annotationQueueAddCalls({
      ...inQueue,
      call_ids: ids,
      display_fields: ["inputs.question", "inputs.big", "output"],
    });
    const feedback = async () => {
      const { result } = await tracing.feedbackQuery({ project_id: projectId, limit: 1000 });
      return result.map(
        (one) =>
          `${String(one["weave_ref"]).split("/").at(-1)} ${String(one["feedback_type"]).slice(17)} ${JSON.stringify(one["payload"])}`,
      );
    };
    return { projectId, tracing, inQueue, feedback };
  }

  test("twenty items are finished by keys alone", { timeout: 240_000 }, async () => {
    const { projectId, tracing, inQueue, feedback } = await queueOf(20);
    const visited = await console_.open(`${projectId}/calls`);
    const { page, problems } = visited;
    const keys = page.keyboard;
    await page.locator(".grid-body .grid-row").first().waitFor();
    await pressTogether(page, "g", "q");
    await page.locator(".grid-body [aria-selected=true]").getByText("0 of 20").waitFor();
    expect(await axeInBothSchemes(visited)).toEqual([]);
    await keys.press("Enter");
    const values = page.locator(".queue-values");
    await values.getByText("⟨202E⟩").waitFor();
    await values.getByText("107505301260286111").waitFor();
    await page.getByText("Right is what a customer").waitFor();
    expect(await axeInBothSchemes(visited)).toEqual([]);
    // One choice by its number, a number that continues, a topic by typing, and a text that the save leaves.
    await keys.press("1");
    await keys.press("6");
    await keys.press("ArrowDown");
    await keys.press("Enter");
    await expect.poll(() => page.evaluate("document.activeElement.localName")).toBe("input");
    await keys.type("topic 27");
    expect(await axeInBothSchemes(visited)).toEqual([]);
    await keys.press("Enter");
    await keys.press("ArrowDown");
    await keys.press("Enter");
    await expect.poll(() => page.evaluate("document.activeElement.localName")).toBe("textarea");
    await keys.type("late & s u 1");
    await keys.press("Control+Enter");
    for (let item = 1; item < 20; item++) {
      await values.getByText(`Question ${item}?`).waitFor();
      if (item === 5) {
        // Skipped by mistake, it is taken back after the page went on.
        await keys.press("s");
        await values.getByText("Question 6?").waitFor();
        await keys.press("u");
        await values.getByText("Question 5?").waitFor();
      }
      await keys.press(item % 2 === 0 ? "1" : "2");
      await keys.press("Control+Enter");
    }
    await page.getByText("All items are done.").waitFor();
    await page.getByRole("row", { name: "owner 20 0" }).waitFor();
    expect(await axeInBothSchemes(visited)).toEqual([]);
    const given = await feedback();
    expect(given).toHaveLength(23);
    expect(given).toEqual(
      expect.arrayContaining([
        'c0 right {"value":"yes"}',
        'c0 severity {"value":3}',
        'c0 topic {"value":"topic 27"}',
        'c0 comment {"value":"late & s u 1"}',
        'c5 right {"value":"no"}',
      ]),
    );
    const stats = { project_id: projectId, queue_ids: [inQueue.queue_id] };
    expect((await tracing.annotationQueuesStats(stats)).stats).toMatchObject([{ completed_items: 20 }]);
    expect(await page.evaluate("window.planted")).toBeUndefined();
    expect(problems).toEqual([]);
  });

  test("what cannot be stored stays until it is, and back changes what was saved", { timeout: 120_000 }, async () => {
    const { projectId, inQueue, feedback } = await queueOf(3);
    const { page, problems } = await console_.open(`${projectId}/queues/${inQueue.queue_id}`);
    const keys = page.keyboard;
    const values = page.locator(".queue-values");
    await values.getByText("⟨202E⟩").waitFor();
    await page.route("**/feedback/create", (route) =>
      route.fulfill({ status: 403, contentType: "application/json", body: '{"reason":"not now"}' }),
    );
    await keys.press("1");
    await keys.press("Control+Enter");
    await values.getByText("Question 1?").waitFor();
    await page.getByText("1 item could not be stored").waitFor();
    await page.getByText("not now").waitFor();
    await page.unroute("**/feedback/create");
    await keys.press("R");
    await page.getByText("could not be stored").waitFor({ state: "detached" });
    await keys.press("ArrowLeft");
    await page.getByText("✓ Saved").waitFor();
    await keys.press("2");
    await keys.press("Control+Enter");
    await values.getByText("Question 1?").waitFor();
    await expect.poll(feedback).toEqual(['c0 right {"value":"no"}']);
    // Nothing answered is not saved.
    await keys.press("Control+Enter");
    await page.getByText("nothing is answered").waitFor();
    // The address is that of the item, also after the page was left.
    await expect.poll(() => page.url()).toContain("item=");
    await page.reload();
    await values.getByText("Question 1?").waitFor();
    expect(problems).toEqual([]);
  });

  test("two tabs of one annotator get different items, and both are finished", { timeout: 120_000 }, async () => {
    const { projectId, tracing, inQueue } = await queueOf(6);
    const { page, problems } = await console_.open(`${projectId}/queues/${inQueue.queue_id}`);
    await page.locator(".queue-values").getByText("⟨202E⟩").waitFor();
    await expect.poll(() => page.url()).toContain("item=");
    const claims = async () =>
      (await tracing.annotationQueueItemsQuery(inQueue)).items.filter((item) => item.annotation_state === "in_progress")
        .length;
    // Two are ahead of the one at hand.
    await expect.poll(claims).toBe(3);
    // The address of the first tab, in a second one.
    const second = await page.context().newPage();
    await second.goto(page.url());
    await second.getByText("You have that item in another tab.").waitFor();
    await second.locator(".queue-values").getByText("Question 3?").waitFor();
    for (const each of [second, page]) {
      await each.keyboard.press("1");
      await each.keyboard.press("Control+Enter");
      await each
        .locator(".queue-values")
        .getByText(each === page ? "Question 1?" : "Question 4?")
        .waitFor();
    }
    const stats = { project_id: projectId, queue_ids: [inQueue.queue_id] };
    const completed = async () => (await tracing.annotationQueuesStats(stats)).stats[0]?.completed_items;
    await expect.poll(completed).toBe(2);
    // Reloaded, a tab keeps its item; closed, it gives it back.
    await page.reload();
    await page.locator(".queue-values").getByText("Question 1?").waitFor();
    await second.close();
    const heldItems = async () =>
      await page.evaluate<number>(
        "navigator.locks.query().then(({ held }) => held.filter(({ name }) => name.startsWith('heddle queue ')).length)",
      );
    await expect.poll(heldItems).toBe(2);
    for (const next of ["Question 2?", "Question 4?", "Question 5?", "All items are done."]) {
      await page.keyboard.press("1");
      await page.keyboard.press("Control+Enter");
      await page.getByText(next).waitFor();
    }
    await expect.poll(completed).toBe(6);
    expect(problems).toEqual([]);
  });

  test(
    "an item that another took is passed over, and a deleted queue loses nothing that was entered",
    { timeout: 120_000 },
    async () => {
      const { projectId, tracing, inQueue, feedback } = await queueOf(4);
      const [mine] = (await tracing.annotationQueueItemsQuery(inQueue)).items;
      const ann = console_.service.tracing(
        await console_.service.key({ user_name: "ann", entity: projectId.split("/")[0] ?? "" }),
      );
      await ann.annotationQueueClaimNext({ ...inQueue, filter: { id: mine?.id ?? "" } });
      const visited = await console_.open(`${projectId}/queues/${inQueue.queue_id}?item=${mine?.id}`);
      const { page, problems } = visited;
      await page.getByText("Another annotator has that item.").waitFor();
      const values = page.locator(".queue-values");
      await values.getByText("Question 1?").waitFor();
      // The other finishes what this page has: both answers are compared.
      const items = (await tracing.annotationQueueItemsQuery(inQueue)).items;
      await page.keyboard.press("1");
      await page.keyboard.press("Control+Enter");
      await values.getByText("Question 2?").waitFor();
      const { queue } = await tracing.annotationQueueRead(inQueue);
      await expect.poll(async () => (await tracing.feedbackQuery({ project_id: projectId })).result.length).toBe(1);
      await ann.feedbackCreate({
        project_id: projectId,
        weave_ref: `weave:///${projectId}/call/${items[1]?.call_id}`,
        feedback_type: "wandb.annotation.right",
        annotation_ref: queue.scorer_refs[0] ?? "",
        queue_id: inQueue.queue_id,
        payload: { value: "yes" },
      });
      await page.keyboard.press("a");
      await page.getByText("1 of 1 item that several answered are answered alike").waitFor();
      await tracing.annotationQueueDelete(inQueue);
      await page.keyboard.press("2");
      await page.keyboard.press("Control+Enter");
      await page.getByRole("heading", { name: "The queue was deleted" }).waitFor();
      await page.getByText("1 item could not be stored").waitFor();
      await values.getByText("Question 3?").waitFor();
      await page.keyboard.press("R");
      await page.getByText("could not be stored").waitFor({ state: "detached" });
      await page.keyboard.press("3");
      await page.keyboard.press("Control+Enter");
      await page.getByText("✓ Saved").waitFor();
      await expect
        .poll(feedback)
        .toEqual(expect.arrayContaining(['c2 right {"value":"no"}', 'c3 right {"value":"partly"}']));
      expect(await axeInBothSchemes(visited)).toEqual([]);
      expect(problems).toEqual([]);
    },
  );

  test("items of a queue that is left are for others at once", { timeout: 120_000 }, async () => {
    const { projectId, inQueue } = await queueOf(3);
    const ann = console_.service.tracing(
      await console_.service.key({ user_name: "ann", entity: projectId.split("/")[0] ?? "" }),
    );
    const nextOfAnn = async () => {
      const { item } = await ann.annotationQueueClaimNext(inQueue);
      if (item !== null) await ann.annotationQueueItemsRelease({ ...inQueue, item_ids: [item.id] });
      return item?.call_id;
    };
    const { page, problems } = await console_.open(`${projectId}/queues`);
    for (const leave of [() => page.keyboard.press("Escape"), () => page.close()]) {
      await page.locator(".grid-body").getByText("Wrong answers").waitFor();
      await page.keyboard.press("Enter");
      await page.locator(".queue-values").waitFor();
      await expect.poll(nextOfAnn).toBeUndefined();
      await leave();
      await expect.poll(nextOfAnn).toBeDefined();
    }
    expect(problems).toEqual([]);
  });

  test("a queue with a field is made in an empty project", { timeout: 120_000 }, async () => {
    const projectId = newProject();
    await writeCalls(console_.service, projectId, [{ id: "c0", ms: 1 }]);
    const visited = await console_.open(`${projectId}/queues`);
    const { page, problems } = visited;
    await page.getByText("has no annotation queues that your key may read").waitFor();
    expect(await axeInBothSchemes(visited)).toEqual([]);
    await page.keyboard.press("n");
    await page.getByLabel("Name").fill("Tone");
    await page.getByRole("button", { name: "New field…" }).click();
    await page.getByLabel("Question").fill("Is it kind?");
    expect(await axeInBothSchemes(visited)).toEqual([]);
    await page.getByRole("button", { name: "Make the field" }).click();
    await page.getByRole("checkbox", { name: "Is it kind?" }).waitFor();
    await page.getByRole("button", { name: "Make the queue" }).click();
    await page.locator(".grid-body").getByText("Tone").waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "The queue has no items" }).waitFor();
    await page.keyboard.press("Escape");
    await page.locator(".grid-body").getByText("Tone").waitFor();
    await page.keyboard.press("Delete");
    await page.getByRole("button", { name: "Delete the queue" }).click();
    await page.getByText("has no annotation queues").waitFor();
    expect(problems).toEqual([]);
  });
});
