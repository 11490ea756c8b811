import { Hono } from "hono";
import { toFetch } from "@heddle/server-stub/fetch";
import { server } from "./server.js";

const app = new Hono();
app.mount("/heddle", toFetch(server));
export default app;
