import { getPriority } from "node:os";
import { threadId } from "node:worker_threads";
import { HeddleError } from "@heddle/errors";
import { serveTasks } from "../src/threads/serve-tasks.js";

const tasks = {
  priority: () => getPriority(0),
  echo: (text: string) => text,
  thread: () => threadId,
  loop(ms: number) {
    const end = performance.now() + ms;
    while (performance.now() < end);
    return threadId;
  },
  backtrack: (length: number) => /^(a+)+$/.test(`${"a".repeat(length)}b`),
  fill() {
    const texts: string[] = [];
    for (;;) texts.push(`${Math.random()}`.repeat(1000).toUpperCase());
  },
  refuse(name: string) {
    throw new HeddleError("invalid", `no ${name}`, { loc: ["name"] });
  },
  defect: () => (undefined as unknown as { secret: string }).secret,
  exit: () => process.exit(3),
};

export type TestTasks = typeof tasks;

serveTasks(tasks);
