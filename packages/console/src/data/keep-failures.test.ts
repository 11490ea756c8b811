import { notifyManager, QueryClient, QueryObserver } from "@tanstack/react-query";
import { expect, test } from "vitest";
import { keepFailures } from "./keep-failures.js";

const settled = () => new Promise((resolve) => setTimeout(resolve, 0));

/** A query whose reads end as they are told to, and what a screen was shown of it. */
function watched() {
  const client = new QueryClient({ defaultOptions: { queries: { retry: false, networkMode: "always" } } });
  keepFailures(client);
  const reads: { resolve: (data: string) => void; reject: (error: Error) => void }[] = [];
  const queryFn = () => new Promise<string>((resolve, reject) => reads.push({ resolve, reject }));
  const observer = new QueryObserver(client, { queryKey: ["calls"], queryFn });
  const shown: string[] = [];
  const render = () => {
    const { data, error } = observer.getCurrentResult();
    shown.push(error?.message ?? data ?? "waiting");
  };
  render();
  // As React is told of changes.
  observer.subscribe(notifyManager.batchCalls(render));
  return { client, observer, reads, shown };
}

test("a failure stays on the screen while it is read again, until there is a result", async () => {
  const { observer, reads, shown } = watched();
  reads[0]?.reject(new Error("down"));
  await settled();
  void observer.refetch();
  await settled();
  expect(observer.getCurrentResult()).toMatchObject({ status: "error", fetchStatus: "fetching" });
  reads[1]?.reject(new Error("still down"));
  await settled();
  void observer.refetch();
  await settled();
  reads[2]?.resolve("calls");
  const texts = () => shown.filter((text, index) => text !== shown[index - 1]);
  await expect.poll(texts).toEqual(["waiting", "down", "still down", "calls"]);
  void observer.refetch();
  await settled();
  expect(observer.getCurrentResult()).toMatchObject({ status: "success", error: null });
});

test("what is read anew from the beginning says nothing of a failure of before", async () => {
  const { client, observer, reads } = watched();
  reads[0]?.reject(new Error("down"));
  await settled();
  void client.resetQueries({ queryKey: ["calls"] });
  await settled();
  expect(observer.getCurrentResult()).toMatchObject({ status: "pending", error: null });
});

test("a read that is cancelled leaves the failure of before", async () => {
  const { client, observer, reads } = watched();
  reads[0]?.reject(new Error("down"));
  await settled();
  void observer.refetch();
  await client.cancelQueries({ queryKey: ["calls"] });
  expect(observer.getCurrentResult()).toMatchObject({ status: "error", fetchStatus: "idle" });
});
