import { serveTasks } from "@heddle/threads";
import { tasks } from "./tasks.js";

serveTasks(tasks);
