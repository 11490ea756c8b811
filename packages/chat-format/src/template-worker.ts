import { serveTasks } from "@heddle/threads";
import { renderChat } from "./chat-rendering.js";

const tasks = { render: renderChat };
export type TemplateTasks = typeof tasks;

serveTasks(tasks);
