import { serveTasks } from "@heddle/concurrency";
import { tasks } from "./tasks.js";

serveTasks(tasks);
