import { serveTasks } from "@heddle/concurrency";
import { renderChat } from "./chat-rendering.js";

const tasks = { render: renderChat };
export type TemplateTasks = typeof tasks;

serveTasks(tasks);
