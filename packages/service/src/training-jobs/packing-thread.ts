import { serveTasks } from "@heddle/concurrency";
import { packParts } from "./trajectory-lines.js";

const tasks = { pack: packParts };
export type PackingTasks = typeof tasks;

serveTasks(tasks);
